# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Skipping and resting are exact: the same run with and without gives the same cycle counts, values and memory."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from eddy.core.errors import BoardFault
from eddy_sim.boards import faults
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.boards.faults import Behaviour
from eddy_sim.design import build
from system.board.board_rig import (
    CAUSE,
    CONTROL,
    MS,
    OPEN_ALL,
    bank,
    load,
    load_rogue,
    module,
    open_slot,
    page,
    run_for,
    start,
    tiny,
)

pytestmark = pytest.mark.rtl

BLOCKS = 40
FAULT_CLEAR, REGULATOR_RATE = 0x01C, 0x040
Trace = list[tuple[int, ...]]


class Recorder:
    """A board whose every answer is noted with the time and the cycles at which it came, and what memory served."""

    def __init__(self, board: SimBoard) -> None:
        self.board = board
        self.trace: Trace = []

    def note(self, *values: int) -> None:
        board, moved = self.board, self.board.served.statistics()
        cycles = (board.shell_cycles, board.slot_cycles(0), board.slot_cycles(1))
        self.trace.append((*values, board.now_fs, *cycles, moved.read_bytes, moved.write_bytes))

    def read(self, offset: int) -> int:
        try:
            value = self.board.read32(offset)
        except BoardFault:  # where a register says that bad accesses end as bus errors
            value = -1
        self.note(offset, value)
        return value

    def write(self, offset: int, value: int) -> None:
        try:
            self.board.write32(offset, value)
        except BoardFault:
            self.note(-1)
        self.note(offset)

    def wait(self, duration_fs: int, stop: StopReason = StopReason.NONE) -> None:
        self.note(int(self.board.step_until_fs(self.board.now_fs + duration_fs, stop)), self.board.irq)


def transform_in_both_slots(recorder: Recorder) -> None:
    """The DCT on blocks in two slots at unrelated clocks, by interrupt and by polling."""
    board = recorder.board
    path, _ = build.build_module("dct")
    rng = np.random.default_rng(1)
    for slot in (0, 1):
        load(board, slot, path)
        recorder.note(slot)
        open_slot(board, slot, page(board, slot), page(board, slot) + 0xF_FFFF, timeout=4096)
        at = page(board, slot) - board.dram_base
        board.dram[at : at + BLOCKS * 128].view(np.int16)[:] = rng.integers(-128, 128, BLOCKS * 64)
    board.write32(0x01_0008, 3)
    board.write32(0x01_001C, 3)
    for slot in (0, 1):
        source, target = page(board, slot), page(board, slot) + 0x8_0000
        for offset, value in ((0x10, source), (0x1C, target), (0x28, BLOCKS), (4, 1), (8, 1), (0, 1)):
            board.write32(module(slot, offset), value)
    for _ in range(2):
        recorder.wait(10 * MS, StopReason.IRQ)
        for slot in (0, 1):
            if recorder.read(module(slot, 0xC)):
                board.write32(module(slot, 0xC), 1)
        recorder.read(0x01_0000)
        board.write32(0x01_000C, 3)
    for slot in (0, 1):
        recorder.read(module(slot, 0))
        at = page(board, slot) + 0x8_0000 - board.dram_base
        assert board.dram[at : at + BLOCKS * 128].any(), "the transform wrote nothing"


def reload(board: SimBoard, slot: int, behaviour: Behaviour) -> None:
    """Another module, with the faults of the one before forgotten."""
    board.write32(bank(slot, CONTROL), 0)
    run_for(board, 50)
    board.write32(bank(slot, FAULT_CLEAR), 1)
    load_rogue(board, slot, behaviour)


def misbehave(recorder: Recorder) -> None:
    """Rogues, a failed load, a lost clock."""
    board = recorder.board
    load_rogue(board, 1, Behaviour.SOUND)
    for behaviour in (Behaviour.FLOOD, Behaviour.STALL_WRITE, Behaviour.SILENT, Behaviour.READ_OUTSIDE):
        reload(board, 0, behaviour)
        start(board, 0, page(board, 0) + 0x1000 * (behaviour is Behaviour.READ_OUTSIDE))
        start(board, 1, page(board, 1))
        run_for(board, 3000)
        for offset in (bank(0, CAUSE), module(0, 0), module(1, 0), bank(1, CAUSE)):
            recorder.read(offset)
    load(board, 0, build.build_rogue(), faults.FAILED_LOAD)
    recorder.note(board.loaded(0))
    board.faults.lose_clock(1)
    recorder.read(module(1, 0))
    board.faults.lose_clock(1, lost=False)
    recorder.wait(MS)
    recorder.read(0x10)


