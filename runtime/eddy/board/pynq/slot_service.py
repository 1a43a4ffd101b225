# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What happens on a board as its time passes: items end, limits hold, faults close slots, and loads go on."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Sequence

from eddy.board.port.clock import Clock
from eddy.board.port.events import EventLog
from eddy.board.port.port import Cause, EventKind, Launch, RegisterAccess, SlotPhase
from eddy.board.pynq.fabric import Fabric
from eddy.board.pynq.held_runner import HeldRunner
from eddy.board.pynq.runner import EndedItem, SlotFailed, StartFailed
from eddy.board.pynq.slot import BoardSlot
from eddy.board.pynq.slot_loader import SlotLoader
from eddy.board.pynq.slot_steps import SlotSteps
from eddy.core.errors import BoardFault

_log = logging.getLogger(__name__)


class SlotService:
    """Sees to the slots of a board whenever something rings, or a limit comes, and records what ended.

    Args:
        fabric: What rings.
        clock: Board time.
        slots: By index.
        steps: Close slots, and note their phases.
        loads: Loads and scrubs of slots.
        events: Told of every item that ended.
    """

    def __init__(
        self,
        fabric: Fabric,
        clock: Clock,
        slots: Sequence[BoardSlot],
        steps: SlotSteps,
        loads: SlotLoader,
        events: EventLog,
    ) -> None:
        self._fabric, self._clock, self._slots = fabric, clock, slots
        self._steps, self._loads, self._events = steps, loads, events

    def wait_and_service(self, until_s: float) -> None:
        """Let time pass until something happens or `until_s`, then deal with what happened."""
        look_s = min((slot.next_check_s for slot in self._slots), default=float("inf"))
        self._clock.wait(min(until_s, look_s), self._fabric.loop, self._fabric.bell)
        self._fabric.bell.clear()
        self._loads.service()
        for index, slot in enumerate(self._slots):
            try:
                self._service(index, slot)
            except Exception as error:
                _log.exception("unforeseen error while seeing to slot %d", index)
                self._give_up(index, slot, f"{type(error).__name__}: {error}")

    def start(self, index: int, launch: Launch) -> None:
        """Start an item in a slot that takes it; where its driver fails, the slot is closed."""
        slot = self._slots[index]
        runner = slot.runner
        assert runner is not None
        try:
            runner.start(launch)
        except StartFailed as failed:
            self._give_up(index, slot, failed.detail)
            raise failed.error from failed.__cause__
        if runner.launches:
            self._steps.move(slot, SlotPhase.RUNNING, image=slot.image)
        else:  # it failed before it was started
            self._record_ends(index, slot, lambda: None, SlotPhase.FAULTED)

    def access(self, index: int, runner: HeldRunner, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Do register accesses for who holds a slot; a fault among them closes it.

        Raises:
            BoardFault: One was not answered, or refused; or the module misbehaved meanwhile.
        """
        found: list[int] = []
        self._record_ends(index, self._slots[index], lambda: found.extend(runner.access(accesses)), SlotPhase.FAULTED)
        if not runner.launches:
            message = f"slot {index} was closed: a register access went wrong; its event says how"
            raise BoardFault(message, cause=Cause.CONTROL_REFUSED.value)
        return tuple(found)

    def stop(self, index: int, item: str) -> None:
        """Stop what a slot runs, or the one item; nothing where it does not run."""
        slot = self._slots[index]
        if slot.runner is not None:
            self._record_ends(index, slot, functools.partial(slot.runner.stop, item), SlotPhase.EMPTY)

    def _service(self, index: int, slot: BoardSlot) -> None:
        fault, done, runner = slot.hardware.fault.take_interrupt(), slot.done.take_interrupt(), slot.runner
        if runner is not None and runner.launches:
            self._record_ends(index, slot, functools.partial(runner.service, fault, done), SlotPhase.FAULTED)
        elif runner is not None and fault:
            self._on_idle_fault(slot)
        rang = runner.take_interrupt() if runner is not None else ""
        if rang:
            now_s = self._clock.now_s()
            self._events.add(EventKind.INTERRUPT, index, at_s=now_s, started_s=now_s, item=rang)
        if fault and slot.runner is not None:
            slot.hardware.fault.arm()

    def _record_ends(self, index: int, slot: BoardSlot, what: Callable[[], None], phase: SlotPhase) -> None:
        """Do something that may end items, and record which ended.

        An item that failed beside others leaves the slot to them; alone, it leaves it closed, in `phase`.
        """
        runner = slot.runner
        assert runner is not None
        try:
            what()
        except SlotFailed as failed:
            runner.abandon_all(failed.cause, failed.detail)
            phase = SlotPhase.FAULTED
        # The end is when it was noticed; closing the slot may take until the drain's bound.
        at_s, ended = self._clock.now_s(), runner.take_ended()
        if not ended:
            return
        try:
            if not runner.launches and ended[-1].cause is not Cause.NONE:
                self._steps.force_close(slot, phase)
            elif not runner.launches:
                self._steps.move(slot, SlotPhase.IDLE, image=slot.image)
        finally:
            for end in ended:
                self._record_end(index, end, at_s)

    def _record_end(self, index: int, end: EndedItem, at_s: float) -> None:
        kind = EventKind.ITEM_DONE if end.cause is Cause.NONE else EventKind.ITEM_FAILED
        self._events.add(
            kind,
            index,
            at_s=at_s,
            started_s=end.started_s,
            item=end.launch.item,
            cause=end.cause,
            detail=end.detail,
            cores=end.cores,
        )

    def _give_up(self, index: int, slot: BoardSlot, detail: str) -> None:
        """Close a slot whose driver failed, without letting the others notice; it can be loaded again."""
        with contextlib.suppress(Exception):
            if slot.runner is not None and slot.launches:
                give_up = functools.partial(slot.runner.abandon_all, Cause.INTERNAL_ERROR, detail)
                self._record_ends(index, slot, give_up, SlotPhase.FAULTED)
            elif slot.phase is SlotPhase.IDLE:
                self._steps.force_close(slot, SlotPhase.FAULTED)

    def _on_idle_fault(self, slot: BoardSlot) -> None:
        """Close a slot whose module misbehaved while it ran nothing."""
        fault = slot.hardware.control.fault()
        if fault.cause is not Cause.NONE:
            self._steps.force_close(slot, SlotPhase.FAULTED)
            slot.idle_fault = fault
