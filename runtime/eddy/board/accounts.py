"""On whose account a slot's memory contexts are: what each tenant's kernels did, added up while contexts change hands.

Hardware counts by memory context, and contexts go from kernel to kernel. What a context counted belongs to the account
that it was on meanwhile: the counters are read when it changes, after what was on it before has drained, and at no
other time, so that slices of one tenant that follow each other cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from eddy.board.fabric import SlotControl
from eddy.core.counters import ContextCounters, CoreCounters

_NOTHING = ContextCounters()


class SlotAccounts:
    """The accounts of one slot, over all its loads.

    Args:
        control: The slot's control bank.
    """

    def __init__(self, control: SlotControl) -> None:
        self._control = control
        self._totals: dict[str, ContextCounters] = {}
        self._open: dict[int, tuple[str, ContextCounters]] = {}
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
            self._add(held[0], now.minus(held[1]))
        self._open.pop(context, None)
        if account:
            self._open[context] = (account, now)

    def ran(self, account: str, runs: Iterable[CoreCounters]) -> None:
        """Cores ended a kernel that was on this account."""
        if account:
            for run in runs:
                self._add(account, ContextCounters.of_core(run))

    def settle(self) -> None:
        """Nothing runs, and the counters may start from zero: no context is on anybody's account."""
        for account, used in self._used():
            self._add(account, used)
        self._open.clear()

    def read(self, running: Iterable[tuple[str, CoreCounters]]) -> tuple[tuple[str, ContextCounters], ...]:
        """The totals of every account, by account, with what cores that run have counted so far."""
        totals = dict(self._totals)
        for account, more in (*((a, ContextCounters.of_core(run)) for a, run in running), *self._used()):
            totals[account] = totals.get(account, _NOTHING).plus(more)
        return tuple(sorted(totals.items()))

    def _used(self) -> list[tuple[str, ContextCounters]]:
        """What contexts that are on an account have counted since they came to it."""
        if not self._open:
            return []
        now = self._control.memory_use(sorted(self._open))
        return [(account, now[context].minus(before)) for context, (account, before) in self._open.items()]

    def _add(self, account: str, more: ContextCounters) -> None:
        self._totals[account] = self._totals.get(account, _NOTHING).plus(more)
