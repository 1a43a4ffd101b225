# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whose a slot's time is, in whole nanoseconds: all that is charged adds up to the time that passed.

A slot is held whole by one tenant, or by nobody: while it is free, or loads for nobody in particular. A cluster that is
shared core by core is charged by the core instead: what its cores did not work for tenants is nobody's.
"""

from __future__ import annotations

import enum

NOBODY = ""


class Unit(str, enum.Enum):
    """What is counted."""

    SLOT = "slot"
    """Time of a slot that one tenant, or nobody, held whole."""
    SHARED = "shared"
    """Time of a slot in which a cluster was there to be shared; nobody's. Its cores are counted beside it."""
    CORE = "core"
    """Time of the cores of such a cluster."""


Spent = dict[tuple[Unit, str], int]
"""Nanoseconds by unit and tenant."""


def nanoseconds(at_s: float) -> int:
    """A board time, rounded once: differences of what it answers add up exactly."""
    return round(at_s * 1e9)


class SlotMeter:
    """One slot's time; see the module. Times may come late: what is charged already stays charged."""

    def __init__(self) -> None:
        self.mark_ns = 0
        """Up to when everything is charged."""
        self.spent: Spent = {}
        self._holder = NOBODY
        self._cores = 0
        self._running: dict[int, tuple[str, int]] = {}
        """By core: its tenant, and since when it is not charged."""
        self._used_ns = 0
        """Core time charged to tenants since the mark."""

    def begin(self, mark_ns: int, holder: str) -> None:
        """Start to count, from a time on, with a slot as it is found."""
        self.mark_ns, self._holder, self._used_ns = mark_ns, holder, 0
        self.spent = {}

    def set_holder(self, tenant: str, at_s: float) -> None:
        """Another tenant, or nobody, holds the slot."""
        if tenant != self._holder:
            self.settle(nanoseconds(at_s))
            self._holder = tenant

    def set_cores(self, cores: int, at_s: float) -> None:
        """A cluster of so many cores is there to be shared; 0 for none."""
        if cores != self._cores:
            self.settle(nanoseconds(at_s))
            self._cores = cores
            self._running.clear()

    def start(self, core: int, tenant: str, at_s: float) -> None:
        """A core works for a tenant."""
        self._running[core] = tenant, max(nanoseconds(at_s), self.mark_ns)

    def end(self, core: int, at_s: float) -> None:
        """It does no more."""
        found = self._running.pop(core, None)
        if found is not None:
            self._charge_core(*found, nanoseconds(at_s))

    def settle(self, now_ns: int) -> None:
        """Charge everything up to a time."""
        passed_ns = now_ns - self.mark_ns
        if passed_ns <= 0:
            return
        if self._cores:
            for core, (tenant, begun_ns) in list(self._running.items()):
                self._charge_core(tenant, begun_ns, now_ns)
                self._running[core] = tenant, max(begun_ns, now_ns)
            self._charge(Unit.CORE, NOBODY, self._cores * passed_ns - self._used_ns)
            self._charge(Unit.SHARED, NOBODY, passed_ns)
        else:
            self._charge(Unit.SLOT, self._holder, passed_ns)
        self._used_ns, self.mark_ns = 0, now_ns

    def mark_written(self) -> None:
        """What was charged so far is written down."""
        self.spent = {}

    def _charge_core(self, tenant: str, begun_ns: int, ended_ns: int) -> None:
        part_ns = max(ended_ns - begun_ns, 0)
        self._used_ns += part_ns
        self._charge(Unit.CORE, tenant, part_ns)

    def _charge(self, unit: Unit, tenant: str, part_ns: int) -> None:
        if part_ns:
            self.spent[unit, tenant] = self.spent.get((unit, tenant), 0) + part_ns
