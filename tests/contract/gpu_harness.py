# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards with a GPU cluster in slot 1, and an accelerator in slot 0: every adapter behind one handle."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from contract.fake_fabric import SHELL, FakeFabric
from contract.harness import OPEN, Harness, socketed
from contract.images import make_images
from contract.kernels import BAD, MODULE, RESULT, code, kernel, name_of
from eddy.board.images.images import ImageStore
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.model.model_modules import KERNEL_REGISTERS
from eddy.board.port.port import BoardEvent, Buffer, Cause, Launch
from eddy.board.port.profile import Profile, load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.core.errors import ModuleFault
from eddy.core.slots import Pool
from eddy.packages.manifests import load_module_manifest
from eddy_sim.boards.faults import LoadFault

ROOT = Path(__file__).parents[2]
MODULES = Path(__file__).parents[1] / "modules"
"""Modules that only tests load."""
ACCELERATOR, CLUSTER = 0, 1
"""Slots."""


def profile() -> Profile:
    """The profile of the tests, its second slot for GPU clusters."""
    tiny = load_profile("tiny")
    slots = (tiny.slots[0], dataclasses.replace(tiny.slots[1], pool=Pool.GPU))
    return dataclasses.replace(tiny, name="tiny-gpu", slots=slots)


class GpuHarness:
    """A board under test, its cluster loaded.

    Args:
        accelerator: A module that is no cluster.
        switch: Where it is a model: which item ends with which cause.
    """

    def __init__(self, harness: Harness, accelerator: str, switch: dict[str, Cause] | None = None) -> None:
        self.board, self.inner = harness.board, harness
        self._accelerator, self._switch = accelerator, switch
        self.load(CLUSTER, MODULE)

    @property
    def executes(self) -> bool:
        """Whether cores are there that count; the model has none."""
        return self._switch is None

    def load(self, slot: int, module: str = "") -> BoardEvent:
        """Load a module, the accelerator where none is named, and wait for the end."""
        wanted = module or self._accelerator
        image = next(i for i in self.board.images() if (i.module, i.slot) == (wanted, slot))
        self.board.load(slot, image.sha256)
        return self.next_event()

    def next_event(self) -> BoardEvent:
        """The next event, acknowledged."""
        return self.inner.next_event()

    def region(self, program: str, size: int = 0x2000, owner: str = "job") -> Buffer:
        """A region with a program at its start."""
        buffer = self.board.allocate(size, owner)
        self.board.write(buffer.id, 0, code(program))
        return buffer

    def launch(self, region: Buffer, **options: Any) -> Launch:
        """Start the program of a region."""
        launch = kernel(region, **options)
        self._foretell(launch.item, name_of(self.board.read(region.id, 0, 256)))
        self.board.launch(CLUSTER, launch)
        return launch

    def results(self, region: Buffer) -> list[int]:
        """What each core left."""
        data = self.board.read(region.id, RESULT, 8)
        return [int.from_bytes(data[k : k + 4], "little") for k in (0, 4)]

    def _foretell(self, item: str, program: str) -> None:
        if self._switch is not None and program == "spin":
            self._switch[item] = Cause.TIME_LIMIT


def fake(tmp: Path) -> GpuHarness:
    """`PynqBoard` and the drivers, over a shell and a register bank in plain Python."""
    made = profile()
    make_images(tmp / "images", made, SHELL, ("alpha", MODULE))
    fabric = FakeFabric(made)
    board = PynqBoard(fabric, fabric.time, made, ImageStore(tmp / "images"), OPEN)
    return GpuHarness(Harness(board, lambda *_: None, lambda: board, tmp / "images", board.release), "alpha")


def rtl(tmp: Path, behind_socket: bool = False) -> GpuHarness:
    """`PynqBoard` over the RTL of shell, accelerator and cluster."""
    from eddy.board.remote.factory import open_device
    from eddy_sim.design import bitstreams, build
    from eddy_sim.device import SimClock, SimDevice

    assert build.manifest_path(MODULE).is_file(), "the fixture says where the module is"
    made = profile()
    found = [load_module_manifest(ROOT / "bitstreams" / "dct"), load_module_manifest(MODULES / MODULE)]
    files = bitstreams.list_or_build(made, found=found)
    shutil.copytree(files.overlay.parent, tmp / "images")
    device = SimDevice(made, coherent=False)
    board = open_device(files.overlay, device, SimClock(device), made, tmp / "images", OPEN)

    def misload(slot: int, fault: str | LoadFault) -> None:
        assert isinstance(fault, LoadFault)
        device.inject(slot, fault)

    harness = Harness(board, misload, lambda: board, tmp / "images", board.release)
    return GpuHarness(socketed(harness, tmp) if behind_socket else harness, "dct")


def model(tmp: Path) -> GpuHarness:
    """The board of discrete events; what a kernel does is told to it by the program's name."""
    del tmp
    switch: dict[str, Cause] = {}

    def act(registers: Mapping[int, int], window: Any) -> None:
        region = registers[KERNEL_REGISTERS["region"]] * 4096
        program = name_of(window.read(region, 256))
        if program in BAD:
            raise ModuleFault(f"core 0: {BAD[program][1]}", cause=BAD[program][0].value)
        window.write(region + RESULT, registers[KERNEL_REGISTERS["argument"]].to_bytes(4, "little") * 2)

    board = ModelBoard.from_profile(
        profile(),
        ("alpha", MODULE),
        lambda module, item: 1e-4 if "slow" in item else 1e-5,
        behaviours={MODULE: act},
        faults=ModelFaults(switch),
    )
    return GpuHarness(Harness(board, lambda *_: None, lambda: board, None), "alpha", switch)


def manifest_path(known: Callable[[str], Path]) -> Callable[[str], Path]:
    """Where manifests are: the tests' modules, and those that `known` knows."""

    def find(module: str) -> Path:
        path = MODULES / module / "manifest.yaml"
        return path if path.is_file() else known(module)

    return find


@contextlib.contextmanager
def opened(kind: str, tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuHarness]:
    """A board of a kind: `fake`, `model` or `rtl`, with `socket-` before it where it is behind boardd."""
    if kind.endswith("rtl"):
        from eddy_sim.design import build

        monkeypatch.setattr(build, "manifest_path", manifest_path(build.manifest_path))
    maker = {"model": model, "fake": fake, "rtl": rtl}.get(kind)
    harness = maker(tmp) if maker else rtl(tmp, behind_socket=True)
    try:
        yield harness
    finally:
        harness.inner.close()
