"""Skipping is exact: the same run with and without it gives the same cycle counts, values and memory."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import numpy as np
import pytest
from eddy.core.errors import BoardFault
from eddy_sim import build, faults
from eddy_sim.board import SimBoard, Stop
from eddy_sim.faults import Behaviour
from system.board_rig import CAUSE, CONTROL, MS, bank, load, load_rogue, module, open_slot, page, run_for, start, tiny

pytestmark = pytest.mark.rtl

BLOCKS = 40
Trace = list[tuple[int, ...]]


class Recorder:
    """A board whose every answer is noted with the time and the cycles at which it came."""

    def __init__(self, board: SimBoard) -> None:
        self.board = board
        self.trace: Trace = []

    def note(self, *values: int) -> None:
        board = self.board
        self.trace.append((*values, board.now_fs, board.shell_cycles, board.slot_cycles(0), board.slot_cycles(1)))

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

    def wait(self, duration_fs: int, stop: Stop = Stop.NONE) -> None:
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
        recorder.wait(10 * MS, Stop.IRQ)
        for slot in (0, 1):
            if recorder.read(module(slot, 0xC)):
                board.write32(module(slot, 0xC), 1)
        recorder.read(0x01_0000)
        board.write32(0x01_000C, 3)
    for slot in (0, 1):
        recorder.read(module(slot, 0))
        at = page(board, slot) + 0x8_0000 - board.dram_base
        assert board.dram[at : at + BLOCKS * 128].any(), "the transform wrote nothing"


def misbehave(recorder: Recorder) -> None:
    """Rogues, a failed load, a lost clock."""
    board = recorder.board
    load_rogue(board, 1, Behaviour.SOUND)
    for behaviour in (Behaviour.FLOOD, Behaviour.STALL_WRITE, Behaviour.SILENT, Behaviour.READ_OUTSIDE):
        load_rogue(board, 0, behaviour)
        start(board, 0, page(board, 0) + 0x1000 * (behaviour is Behaviour.READ_OUTSIDE))
        start(board, 1, page(board, 1))
        run_for(board, 3000)
        for offset in (bank(0, CAUSE), module(0, 0), module(1, 0), bank(1, CAUSE)):
            recorder.read(offset)
        board.write32(bank(0, CAUSE), 0x1FE)
    load(board, 0, build.build_rogue(), faults.FAILED_LOAD)
    recorder.note(board.loaded(0))
    board.lose_clock(1)
    recorder.read(module(1, 0))
    board.lose_clock(1, lost=False)
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
        recorder.wait(rng.choice((0, 3_333_333, 77_777_777, MS // 100)), rng.choice((Stop.NONE, Stop.IRQ)))


SCENARIOS = (transform_in_both_slots, misbehave, poke_at_random)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_skipping_changes_nothing(scenario: Callable[[Recorder], None]) -> None:
    traces: list[Trace] = []
    memories = []
    evaluated = []
    for skipping in (True, False):
        with SimBoard(tiny(), skipping=skipping) as board:
            recorder = Recorder(board)
            scenario(recorder)
            recorder.read(0x10)
            traces.append(recorder.trace)
            memories.append(hashlib.sha256(board.device_dram.tobytes()).hexdigest())
            evaluated.append(board.statistics().shell_evaluated)
    assert traces[0] == traces[1]
    assert memories[0] == memories[1]
    assert evaluated[0] < 0.7 * evaluated[1], "nothing was skipped: the comparison says nothing"


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
