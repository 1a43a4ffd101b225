# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The same lies over the hypervisor: one tenant's job ends, the next one's gets its memory, and must come out right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.harness import Harness, opened
from contract.lies import MODES, SECRET, PatternCounter
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.core.slots import Image
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.catalogue import load_catalogue
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy_sim.boards.faults import LIE, LoadFault
from hypervisor_kit import finish

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("lies")]
CATALOGUE = load_catalogue(Path(__file__).parents[2] / "bitstreams")
SIDE = 64
BLOCKS = SIDE * SIDE // 64
LIES, RIGHT = "dct", "level_shift"
"""The module a liar comes in place of, in slot 0, and the victim's, in slot 1."""


def _application(name: str, module: str, in_bytes: int, out_bytes: int, scalars: Mapping[str, int]) -> Application:
    arguments: tuple[tuple[str, str | int], ...] = (("in", "in"), ("out", "out"), *scalars.items())
    buffers = (
        BufferSpec("in", BufferRole.INPUT, in_bytes, "u1", (in_bytes,)),
        BufferSpec("out", BufferRole.OUTPUT, out_bytes, "u1", (out_bytes,)),
    )
    return Application(name, (TaskSpec(0, module, module, arguments, 1e-4, 1e-3),), (), buffers)


APPLICATIONS = {
    application.name: application
    for application in (
        _application("lie", LIES, 8192, 8192, {"blocks": BLOCKS}),
        _application("right", RIGHT, SIDE * SIDE, 2 * SIDE * SIDE, {"width": SIDE, "height": SIDE}),
    )
}


class LiarBoard:
    """A board on which the liar's module goes into slot 0 and the victim's into slot 1, so that the liar lives on."""

    def __init__(self, board: Any) -> None:
        self._board = board

    def images(self) -> tuple[Image, ...]:
        """Those images alone."""
        wanted = {(LIES, 0), (RIGHT, 1)}
        return tuple(image for image in self._board.images() if (image.module, image.slot) in wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)


@pytest.fixture(scope="module", params=["rtl", "socket-rtl"])
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with opened(request.param, tmp_path_factory.mktemp("board")) as harness:
        yield harness


@pytest.fixture(scope="module")
def eyes() -> PatternCounter:
    return PatternCounter()


def submit(engine: Engine, store: Store, tenant: str, application: str, data: bytes) -> JobRecord:
    """Put a job of one item in."""
    sha256 = hashlib.sha256(data).hexdigest()
    store.blobs.put(tenant, sha256, data)
    return engine.intake.accept(JobRequest(tenant, application, 1, {"in": (sha256,)}, {}))


def shifted(image: bytes) -> bytes:
    """What `level_shift` makes of an image: 8x8 blocks of 16 bits, less 128."""
    out = bytearray()
    for top in range(0, SIDE, 8):
        for left in range(0, SIDE, 8):
            for row in range(top, top + 8):
                for pixel in image[row * SIDE + left : row * SIDE + left + 8]:
                    out += (pixel - 128).to_bytes(2, "little", signed=True)
    return bytes(out)


@pytest.mark.parametrize("mode", MODES)
def test_the_next_tenants_job_is_right(harness: Harness, eyes: PatternCounter, mode: str, tmp_path: Path) -> None:
    # A liar that writes is granted `out`; one that reads, `in`.
    lie = replace(MODES[mode], pointer=0x1C if MODES[mode].writes else 0x10, span=4096)
    board = LiarBoard(harness.board)
    store = Store(tmp_path / "eddy.sqlite")
    engine = Engine(board, POLICIES["fcfs"](), store, APPLICATIONS, CATALOGUE.modules, CATALOGUE.constants)
    engine.start()
    engine.step(0.0)
    # The victim's module is there already, so that its job starts as soon as the liar's memory is free.
    warm = submit(engine, store, "grace", "right", bytes(SIDE * SIDE))
    finish(engine)
    harness.misload(0, LoadFault(liar=lie))
    submit(engine, store, "mallory", "lie", bytes(8192))
    finish(engine)
    eyes.watch()
    image = SECRET * (SIDE * SIDE // 8)
    record = submit(engine, store, "grace", "right", image)
    finish(engine)
    assert store.jobs.get("grace", warm.id).state is JobState.SUCCEEDED
    assert store.jobs.get("grace", record.id).state is JobState.SUCCEEDED
    found = store.outputs.read("grace", record.id, "out")
    assert found == shifted(image)
    assert (eyes.seen(), found.count(LIE)) == (0, 0)
    assert board.state().buffers == ()
