"""What tenants owe and are owed on shared clusters, kept over restarts: a debt is not forgiven by one."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from eddy.hypervisor.forecast.keeper import NamedValues

KEPT = "core_lags"
"""Name under which the store keeps them."""
MOST = 1000
"""Most tenants kept of each cluster, those whose lags are largest."""
_LEAST_S = 1e-6
"""Core-seconds below which a lag is not worth a row."""
_log = logging.getLogger(__name__)

Lags = Mapping[int, Mapping[str, float]]
"""Core-seconds due less those had, by slot and tenant (`CoreAccount.lags`)."""


class LagKeeper:
    """Has the store keep lags where they changed.

    Args:
        store: Keeps them.
    """

    def __init__(self, store: NamedValues) -> None:
        self._store = store
        self._kept = store.meta(KEPT)

    def kept(self) -> dict[int, dict[str, float]]:
        """Those of the life before; none where they cannot be read."""
        try:
            found = json.loads(self._kept or "{}")
            return {int(slot): {str(t): float(lag) for t, lag in lags.items()} for slot, lags in found.items()}
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            _log.warning("what tenants owe on clusters cannot be read, and is forgiven: %s", error)
            return {}

    def keep(self, lags: Lags) -> None:
        """Have them kept, without waiting for the disk: a loss of power takes back what they changed by last.

        Raises:
            StorageFailed: The disk refused.
        """
        text = json.dumps({slot: dict(_largest(of)) for slot, of in lags.items()}, separators=(",", ":"))
        if text != self._kept:
            self._store.remember(KEPT, text, durable=False)
            self._kept = text


def _largest(lags: Mapping[str, float]) -> list[tuple[str, float]]:
    """Those to be kept, by size, then by name; a board's seconds to a billionth."""
    worth = [(tenant, round(lag, 9)) for tenant, lag in lags.items() if abs(lag) >= _LEAST_S]
    return sorted(worth, key=lambda each: (-abs(each[1]), each[0]))[:MOST]
