# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runners: what the board asks of the module in a slot, and that another kind of module is another runner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.harness import Harness, fake, marking
from eddy.board.port.clock import Clock
from eddy.board.port.port import Cause, EventKind, KernelLaunch, Launch, SlotPhase
from eddy.board.pynq import pynq, slot_loader
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.runner import EndedItem, Runner, SlotFailed, StartFailed
from eddy.board.pynq.slot import BoardSlot
from eddy.core.counters import CoreCounters
from eddy.core.errors import BoardFault, Conflict, InvalidRequest
from eddy.core.slots import Control

BOARD = Path(pynq.__file__).parent


class Pair:
    """A third kind of runner: two items side by side; each ends at its time limit, which is a success."""

    can_share = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[str, tuple[Launch, float]] = {}
        self._ended: list[EndedItem] = []
        self.refuses = False

    @property
    def launches(self) -> tuple[Launch, ...]:
        return tuple(launch for launch, _ in self._running.values())

    def next_limit_s(self) -> float:
        return min((start_s + launch.time_limit_s for launch, start_s in self._running.values()), default=float("inf"))

    def start(self, launch: Launch) -> None:
        if self.refuses:
            raise StartFailed(BoardFault("it did not start"), "its neighbour did not start")
        if len(self._running) == 2:
            raise Conflict("a pair is two", field="slot")
        self._running[launch.item] = launch, self._clock.now_s()

    def service(self, fault: bool, done: bool) -> None:
        for launch, start_s in list(self._running.values()):
            if self._clock.now_s() >= start_s + launch.time_limit_s:
                if launch.item == "poison":
                    raise SlotFailed(Cause.MODULE_ERROR, "poisoned")
                self._end(launch.item, Cause.NONE, "")

    def stop(self, item: str) -> None:
        for name in list(self._running):
            if item in ("", name):
                self._end(name, Cause.STOPPED, "stopped on request")

    def abandon_all(self, cause: Cause, detail: str) -> None:
        for name in list(self._running):
            self._end(name, cause, detail)

    def take_ended(self) -> tuple[EndedItem, ...]:
        ended, self._ended = tuple(self._ended), []
        return ended

    def take_interrupt(self) -> str:
        return ""

    def running_counters(self) -> tuple[tuple[str, CoreCounters], ...]:
        return ()

    def _end(self, item: str, cause: Cause, detail: str) -> None:
        launch, start_s = self._running.pop(item)
        self._ended.append(EndedItem(launch, start_s, cause, detail))


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = fake(tmp_path)
    yield made
    made.close()


@pytest.fixture
def pair(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """The runner of slot 0, which holds a module of the third kind."""
    made: list[Pair] = []

    def third(index: int, slot: BoardSlot, clock: Clock, arena: Arena, control: Control) -> Runner:
        made.append(Pair(clock))
        return made[-1]

    monkeypatch.setattr(slot_loader, "make_runner", third)
    harness.load()
    return made[0]


def item(name: str, limit_s: float = 1e-4) -> Launch:
    return Launch(name, (), (), limit_s)


def test_a_third_kind_runs_shares_and_ends_on_the_board_as_it_is(harness: Harness, pair: Pair) -> None:
    harness.board.launch(0, item("short"))
    harness.board.launch(0, item("long", 1.0))
    assert harness.board.state().slots[0].items == ("short", "long")
    with pytest.raises(Conflict, match="a pair is two"):
        harness.board.launch(0, item("third"))
    first = harness.next_event()
    assert (first.kind, first.item, first.cause) == (EventKind.ITEM_DONE, "short", Cause.NONE)
    assert harness.board.state().slots[0].phase is SlotPhase.RUNNING
    harness.board.stop(0, "long")
    assert (harness.next_event().cause, harness.board.state().slots[0].phase) == (Cause.STOPPED, SlotPhase.EMPTY)


def test_a_slot_that_fails_ends_every_item_of_a_third_kind(harness: Harness, pair: Pair) -> None:
    harness.board.launch(0, item("bystander", 1.0))
    harness.board.launch(0, item("poison"))
    ends = [harness.next_event(), harness.next_event()]
    assert [(end.item, end.cause) for end in ends] == [
        ("bystander", Cause.MODULE_ERROR),
        ("poison", Cause.MODULE_ERROR),
    ]
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED


def test_a_start_that_failed_closes_the_slot_and_tells_the_others(harness: Harness, pair: Pair) -> None:
    harness.board.launch(0, item("bystander", 1.0))
    pair.refuses = True
    with pytest.raises(BoardFault, match="it did not start"):
        harness.board.launch(0, item("culprit"))
    end = harness.next_event()
    assert (end.item, end.cause, end.detail) == ("bystander", Cause.INTERNAL_ERROR, "its neighbour did not start")
    assert harness.board.state().slots[0].phase is SlotPhase.FAULTED


def test_a_kernel_for_an_accelerator_is_refused_and_changes_nothing(harness: Harness) -> None:
    harness.load()
    buffer = harness.board.allocate(4096, "job")
    with pytest.raises(InvalidRequest, match="holds no GPU cluster") as refused:
        harness.board.launch(0, Launch("kernel", (), (), 1e-3, kernel=KernelLaunch(buffer.id, 0x1000, 0)))
    assert refused.value.details["field"] == "kernel"
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE
    harness.board.launch(0, marking(buffer))
    assert harness.next_event().kind is EventKind.ITEM_DONE


def test_a_module_that_does_not_take_its_registers_leaves_the_slot_closed(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.load()
    buffer = harness.board.allocate(4096, "job")
    board = harness.board
    assert isinstance(board, pynq.PynqBoard)

    def dead(offset: int, value: int) -> None:
        raise BoardFault("no answer")

    monkeypatch.setattr(board._slots[0].hardware.module, "write", dead)
    with pytest.raises(BoardFault, match="no answer"):
        board.launch(0, marking(buffer))
    assert (board.state().slots[0].phase, board.state().slots[0].items) == (SlotPhase.FAULTED, ())
    board.free(buffer.id)


def test_the_board_does_not_ask_which_kind_of_module_it_has() -> None:
    """One place chooses a runner, `slot.make_runner`."""
    code = "".join(
        (BOARD / name).read_text() for name in ("pynq.py", "slot_service.py", "slot_loader.py", "slot_steps.py")
    )
    assert re.findall(r"\b(kernel|kernels|cluster|HlsRunner|ClusterRunner)\b", code) == []
