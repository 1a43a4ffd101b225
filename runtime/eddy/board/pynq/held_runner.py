# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module whose registers the caller drives itself: held open for one item, behind the same firewall as any other.

Nothing is started here, and nothing is asked of the module that the caller did not ask. The item ends when it is
stopped, by a fault, or when its caller was not heard of for its time limit; each closes the slot.
"""

from __future__ import annotations

from eddy.board.port.held import check_held
from eddy.board.port.port import Cause, Launch, RegisterAccess
from eddy.board.pynq.runner import EndedItem, RunnerParts
from eddy.core.counters import CoreCounters


class HeldRunner:
    """Holds a slot's module open for one caller.

    Args:
        parts: What it works with.
    """

    can_share = False

    def __init__(self, parts: RunnerParts) -> None:
        self._parts = parts
        self._launch: Launch | None = None
        self._started_s = self._heard_s = 0.0
        self._rang = False
        self._ended: list[EndedItem] = []

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The item that holds the module."""
        return () if self._launch is None else (self._launch,)

    def next_limit_s(self) -> float:
        """When its caller counts as gone."""
        return float("inf") if self._launch is None else self._heard_s + self._launch.time_limit_s

    def start(self, launch: Launch) -> None:
        """Let the module reach what is granted; the caller drives it from here on.

        Raises:
            InvalidRequest: It is a kernel, or has registers to write.
            NotFound: A granted buffer is not there.
            BoardFault: What the slot had admitted before is still outstanding.
        """
        check_held(self._parts.index, launch)
        self._parts.accounts.begin(0, launch.account)
        self._parts.gate.open(launch.grants)
        self._parts.hardware.fault.arm()
        self._launch = launch
        self._started_s = self._heard_s = self._parts.clock.now_s()

    def access(self, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Do register accesses, in order; a fault among them ends the item, and what was read then is nothing."""
        self._heard_s, module = self._parts.clock.now_s(), self._parts.hardware.module
        found = []
        for access in accesses:
            if access.value is None:
                found.append(module.read(access.offset))
            else:
                module.write(access.offset, access.value)
        if accesses:
            self._blame()
        return tuple(found)

    def listen(self) -> None:
        """Wait for the next interrupt of the module."""
        self._heard_s = self._parts.clock.now_s()
        self._parts.done.arm()

    def service(self, fault: bool, done: bool) -> None:
        """Take faults and the interrupt, and see whether the caller is gone."""
        if fault:
            self._blame()
        self._rang = self._rang or (done and self._launch is not None)
        if self._launch is not None and self._parts.clock.now_s() >= self.next_limit_s():
            limit_s = self._launch.time_limit_s
            self._end(Cause.TIME_LIMIT, f"nothing was heard of who holds it for {limit_s:g} s of board time")

    def take_interrupt(self) -> str:
        """The item whose interrupt came since this was last asked; "" for none."""
        rang, self._rang = self._rang, False
        return self._launch.item if rang and self._launch is not None else ""

    def stop(self, item: str) -> None:
        """End the item; closing the slot stops whatever was started."""
        if self._launch is not None and item in ("", self._launch.item):
            self._end(Cause.STOPPED, "stopped on request")

    def abandon_all(self, cause: Cause, detail: str) -> None:
        """End the item without asking the module."""
        self._end(cause, detail)

    def take_ended(self) -> tuple[EndedItem, ...]:
        """What has ended since this was last asked."""
        ended, self._ended = tuple(self._ended), []
        return ended

    def running_counters(self) -> tuple[tuple[str, CoreCounters], ...]:
        """Nothing: the module has no cores."""
        return ()

    def _blame(self) -> None:
        fault = self._parts.hardware.control.fault()
        if fault.cause is not Cause.NONE:
            self._end(fault.cause, fault.detail)

    def _end(self, cause: Cause, detail: str) -> None:
        if self._launch is not None:
            self._ended.append(EndedItem(self._launch, self._started_s, cause, detail))
        self._launch, self._rang = None, False
