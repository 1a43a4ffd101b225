"""Accounts of use: nanoseconds of board time by day (UTC), slot, unit and tenant; they only grow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eddy.core.errors import QuotaExceeded
from eddy.core.tenants import Quota
from eddy.store.database import Database

ACCOUNTED, ACCOUNTED_FROM = "accounted_ns", "accounted_from_ns"
"""Names of values: up to which board time, and from which on, everything is charged."""
DAY_S = 86400
BOUNDS = (("slot", "max_slot_s", "slots"), ("core", "max_core_s", "GPU cores"))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a tenant, or nobody, had of a slot on a day.

    Attributes:
        day: As `2026-11-22`, by UTC.
        tenant: Whose it was; "" for nobody's.
        slot: Index.
        unit: `slot`, `shared` or `core`; see `eddy.hypervisor.metering.Unit`.
        spent_ns: Nanoseconds of board time.
    """

    day: str
    tenant: str
    slot: int
    unit: str
    spent_ns: int


def day_of(unix_s: float) -> str:
    """The day a wall time is in, by UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(unix_s))


class Usage:
    """The accounts. What was used today is kept in memory as well, for bounds.

    Args:
        db: Where they are kept.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._today = self._read_today()

    def _read_today(self) -> Today:
        day = day_of(time.time())
        query = "SELECT tenant, unit, SUM(ns) AS ns FROM usage WHERE day = ? GROUP BY tenant, unit"
        return Today(day, Counter({(row["tenant"], row["unit"]): row["ns"] for row in self._db.rows(query, day)}))

    def add(self, rows: Iterable[UsageRow], values: Mapping[str, str]) -> None:
        """Add to the accounts, and keep values by name; both or neither.

        It survives the end of this process; a loss of power takes back what board time it was of, too.
        """
        found = [(row.day, row.tenant, row.slot, row.unit, row.spent_ns) for row in rows]
        with self._db.transaction(durable=False) as db:
            db.executemany(
                "INSERT INTO usage (day, tenant, slot, unit, ns) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (day, tenant, slot, unit) DO UPDATE SET ns = ns + excluded.ns",
                found,
            )
            db.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(values.items()))
            self._db.after_commit(lambda: self._today.add(found))

    def rows(self, tenant: str | None, first: str = "", last: str = "9999") -> tuple[UsageRow, ...]:
        """Accounts, by day, tenant, slot and unit.

        Args:
            tenant: Whose; None for everyone's and nobody's (operators).
            first: First day.
            last: Last day.
        """
        where, values = ("AND tenant = ?", [tenant]) if tenant is not None else ("", [])
        query = f"SELECT * FROM usage WHERE day BETWEEN ? AND ? {where} ORDER BY day, tenant, slot, unit"
        rows = self._db.rows(query, first, last, *values)
        return tuple(UsageRow(row["day"], row["tenant"], row["slot"], row["unit"], row["ns"]) for row in rows)

    def today_s(self, tenant: str) -> tuple[float, float]:
        """Seconds of slots and of cores a tenant had today."""
        slot, core = (self._today.of(tenant, unit) / 1e9 for unit, _, _ in BOUNDS)
        return slot, core

    def check(self, tenant: str, quota: Quota) -> None:
        """Check that a tenant has not used up what it may in a day.

        Raises:
            QuotaExceeded: It has; `details` says when the next day begins.
        """
        bounds = {"max_slot_s": quota.max_slot_s, "max_core_s": quota.max_core_s}
        for unit, name, what in BOUNDS:
            limit = bounds[name]
            used_s = self._today.of(tenant, unit) / 1e9 if limit is not None else 0.0
            if limit is not None and used_s >= limit:
                left_s = DAY_S - int(time.time()) % DAY_S
                message = f"tenant {tenant} had {used_s:.6g} s of {what} today and may have {limit:g}: wait for the day"
                raise QuotaExceeded(f"{message} to end (UTC)", limit=limit, asked=used_s, retry_after_s=left_s)


class Today:
    """What was used today, by tenant and unit.

    Args:
        day: Today.
        spent: Nanoseconds.
    """

    def __init__(self, day: str, spent: Counter[tuple[str, str]]) -> None:
        self._day, self._spent = day, spent

    def add(self, rows: Iterable[tuple[str, str, int, str, int]]) -> None:
        """Rows were added; those of a new day begin it."""
        for day, tenant, _, unit, spent_ns in rows:
            if day > self._day:
                self._day, self._spent = day, Counter()
            if day == self._day:
                self._spent[tenant, unit] += spent_ns

    def of(self, tenant: str, unit: str) -> int:
        """Nanoseconds a tenant had; none where the day is over."""
        return self._spent[tenant, unit] if self._day == day_of(time.time()) else 0
