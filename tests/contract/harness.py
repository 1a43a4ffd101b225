# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards for the contract tests: every adapter behind one handle.

Each board holds modules that write `MARK` to the address in registers 0x10 and 0x14. A test says with `misload` what is
wrong with the next module a slot gets, in the words of the simulated board's faults.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from contract.fake_fabric import MARK, SHELL, FakeFabric
from contract.images import SCRUBBED, make_images
from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.port.port import Access, BoardEvent, BoardPort, Buffer, Cause, Grant, Launch, SlotPhase
from eddy.board.port.profile import Profile, load_profile
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.boardd import Boardd
from eddy.board.remote.journal import Journal
from eddy.board.remote.socket import SocketBoard
from eddy.core.slots import Image
from eddy_sim.boards.faults import LoadFault

OPEN = Trust(False)
"""A board that takes unsigned images."""
LIMIT_S = 1e-3
"""Time limit of items that ought to end by themselves."""


PATIENCE_S = 600.0
"""Wall seconds a call may take over a faked kernel: a register access is a signal and two changes of process there, and
the machine may have other things to do."""

UNVERIFIED = "reconstruct"
"""A module of the source tree whose claim to be scrubbed is taken away."""


@dataclass
class Harness:
    """A board under test.

    Attributes:
        misload: What is wrong with the next module of a slot: ``sound``, ``hang``, ``write-outside``, ``fails`` (the
            configuration port reports an error) or ``wrong-identity``; on the RTL any fault of the simulated board.
        reconnect: The caller dies; what a new one gets.
        folder: Where the images lie; None where they are no files.
    """

    board: BoardPort
    misload: Callable[[int, str | LoadFault], None]
    reconnect: Callable[[], BoardPort]
    folder: Path | None
    close: Callable[[], None] = lambda: None
    first_seq: int = 0
    """Number of the first event from here on."""
    before_item: Callable[[int, str], None] = lambda slot, item: None
    seen: list[BoardEvent] = field(default_factory=list)

    def image(self, slot: int, which: int = 0) -> Image:
        """An image for a slot."""
        return [image for image in self.board.images() if image.slot == slot][which]

    def scrubbed_image(self, slot: int, scrubs: bool = True) -> Image:
        """An image for a slot whose module a reset scrubs, or does not."""
        return next(image for image in self.board.images() if image.slot == slot and image.scrubs == scrubs)

    def next_event(self, within_s: float = 1.0) -> BoardEvent:
        """The next event, acknowledged; within that much board time."""
        events = self.board.wait(self.board.now_s() + within_s)
        assert events, f"no event within {within_s} s of board time"
        self.board.wait(0.0, events[0].seq)
        self.seen.append(events[0])
        return events[0]

    def load(self, slot: int = 0, behaviour: str | LoadFault = "sound", which: int = 0) -> BoardEvent:
        """Load a slot and wait for how it ended."""
        self.misload(slot, behaviour)
        self.board.load(slot, self.image(slot, which).sha256)
        return self.next_event()

    def launch(self, buffer: Buffer, item: str = "item", slot: int = 0, limit_s: float = LIMIT_S) -> None:
        """Start an item that marks the start of a buffer."""
        self.before_item(slot, item)
        self.board.launch(slot, marking(buffer, item, limit_s))


def marking(buffer: Buffer, item: str = "item", limit_s: float = LIMIT_S, access: Access = Access.WRITE) -> Launch:
    """A launch that marks the start of a buffer."""
    registers = ((0x10, buffer.address & 0xFFFF_FFFF), (0x14, buffer.address >> 32))
    return Launch(item, registers, (Grant(buffer.id, access),), limit_s)


def fabric_of(harness: Harness) -> FakeFabric:
    """The hardware behind a `fake` board."""
    assert isinstance(harness.board, PynqBoard)
    fabric = harness.board._fabric
    assert isinstance(fabric, FakeFabric)
    return fabric


