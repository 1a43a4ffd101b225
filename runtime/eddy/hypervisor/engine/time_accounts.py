# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accounts of the slots' time, and what else is written down now and then: epochs of the market, estimates."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.engine.lag_writer import LagWriter
from eddy.hypervisor.forecast.estimator_feed import EstimatorFeed
from eddy.hypervisor.jobs.metering import nanoseconds
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.store.account_tables.usage import ACCOUNTED, Usage, UsageRow, day_of
from eddy.store.board_tables.epochs import Epochs

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
