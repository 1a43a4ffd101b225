# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""On whose account a slot's memory contexts are: what each tenant's kernels did, added up while contexts change hands.

Hardware counts by memory context, and contexts go from kernel to kernel. What a context counted belongs to the account
that it was on meanwhile: the counters are read when it changes, after what was on it before has drained, and at no
other time, so that slices of one tenant that follow each other cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from eddy.board.pynq.fabric import SlotControl
from eddy.core.counters import ContextCounters, CoreCounters, MemoryUse

_NOTHING = ContextCounters()


class SlotAccounts:
    """The accounts of one slot, over all its loads.

    Args:
        control: The slot's control bank.

    Attributes:
        caches: Whether a cache lies between the cores in the slot and memory. Lines that cores asked for and memory did
            not read were found in it.
    """

    def __init__(self, control: SlotControl) -> None:
        self._control = control
        self.caches = False
        self._totals: dict[str, ContextCounters] = {}
        self._open: dict[int, tuple[str, MemoryUse]] = {}
        """By context: on whose account it is, and what it had counted when it came to it."""

    def begin(self, context: int, account: str) -> None:
        """A context on which nothing runs is on this account from now on; "" on nobody's."""
        held = self._open.get(context)
        if held is not None and held[0] == account:
            return
        if held is None and not account:
            return
        now = self._control.memory_use((context,))[context]
        if held is not None:
            self._add(held[0], now.subtract(held[1], self.caches))
        self._open.pop(context, None)
        if account:
            self._open[context] = (account, now)

    def ran(self, account: str, runs: Iterable[CoreCounters]) -> None:
        """Cores ended a kernel that was on this account."""
        if account:
            for run in runs:
                self._add(account, ContextCounters.of_core(run, self.caches))

    def settle(self) -> None:
        """Nothing runs, and the counters may start from zero: no context is on anybody's account."""
        for account, used in self._used():
            self._add(account, used)
        self._open.clear()

    def read(self, running: Iterable[tuple[str, CoreCounters]]) -> tuple[tuple[str, ContextCounters], ...]:
        """The totals of every account, by account, with what cores that run have counted so far."""
        totals = dict(self._totals)
        cores = ((account, ContextCounters.of_core(run, self.caches)) for account, run in running)
        for account, more in (*self._used(), *cores):
            totals[account] = totals.get(account, _NOTHING).add_counters(more)
        # A kernel whose cores could not be asked any more has read lines that nobody counted asking for.
        known = {account: replace(each, cache_hits=max(each.cache_hits, 0)) for account, each in totals.items()}
        return tuple(sorted(known.items()))

    def _used(self) -> list[tuple[str, ContextCounters]]:
        """What contexts that are on an account have counted since they came to it."""
        if not self._open:
            return []
        now = self._control.memory_use(sorted(self._open))
        return [
            (account, now[context].subtract(before, self.caches)) for context, (account, before) in self._open.items()
        ]

    def _add(self, account: str, more: ContextCounters) -> None:
        self._totals[account] = self._totals.get(account, _NOTHING).add_counters(more)