def fake(tmp: Path, profile: Profile | None = None, trust: Trust = OPEN, first_seq: int = 0) -> Harness:
    """`PynqBoard` over a shell in plain Python."""
    profile = profile or load_profile("tiny")
    folder = tmp / "images"
    make_images(folder, profile, SHELL)
    fabric = FakeFabric(profile)
    board = PynqBoard(fabric, fabric.time, profile, ImageStore(folder), trust, first_seq)

    def misload(slot: int, behaviour: str | LoadFault) -> None:
        del slot
        assert isinstance(behaviour, str)
        fabric.next_load = behaviour

    return Harness(board, misload, lambda: board, folder, board.release)


@functools.cache
def overlay_of(profile: str) -> Path:
    """The overlay of a board of the source tree, beside its images; looked through once."""
    from eddy_sim.design import bitstreams

    return bitstreams.list_or_build(profile).overlay


def rtl(tmp: Path, trust: Trust = OPEN) -> Harness:
    """`PynqBoard` over the RTL, with the images of the source tree and modules of the simulated board."""
    from eddy.board.remote.factory import open_device
    from eddy_sim.boards import faults
    from eddy_sim.device import SimClock, SimDevice

    profile = load_profile("tiny")
    overlay = overlay_of("tiny")
    folder = tmp / "images"
    shutil.copytree(overlay.parent, folder)
    for path in folder.glob(f"{UNVERIFIED}__*.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), "scrub_build": ""}))
    device = SimDevice(profile, coherent=False)
    board = open_device(overlay, device, SimClock(device), profile, folder, trust)

    def misload(slot: int, behaviour: str | LoadFault) -> None:
        if isinstance(behaviour, LoadFault):
            device.inject(slot, behaviour)
            return
        known: dict[str, faults.LoadFault] = {
            "fails": faults.FAILED_LOAD,
            "dead": faults.DEAD_IMAGE,
            "wrong-identity": faults.WRONG_IDENTITY,
        }
        device.inject(slot, known.get(behaviour) or faults.rogue(faults.Behaviour(behaviour)))

    return Harness(board, misload, lambda: board, folder, board.release)


class KernelRig:
    """A faked kernel with a boardd on it, which stays up from test to test: starting one takes seconds.

    Args:
        profile: Which board; by default one whose images go through the kernel's FPGA manager.
    """

    def __init__(self, folder: Path, profile: str = "tiny_pcap") -> None:
        from eddy_sim.kernel.board import FakeBoard

        self.images = folder / "images"
        self.profile = profile
        shutil.copytree(overlay_of(profile).parent, self.images)
        for path in self.images.glob(f"{UNVERIFIED}__*.json"):
            path.write_text(json.dumps({**json.loads(path.read_text()), "scrub_build": ""}))
        self.machine = FakeBoard(folder / "kernel", profile)
        self.socket = folder / "boardd.sock"
        self.boardd: subprocess.Popen[str] | None = None

    def command(self, *options: str) -> list[str]:
        """What starts `eddy boardd` on a board."""
        command = [sys.executable, "-m", "eddy", "boardd", "--board=pynq", f"--profile={self.profile}", "--json"]
        return [*command, f"--socket={self.socket}", f"--images={self.images}", *options]

    def start(self, *options: str) -> None:
        """Start boardd, and wait until clients can connect."""
        self.boardd = subprocess.Popen(
            self.machine.command(self.command(*options)),
            env=self.machine.environment(),
            cwd=self.machine.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.boardd.stdout is not None
        if not self.boardd.stdout.readline():
            _, said = self.boardd.communicate()
            raise AssertionError(said)

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End boardd."""
        if self.boardd is not None:
            self.boardd.send_signal(how)
            self.boardd.communicate(timeout=180)
            self.boardd = None

    def close(self) -> None:
        """End everything."""
        self.stop(signal.SIGKILL)
        self.machine.close()

    def harness(self) -> Harness:
        """The board as a new caller finds it: nothing runs, nothing is allocated, no event is left."""
        if self.boardd is None:
            self.start()
        board = SocketBoard(self.socket, PATIENCE_S)
        until_s = board.now_s() + 1.0
        while any(slot.phase is SlotPhase.LOADING for slot in board.state().slots):
            assert board.now_s() < until_s, board.state()
            board.wait(board.now_s() + 0.01)
        for slot in range(len(board.describe().slots)):
            board.close(slot)
        for buffer in board.state().buffers:
            board.free(buffer.id)
        left = board.wait(0.0)
        if left:
            board.wait(0.0, left[-1].seq)

        def misload(slot: int, behaviour: str | LoadFault) -> None:
            assert isinstance(behaviour, str)
            self.machine.call("misload", slot=slot, behaviour=behaviour)

        outer = Harness(board, misload, lambda: board, self.images, first_seq=board.state().next_seq)

        def reconnect() -> BoardPort:
            cast(SocketBoard, outer.board).release()
            outer.board = SocketBoard(self.socket, PATIENCE_S)
            return outer.board

        outer.reconnect, outer.close = reconnect, lambda: outer.board.release()
        return outer


class _Switch(dict[str, Cause]):
    """Which items of the model go wrong."""


def model(tmp: Path) -> Harness:
    """The board of discrete events."""
    del tmp
    items = _Switch()
    failing: set[int] = set()
    loads: list[str] = []
    bad: dict[int, str] = {}

    def mark(registers: Mapping[int, int], window: Any) -> None:
        window.write(registers.get(0x14, 0) << 32 | registers[0x10], MARK)

    board = ModelBoard.from_profile(
        load_profile("tiny"),
        ("alpha", "beta"),
        {"alpha": 1e-5, "beta": 1e-5},
        SCRUBBED,
        behaviours={"alpha": mark, "beta": mark},
        faults=ModelFaults(items, cast(Any, failing)),
    )

    def misload(slot: int, behaviour: str | LoadFault) -> None:
        assert isinstance(behaviour, str)
        if behaviour in ("fails", "wrong-identity"):
            failing.add(len(loads))
        loads.append(behaviour)
        bad[slot] = behaviour

    def before_item(slot: int, item: str) -> None:
        causes = {"hang": Cause.TIME_LIMIT, "write-outside": Cause.WRITE_OUTSIDE_WINDOW}
        if bad.get(slot) in causes:
            items[item] = causes[bad[slot]]

    return Harness(board, misload, lambda: board, None, before_item=before_item)


def socketed(inner: Harness, tmp: Path) -> Harness:
    """The same board behind boardd and a UNIX socket; boardd runs in a thread, so that faults can be injected."""
    path = tmp / "boardd.sock"
    server = Boardd(cast(PynqBoard, inner.board), path, Journal(tmp / "boardd.sock.journal"))
    thread = threading.Thread(target=server.run, name="boardd")
    thread.start()
    board = SocketBoard(path, PATIENCE_S)
    outer = Harness(board, inner.misload, lambda: board, inner.folder, before_item=inner.before_item)

    def reconnect() -> BoardPort:
        old = cast(SocketBoard, outer.board)
        assert old._socket is not None
        old._socket.close()  # as the kernel does for a process that was killed
        outer.board = SocketBoard(path, PATIENCE_S)
        return outer.board

    def close() -> None:
        server.stop()
        thread.join(180)
        assert not thread.is_alive()
        outer.board.release()

    outer.reconnect, outer.close = reconnect, close
    return outer


@contextlib.contextmanager
def opened(kind: str, tmp: Path) -> Iterator[Harness]:
    """A board of a kind: `fake`, `model` or `rtl`, with `socket-` before it where it is behind boardd."""
    maker = {"fake": fake, "model": model, "rtl": rtl}[kind.removeprefix("socket-")]
    harness = maker(tmp)
    if kind.startswith("socket-"):
        harness = socketed(harness, tmp)
    try:
        yield harness
    finally:
        harness.close()
