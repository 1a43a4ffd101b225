"""What happens on the `model` board as virtual time passes: the loads and items that were begun end."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from eddy.board.model.model_forecast import ModelForecast
from eddy.board.model.model_items import ModelItems
from eddy.board.model.model_slot import ModelSlot
from eddy.board.port.agenda import Agenda
from eddy.board.port.events import EventLog
from eddy.board.port.port import BoardEvent, Cause, EventKind, SlotPhase


class ModelEvents:
    """Virtual time, and the log of what ended in it.

    Args:
        slots: By index.
        items: End items.
        forecast: Says which loads fail.

    Attributes:
        now_s: Virtual time; it moves in `wait` and `advance` alone.
        log: What ended.
    """

    def __init__(self, slots: Sequence[ModelSlot], items: ModelItems, forecast: ModelForecast) -> None:
        self._slots, self._items, self._forecast = slots, items, forecast
        self._agenda = Agenda()
        self.log = EventLog()
        self.now_s = 0.0

    def plan(self, at_s: float, slot: int) -> int:
        """Plan the end of a load or an item; answers its number."""
        return self._agenda.plan(at_s, slot)

    def wait(self, until_s: float) -> tuple[BoardEvent, ...]:
        """Let time pass until there is an event that is not acknowledged, or to `until_s`.

        Where nothing is under way and `until_s` is infinite, time stands still and the answer is ().
        """
        self.advance(self.now_s)
        while not self.log.kept() and (next_s := self._agenda.next_s()) is not None and next_s <= until_s:
            self.advance(next_s)
        events = self.log.kept()
        if not events and self.now_s < until_s < inf:
            self.now_s = until_s
        return events

    def advance(self, until_s: float) -> None:
        """Let everything happen that is due, and time pass."""
        for at_s, number, slot in self._agenda.take_due(until_s):
            state = self._slots[slot]
            if number != state.load and number not in state.items:
                continue
            self.now_s = max(self.now_s, at_s)
            if number == state.load:
                self._end_load(slot, state, at_s)
            else:
                self._items.finish(slot, state, number, at_s, self.log)
        self.now_s = max(self.now_s, until_s)

    def _end_load(self, slot: int, state: ModelSlot, at_s: float) -> None:
        image, started_s = state.image, state.since_s
        if self._forecast.load_fails():
            state.enter(SlotPhase.EMPTY, at_s)
            kind, cause = EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR
            detail = "the configuration port reported an error"
            self.log.add(kind, slot, at_s=at_s, started_s=started_s, image=image, cause=cause, detail=detail)
            return
        state.enter(SlotPhase.IDLE, at_s, image=image)
        state.count_from(at_s)
        self.log.add(EventKind.CONFIGURED, slot, at_s=at_s, started_s=started_s, image=image)
