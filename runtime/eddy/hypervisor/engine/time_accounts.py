# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accounts of the slots' time, and what else is written down now and then: epochs of the market, estimates, and what
tenants owe and are owed on shared clusters, which a restart does not forgive."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.forecast.estimator_feed import EstimatorFeed, MetaStore
from eddy.hypervisor.jobs.metering import nanoseconds
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.store.account_tables.usage import ACCOUNTED, Usage, UsageRow, day_of
from eddy.store.board_tables.epochs import Epochs
from eddy.store.tables.removal import LAGS

MAX_TENANTS = 1000
"""Most tenants kept of each cluster, those whose lags are largest."""
_MIN_S = 1e-6
"""Core-seconds below which a lag is not worth a row."""
K = TypeVar("K")
_log = logging.getLogger(__name__)

Lags = Mapping[int, Mapping[str, float]]
"""Core-seconds due less those had, by slot and tenant (`CoreAccount.lags`)."""


class LagWriter:
    """Has the store keep lags where they changed.

    Args:
        gone: Whether a tenant was removed: what it owed is forgiven, and its name is in no value.
    """

    def __init__(self, store: MetaStore, gone: Callable[[str], bool] = lambda _: False) -> None:
        self._store, self._gone = store, gone
        self._kept = store.meta(LAGS)

    def read_lags(self) -> dict[int, dict[str, float]]:
        """Those of the life before; none where they cannot be read."""
        try:
            found = json.loads(self._kept or "{}")
            return {
                int(slot): {str(t): float(lag) for t, lag in lags.items()} for slot, lags in self._left(found).items()
            }
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            _log.warning("stored lags of tenants on clusters cannot be read and start at zero: %s", error)
            return {}

    def write_lags(self, lags: Lags) -> None:
        """Have them kept, without waiting for the disk: a loss of power takes back what they changed by last.

        Raises:
            StorageFailed: The disk refused.
        """
        text = json.dumps({slot: dict(_largest(of)) for slot, of in self._left(lags).items()}, separators=(",", ":"))
        if text != self._kept:
            self._store.remember(LAGS, text, durable=False)
            self._kept = text

    def _left(self, lags: Mapping[K, Mapping[str, float]]) -> dict[K, dict[str, float]]:
        """Lags of tenants that are there."""
        return {slot: {t: lag for t, lag in of.items() if not self._gone(t)} for slot, of in lags.items()}


def _largest(lags: Mapping[str, float]) -> list[tuple[str, float]]:
    """Those to be kept, by size, then by name; a board's seconds to a billionth."""
    worth = [(tenant, round(lag, 9)) for tenant, lag in lags.items() if abs(lag) >= _MIN_S]
    return sorted(worth, key=lambda each: (-abs(each[1]), each[0]))[:MAX_TENANTS]


ACCOUNT_S = 1.0
"""Wall seconds between two times that use is written down."""


class TimeAccounts:
    """Writes down whose the slots' time was.

    Args:
        epochs: Where those of the market are kept.
        estimates: What the engine learned; kept at the same times.
        price: Shares cores; None for nobody.
        lags: Keeps what tenants owe on shared clusters.
        wall_s: A clock that only goes forward.
    """

    def __init__(
        self,
        usage: Usage,
        epochs: Epochs,
        estimates: EstimatorFeed,
        price: PriceLoop | None,
        lags: LagWriter,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._usage, self._epochs, self._estimates, self._price, self._lags = usage, epochs, estimates, price, lags
        self._wall_s, self._next_s = wall_s, 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return self._wall_s() >= self._next_s

    def write(self, now_s: float, slots: Collection[MachineSlot]) -> None:
        """Write down whose the slots' time was.

        Args:
            now_s: Board time up to which.
            slots: Each with its meter.

        Raises:
            StorageFailed: The disk refused.
        """
        now_ns, day = nanoseconds(now_s), day_of(time.time())
        rows = []
        for slot in slots:
            slot.meter.settle(now_ns)
            rows += [
                UsageRow(day, tenant, slot.index, unit.value, ns) for (unit, tenant), ns in slot.meter.spent.items()
            ]
        self._next_s = self._wall_s() + ACCOUNT_S
        if rows:
            self._usage.add(rows, {ACCOUNTED: str(max([slot.meter.mark_ns for slot in slots], default=now_ns))})
        for slot in slots:  # what is written down is forgotten: nothing is lost where the disk refused
            slot.meter.mark_written()
        self.keep_epochs()
        self._estimates.save_learned()

    def keep_epochs(self) -> None:
        """Have the epochs of the market kept that ended, and what tenants owe; from any thread.

        Raises:
            StorageFailed: The disk refused.
        """
        if self._price is not None:
            self._price.history.write(self._epochs.add)
            self._lags.write_lags(self._price.lags())