def poke_at_random(recorder: Recorder) -> None:
    """Accesses anywhere, with pauses of any length between."""
    board, rng = recorder.board, random.Random(11)
    load_rogue(board, 0, Behaviour.SOUND)
    for _ in range(400):
        area = rng.choice((0x0, 0x01_0000, bank(0, 0), bank(1, 0), module(0, 0), module(1, 0), 0x02_0200, 0xF0_0000))
        offset = area + 4 * rng.randrange(0x30)
        if offset != bank(0, CONTROL) and rng.random() < 0.4:
            recorder.write(offset, rng.getrandbits(32))
        else:
            recorder.read(offset)
        recorder.wait(rng.choice((0, 3_333_333, 77_777_777, MS // 100)), rng.choice((StopReason.NONE, StopReason.IRQ)))


def disturb_at_random(recorder: Recorder) -> None:
    """Modules that flood, stall, or speak after a pause, while slots close, lose their clocks, and are loaded again."""
    board, rng = recorder.board, random.Random(5)
    pauses = (10_000_000, 333_333_333, 5_000_000_000, MS // 50)
    behaviours = (
        Behaviour.SOUND,
        Behaviour.FLOOD,
        Behaviour.STALL_WRITE,
        Behaviour.DRIBBLE_WRITE,
        Behaviour.LATE_OUTSIDE,
    )
    load_rogue(board, 0, Behaviour.SOUND)
    load_rogue(board, 1, Behaviour.SOUND)
    for _ in range(50):
        slot = rng.randrange(2)
        reload(board, slot, rng.choice(behaviours))
        recorder.write(bank(slot, REGULATOR_RATE), rng.choice((0, 1 << 31 | 1 << 12, 1 << 31 | 1 << 17)))
        for other in (0, 1):
            start(board, other, page(board, other))
        recorder.wait(rng.choice(pauses))
        if rng.random() < 0.3:
            board.faults.lose_clock(slot)
            recorder.wait(rng.choice(pauses))
            board.faults.lose_clock(slot, lost=False)
            recorder.wait(rng.choice(pauses))
        if rng.random() < 0.3:
            recorder.write(bank(slot, CONTROL), rng.getrandbits(6))
            recorder.wait(rng.choice(pauses))
            recorder.write(bank(slot, CONTROL), OPEN_ALL)
        recorder.read(module(slot, 0))
        for other in (0, 1):
            recorder.read(bank(other, CAUSE))
    board.reset()
    recorder.read(bank(0, CAUSE))


SCENARIOS = (transform_in_both_slots, misbehave, poke_at_random, disturb_at_random)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_skipping_and_resting_change_nothing(scenario: Callable[[Recorder], None]) -> None:
    # Slow enough for a path to come to rest while it waits for an answer.
    profile = replace(tiny(), dram=replace(tiny().dram, cl_ns=600.0)) if scenario is disturb_at_random else tiny()
    traces: list[Trace] = []
    memories = []
    evaluated = []
    for skipping, resting in ((True, True), (False, True), (False, False)):
        with SimBoard(profile, skipping=skipping, resting=resting) as board:
            recorder = Recorder(board)
            scenario(recorder)
            recorder.read(0x10)
            traces.append(recorder.trace)
            memories.append(hashlib.sha256(board.device_dram.tobytes()).hexdigest())
            evaluated.append((board.statistics().shell_evaluated, board.statistics().path_edges))
    assert traces[0] == traces[1] == traces[2]
    assert memories[0] == memories[1] == memories[2]
    (skipped, _), (rested, few), (whole, all_edges) = evaluated
    assert rested == whole
    assert skipped < 0.7 * whole, "nothing was skipped: the comparison says nothing"
    assert few < 0.8 * all_edges, "no path rested: the comparison says nothing"


def test_an_idle_board_jumps() -> None:
    with SimBoard(tiny()) as board:
        path, _ = build.build_module("dct")
        load(board, 0, path)
        open_slot(board, 0, page(board, 0), page(board, 0))
        run_for(board, 10_000)
        before, edges = board.statistics().shell_evaluated, board.slot_evaluated(0)
        run_for(board, 1_000_000_000)
        assert board.statistics().shell_evaluated - before < 100
        assert board.slot_evaluated(0) - edges < 100


def test_the_same_calls_give_the_same_cycles() -> None:
    traces = []
    for _ in range(2):
        with SimBoard(tiny()) as board:
            recorder = Recorder(board)
            misbehave(recorder)
            traces.append(recorder.trace)
    assert traces[0] == traces[1]
