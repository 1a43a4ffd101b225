# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants owe and are owed on shared clusters, kept over restarts: a debt is not forgiven by one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from eddy.hypervisor.forecast.estimator_feed import MetaStore
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
