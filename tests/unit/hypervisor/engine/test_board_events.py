# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The engine reads each event of the board once, on the time axis of the jobs."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest
from eddy.board.port.port import BoardEvent, BoardPort, Cause, CoreReport, EventKind
from eddy.core.counters import CoreCounters
from eddy.core.records import JobRequest
from eddy.hypervisor.engine.board_events import BOARD_STEPS, BoardEvents, BoardRestarted
from eddy.hypervisor.engine.recovery import LastTimes
from eddy.hypervisor.intake.core_partition import PartitionedKernelWork
from eddy.hypervisor.jobs.messages import Configured, ItemEnded
from eddy.hypervisor.jobs.plan import Plan
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.translate import running_item_name
from machine_kit import FITS, Script

INFINITE = float("inf")


class Board:
    """Its time stands still but where it is waited for."""

    def __init__(self, *events: BoardEvent) -> None:
        self.events, self.time_s = list(events), 10.0
        self.waits: list[tuple[float, int]] = []

    def wait(self, until_s: float, seen: int) -> Iterable[BoardEvent]:
        self.waits.append((until_s, seen))
        self.time_s = max(self.time_s, min([until_s, *(event.at_s for event in self.events)]))
        return self.events

    def now_s(self) -> float:
        return self.time_s


def event(seq: int, at_s: float, cause: Cause = Cause.NONE) -> BoardEvent:
    return BoardEvent(seq, at_s, EventKind.CONFIGURED, 0, cause=cause, started_s=at_s - 1)


def reading(board: Board, seen: int = -1, now_s: float = 110.0, offset_s: float = 100.0) -> BoardEvents:
    events = BoardEvents(cast(BoardPort, board))
    events.resume(LastTimes(seen, now_s, offset_s))
    return events


def test_events_come_once_in_order_and_are_acknowledged_by_the_next_wait() -> None:
    board = Board(event(4, 12.0), event(2, 11.0), event(3, 11.5))
    events = reading(board, seen=2)
    assert [each.seq for each in events.wait(INFINITE, False, True)] == [3, 4]
    assert events.wait(120.0, False, True) == []
    assert board.waits == [(INFINITE, 2), (20.0, 4)]


def test_an_event_becomes_an_input_on_the_time_axis_of_the_jobs() -> None:
    events = reading(Board(event(0, 12.0)))
    machine = Machine({0: 0.1, 1: 0.1}, Script(), FITS)
    found = events.inputs(events.wait(INFINITE, False, True), machine, {})
    assert found == [Configured(0, 112.0, 111.0)]
    assert events.now_s == 112.0


def test_a_board_that_restarted_is_told_of_and_nothing_counts_as_read() -> None:
    events = reading(Board(event(7, 11.0, Cause.BOARD_RESTARTED)))
    with pytest.raises(BoardRestarted):
        events.wait(INFINITE, False, True)
    assert events.seen == -1


def test_the_time_waited_for_has_come_though_the_sum_was_rounded() -> None:
    board = Board()
    events = reading(board)
    board.time_s = 20 - 1e-10
    board.wait = lambda until_s, seen: []  # type: ignore[method-assign]
    events.wait(120.0, False, True)
    assert events.now_s == 120.0


def test_where_something_is_pending_only_what_is_there_is_read_and_the_board_is_owed_steps() -> None:
    board = Board()
    events = reading(board)
    events.wait(INFINITE, True, True)
    assert board.waits == [(10.0, -1)]
    assert events.waited[0] == 0.0
    for step in range(BOARD_STEPS):
        events.wait(111.0 + step, True, True)
        assert events.waited[0] == 1.0
    assert [until_s for until_s, _ in board.waits[1:]] == [11.0 + step for step in range(BOARD_STEPS)]
    events.wait(INFINITE, True, True)
    assert events.waited[0] == 0.0, "what came is looked at in between"


def test_nothing_is_owed_to_a_board_that_has_nothing_to_do() -> None:
    board = Board()
    events = reading(board)
    events.wait(INFINITE, True, False)
    events.wait(INFINITE, True, False)
    assert board.waits == [(10.0, -1)] * 2


def test_a_fault_is_explained_by_the_program_of_the_cluster_the_kernel_ran_on() -> None:
    machine = Machine({0: 0.1}, Script(), FITS)
    slot = machine.slots[0]
    slot.module, slot.job, slot.task, slot.item = "soft", 7, 0, 0
    plans = {
        name: cast(Plan, SimpleNamespace(explain=lambda _, name=name: f"line 3 of {name}")) for name in ("hard", "soft")
    }
    work = {7: PartitionedKernelWork(cast(JobRequest, None), plans)}
    report = CoreReport(0, CoreCounters(1, 1, 0, (1,)), "illegal-instruction")
    ended = BoardEvent(
        0, 12.0, EventKind.ITEM_DONE, 0, running_item_name(slot), cause=Cause.ILLEGAL_INSTRUCTION, cores=(report,)
    )
    (found,) = reading(Board()).inputs([ended], machine, work)
    assert isinstance(found, ItemEnded)
    assert found.detail == "line 3 of soft"
