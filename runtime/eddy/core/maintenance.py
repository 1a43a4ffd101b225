# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Maintenance windows: when slots are closed by calendar, and what that means for each slot at a moment."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MARK = "maintenance "
"""What the reason of a slot begins with that a window drains."""


class WindowStage(str, enum.Enum):
    """How far a window is."""

    PLANNED = "planned"
    DRAINING = "draining"
    """Its slots take nothing new; what runs in them ends."""
    OPEN = "open"
    """The work is being done."""
    ENDED = "ended"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class MaintenanceWindow:
    """A time in which slots are closed.

    Attributes:
        title: What is done, for everyone.
        begins_unix_s: From when.
        ends_unix_s: Until when.
        drain_s: How long before its beginning its slots take nothing new.
        slots: Which; empty for all.
        created_unix_s: When it was planned.
        actor: Which operator planned it.
        cancelled_unix_s: When it was cancelled, or ended early; None where it was not.
    """

    id: str
    title: str
    begins_unix_s: float
    ends_unix_s: float
    drain_s: float = 0.0
    slots: tuple[int, ...] = ()
    created_unix_s: float = 0.0
    actor: str = ""
    cancelled_unix_s: float | None = None

    @property
    def drains_unix_s(self) -> float:
        """From when its slots take nothing new."""
        return self.begins_unix_s - self.drain_s

    def stage(self, now_unix_s: float) -> WindowStage:
        """How far it is; one that is cancelled after it began has ended."""
        stopped = self.cancelled_unix_s
        if stopped is not None:
            return WindowStage.CANCELLED if stopped < self.begins_unix_s else WindowStage.ENDED
        if now_unix_s >= self.ends_unix_s:
            return WindowStage.ENDED
        if now_unix_s >= self.begins_unix_s:
            return WindowStage.OPEN
        return WindowStage.DRAINING if now_unix_s >= self.drains_unix_s else WindowStage.PLANNED

    def closes(self, slot: int) -> bool:
        """Whether it concerns a slot."""
        return not self.slots or slot in self.slots

    @property
    def reason(self) -> str:
        """Why a slot is drained that it closes, for operators."""
        return f"{MARK}{self.id}: {self.title}"


CLOSED = (WindowStage.DRAINING, WindowStage.OPEN)


def drain_changes(
    windows: Iterable[MaintenanceWindow], drained: Mapping[int, str], now_unix_s: float
) -> dict[int, str]:
    """What is to change for slots: by slot why it is drained from now on, "" for one that is back in use.

    A slot that an operator drained, or that is quarantined, stays as it is.

    Args:
        drained: By slot that jobs are given: why it is drained, "" where it is not.
        now_unix_s: Wall time.
    """
    closed = sorted(
        (each for each in windows if each.stage(now_unix_s) in CLOSED), key=lambda each: (each.ends_unix_s, each.id)
    )
    changes: dict[int, str] = {}
    for slot, because in drained.items():
        mine = [each for each in closed if each.closes(slot)]
        if because and not because.startswith(MARK):
            continue
        wanted = because if any(each.reason == because for each in mine) else mine[-1].reason if mine else ""
        if wanted != because:
            changes[slot] = wanted
    return changes


def closing_times(
    windows: Iterable[MaintenanceWindow], slots: Iterable[int], now_unix_s: float
) -> dict[int, tuple[float, str]]:
    """By slot that closes: seconds from now until its next window drains it, and that window's name."""
    coming = sorted(
        (each for each in windows if each.stage(now_unix_s) in (WindowStage.PLANNED, *CLOSED)),
        key=lambda each: (each.drains_unix_s, each.id),
    )
    found: dict[int, tuple[float, str]] = {}
    for slot in slots:
        first = next((each for each in coming if each.closes(slot)), None)
        if first is not None:
            found[slot] = max(first.drains_unix_s - now_unix_s, 0.0), first.id
    return found
