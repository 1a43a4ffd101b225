# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board behind a bad connection: the model's own board, and what can go wrong on the way to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.port.events import EventLog
from eddy.board.port.port import BoardEvent, Buffer, Cause, EventKind, Launch, SlotPhase
from eddy.core.errors import BoardUnreachable

FAULTS = (Cause.TIME_LIMIT, Cause.ILLEGAL_BURST, Cause.MODULE_ERROR, Cause.READ_OUTSIDE_WINDOW)
_EFFECTS = ("load", "take_image", "scrub", "launch", "stop", "close", "free", "write", "read", "allocate")
_PLAIN = ("describe", "images", "counters", "state", "now_s", "prepare", "prefetch", "read_ahead", "release")

Effect = Callable[[Callable[[], Any]], Any]


class BadPort:
    """A `BoardPort`.

    Args:
        make: Makes the board; again where it restarts.
        draw: Of this seed.
        effect: Told of every call that changes something, as something the caller may die before or after.

    Attributes:
        away: Calls before it answers again.
        slow_s: Most board seconds a call takes.
        bad: How likely an answer is lost, or events come late or twice.
        wrong: Launches that touched memory of a job they were not of; there must be none.
    """

    def __init__(self, make: Callable[[ModelFaults], ModelBoard], draw: random.Random, effect: Effect) -> None:
        self._make, self._draw, self._effect = make, draw, effect
        self._faults = ModelFaults({}, frozenset())
        self._loads = 0
        self.board = make(self._faults)
        self.away, self.slow_s, self.bad = 0, 0.0, 0.0
        self.wrong: list[str] = []
        self.restarts = self.lost = 0
        self._owners: dict[int, str] = {}
        for name in _PLAIN:
            setattr(self, name, self._plain(name))
        for name in _EFFECTS:
            setattr(self, name, self._changing(name))

    # Faults -------------------------------------------------------------------------------------------------------

    def spoil_item(self, item: str) -> None:
        """An item shall not come to a good end, whenever it is launched."""
        items = {**self._faults.items, item: self._draw.choice(FAULTS)}
        self._faults = ModelFaults(items, self._faults.loads)
        self.board.inject(self._faults)

    def spoil_load(self) -> None:
        """One of the next loads fails."""
        self._faults = ModelFaults(self._faults.items, self._faults.loads | {self._loads + self._draw.randint(0, 3)})
        self.board.inject(self._faults)

    def heal(self) -> None:
        """The connection is a good one from now on; one that was lost is still found to be lost."""
        self.away, self.slow_s, self.bad = min(self.away, 1), 0.0, 0.0

    def restart(self, power: bool) -> None:
        """The half with the board dies: slots are closed, buffers are gone, and callers lose their connection.

        Args:
            power: Whether its journal is gone too: its clock and its numbers begin again.
        """
        before = self.board
        state = before.state()
        ended = before._events.log.kept()
        self._faults = ModelFaults(self._faults.items, frozenset())
        self.board = self._make(self._faults)
        self._owners.clear()
        self._loads = 0
        self.restarts += 1
        self.away = max(self.away, self._draw.randint(1, 3))
        if power:
            return
        log = EventLog(state.next_seq)
        self.board._events.log = log
        self.board.wait(state.now_s)
        for event in ended:  # its end was not acknowledged, so the journal still has it
            kind = EventKind.ITEM_FAILED if event.item else EventKind.CONFIGURATION_FAILED
            log.add(
                kind,
                event.slot,
                at_s=state.now_s,
                started_s=event.started_s,
                item=event.item,
                image=event.image,
                cause=Cause.BOARD_RESTARTED,
            )
        for slot in state.slots:
            cause, at_s = Cause.BOARD_RESTARTED, state.now_s
            if slot.phase is SlotPhase.RUNNING:
                log.add(
                    EventKind.ITEM_FAILED, slot.index, at_s=at_s, started_s=slot.since_s, item=slot.item, cause=cause
                )
            elif slot.phase is SlotPhase.LOADING:
                kind = EventKind.CONFIGURATION_FAILED
                log.add(kind, slot.index, at_s=at_s, started_s=slot.since_s, image=slot.image, cause=cause)

    # Calls --------------------------------------------------------------------------------------------------------

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """Events; late, again or in another order where the connection is bad."""
        self._reach()
        events: tuple[BoardEvent, ...] = self._effect(lambda: self.board.wait(until_s, acknowledge))
        self._answer()
        self._loads += sum(event.kind is not EventKind.ITEM_DONE and not event.item for event in events)
        if self._draw.random() < self.bad:
            if self._draw.random() < 0.5:
                return events[: self._draw.randint(0, len(events))]  # the rest is on its way
            return tuple(self._draw.sample(events, len(events)))
        return events

    def _plain(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._reach()
            return getattr(self.board, name)(*arguments, **named)

        return call

    def _changing(self, name: str) -> Callable[..., Any]:
        checks: dict[str, Callable[..., None]] = {
            "launch": self._check_launch,
            "allocate": self._check_allocate,
            "free": self._check_free,
        }
        check = checks.get(name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._reach()
            made = self._effect(lambda: getattr(self.board, name)(*arguments, **named))
            if check is not None:
                check(made, *arguments)
            self._answer()
            return made

        return call

    def _reach(self) -> None:
        if self.away:
            self.away -= 1
            raise BoardUnreachable("no boardd answers (simulated)")
        if self.slow_s and self._draw.random() < 0.5:
            self.board.wait(self.board.now_s() + self._draw.uniform(0.0, self.slow_s))

    def _answer(self) -> None:
        """The call was carried out; whether the caller hears of it is another matter."""
        if self._draw.random() < self.bad / 4:
            self.lost += 1
            raise BoardUnreachable("the connection was lost (simulated); whether the call was carried out is not known")

    # Whose memory -------------------------------------------------------------------------------------------------

    def _check_allocate(self, buffer: Buffer, _: int, owner: str) -> None:
        self._owners[buffer.id] = owner
        if any(self.board.read(buffer.id, 0, buffer.bytes)):
            self.wrong.append(f"buffer {buffer.id} still has what it held before")

    def _check_free(self, _: None, buffer: int) -> None:
        self._owners.pop(buffer, None)

    def _check_launch(self, _: None, slot: int, launch: Launch) -> None:
        job = launch.item.partition(".")[0]
        owners = {buffer.id: buffer.owner for buffer in self.board.state().buffers}
        strangers = [grant.buffer for grant in launch.grants if owners[grant.buffer].partition("/")[0] != job]
        if strangers:
            self.wrong.append(f"item {launch.item} in slot {slot} reaches buffers {strangers} of others")
