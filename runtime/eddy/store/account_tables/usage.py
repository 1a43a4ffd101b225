# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accounts of use: nanoseconds of board time by day (UTC), slot, unit and tenant; they only grow."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from eddy.core.errors import QuotaExceeded
from eddy.core.tenants import Quota
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types

ACCOUNTED, ACCOUNTED_FROM = "accounted_ns", "accounted_from_ns"
"""Names of values: up to which board time, and from which on, everything is charged."""
ACCOUNTED_SLOTS, ACCOUNTED_BEFORE = "accounted_slots", "accounted_before_ns"
"""The same: how many slots are charged since, and what was charged before, while there were more slots or fewer."""
_BOARD = ACCOUNTED_FROM, ACCOUNTED, ACCOUNTED_SLOTS, ACCOUNTED_BEFORE
"""Those that `BoardAccount` has, in its order."""
DAY_S = 86400
FORGOTTEN = 20
"""Half-lives after which use is not looked at any more: a millionth of it is left."""
SOON_S = 1
"""Seconds after which it is worth asking again where jobs that are under way stand in the way."""
UNITS = ("slot", "shared", "core")
"""What is counted; see `eddy.hypervisor.jobs.metering.Unit`."""
MAX_NS = 1 << 57
"""More nanoseconds than anyone had of a slot on a day, and few enough for sums."""
_SUMMED = f"typeof(ns) = 'integer' AND ns BETWEEN 0 AND {MAX_NS}"
BOUNDS = (("slot", "max_slot_s", "slots"), ("core", "max_core_s", "GPU cores"))


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a tenant, or nobody, had of a slot on a day.

    Attributes:
        day: As `2026-11-22`, by UTC.
        tenant: Whose it was; "" for nobody's.
        slot: Index.
        unit: `slot`, `shared` or `core`; see `eddy.hypervisor.jobs.metering.Unit`.
        spent_ns: Nanoseconds of board time.
    """

    day: str
    tenant: str
    slot: int
    unit: str
    spent_ns: int


@dataclass(frozen=True, slots=True)
class BoardAccount:
    """What all accounts add up to: `before_ns + slots * (to_ns - from_ns)`.

    Attributes:
        from_ns: Board time since which there are so many slots.
        to_ns: Board time up to which everything is charged.
        before_ns: What was charged before.
    """

    from_ns: int = 0
    to_ns: int = 0
    slots: int = 0
    before_ns: int = 0


@dataclass(slots=True)
class _Day:
    """What was used on a day: nanoseconds by tenant and unit.

    Attributes:
        day: Which; "" before anything was written or asked for.
        spent: By tenant and unit.
        others_s: Seconds of slots by tenant on other days, decayed until these were read.
        read_unix_s: When that was.
    """

    day: str = ""
    spent: Counter[tuple[str, str]] = field(default_factory=Counter)
    others_s: Mapping[str, float] = field(default_factory=dict)
    read_unix_s: float = 0.0


def day_of(unix_s: float) -> str:
    """The day a wall time is in, by UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(unix_s))


@names_damage("an account")
def usage_row(row: Iterable[Any]) -> UsageRow:
    """An account from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    found = check_types(UsageRow(*row))
    if found.unit not in UNITS or found.slot < 0 or not 0 <= found.spent_ns <= MAX_NS:
        raise ValueError(f"it is {found.spent_ns} ns of {found.unit!r:.40} {found.slot}")
    if date.fromisoformat(found.day).isoformat() != found.day:
        raise ValueError(f"the day is {found.day!r:.40}")
    return found


@names_damage("a value")
def _value(row: sqlite3.Row | Mapping[str, Any]) -> tuple[str, int]:
    return row["key"], int(row["value"])


class Usage:
    """The accounts. What was used on the day that was written to or asked for last is kept in memory as well, for
    bounds.

    Args:
        half_life_days: Wall days after which past use counts half in what tenants are entitled to; 0: it does not.

    Attributes:
        on_written: Called when something was added.
    """

    def __init__(self, db: Database, half_life_days: float = 0.0) -> None:
        self._db, self.half_life_days = db, half_life_days
        self._slots = 0
        self.on_written: Callable[[], None] = lambda: None
        self._latest = _Day()
        self._additions = 0
        self._lock = threading.Lock()
        """Over what is kept and how often was added: a day that was read meanwhile is not kept."""

    def begin(self, now_ns: int, slots: int) -> int:
        """Go on counting, with a board of so many slots; answers from which board time on: where the accounts end.

        That may be a nanosecond after `now_ns`, which is rounded where the board's own clock restarted.
        """
        found, damaged = self._values()
        self._slots = slots
        self._read_today()  # what is past is read here, and not while somebody waits for a decision
        mark_ns = found.get(ACCOUNTED, now_ns)
        before_ns, known = found.get(ACCOUNTED_BEFORE, 0), found.get(ACCOUNTED_SLOTS, slots)
        if damaged:  # what the accounts add up to is counted again
            places = {ACCOUNTED: mark_ns, ACCOUNTED_FROM: mark_ns}
            values = {**places, ACCOUNTED_SLOTS: slots, ACCOUNTED_BEFORE: self._charged_ns()}
        elif ACCOUNTED in found and known == slots:
            values = {ACCOUNTED_SLOTS: slots}
        else:
            before_ns += known * (mark_ns - found.get(ACCOUNTED_FROM, mark_ns))
            places = {ACCOUNTED: mark_ns, ACCOUNTED_FROM: mark_ns}
            values = {**places, ACCOUNTED_SLOTS: slots, ACCOUNTED_BEFORE: before_ns}
        self.add((), {name: str(value) for name, value in values.items()})
        for name in damaged:
            self._db.damage.mark_repaired(RecordKind.VALUE, name)
        return mark_ns

    def _charged_ns(self) -> int:
        query = f"SELECT sum(ns) AS ns FROM usage WHERE unit IN ('slot', 'shared') AND {_SUMMED}"
        row = self._db.row(query)
        return 0 if row is None else int(row["ns"] or 0)

    def board(self) -> BoardAccount:
        """What all accounts add up to."""
        found, _ = self._values()
        return BoardAccount(*(found.get(name, 0) for name in _BOARD))

    def _values(self) -> tuple[dict[str, int], set[str]]:
        """The values of `_BOARD` that are there, and the names of those that cannot be read."""
        rows = self._db.rows("SELECT key, value FROM meta WHERE key IN (?, ?, ?, ?)", *_BOARD)
        found = dict(self._db.damage.read_rows(RecordKind.VALUE, rows, lambda row: row["key"], _value))
        return found, {row["key"] for row in rows} - set(found)

    def _of_day(self, day: str) -> _Day:
        query = f"SELECT tenant, unit, SUM(ns) AS ns FROM usage WHERE day = ? AND {_SUMMED} GROUP BY tenant, unit"
        rows = self._db.fresh_rows(query, day)
        spent = Counter({(row["tenant"], row["unit"]): row["ns"] for row in rows})
        now_s = time.time()
        return _Day(day, spent, self._others_s(day, now_s), now_s)

    def _others_s(self, day: str, now_s: float) -> Mapping[str, float]:
        """Seconds of slots by tenant on other days, decayed until now; nothing where they do not count."""
        if not self.half_life_days:
            return {}
        first = day_of(max(now_s - FORGOTTEN * self.half_life_days * DAY_S, 0.0))
        query = (
            "SELECT day, tenant, unit, SUM(ns) AS ns FROM usage"
            f" WHERE day >= ? AND day != ? AND {_SUMMED} GROUP BY day, tenant, unit"
        )
        days: dict[str, Counter[tuple[str, str]]] = {}
        for row in self._db.fresh_rows(query, first, day):
            days.setdefault(row["day"], Counter())[row["tenant"], row["unit"]] = row["ns"]
        found: dict[str, float] = {}
        for each, spent in days.items():
            left = self._left(now_s - _end_s(each))
            for tenant, seconds in _slot_s(spent).items():
                found[tenant] = found.get(tenant, 0.0) + seconds * left
        return found

    def _left(self, age_s: float) -> float:
        """Part of use that still counts after so many wall seconds."""
        return float(2.0 ** -(max(age_s, 0.0) / (self.half_life_days * DAY_S)))

    def decayed(self) -> Mapping[str, float]:
        """Past use of each tenant, as a part of what the board could have given, 0 to 1; empty where it does not count.

        Use of a day counts whole until the day ends (UTC), then half after each half-life. Nothing is read from disk.
        """
        if not self.half_life_days or not self._slots:
            return {}
        with self._lock:
            latest, spent = self._latest, dict(self._latest.spent)
        if not latest.day:
            return {}
        now_s = time.time()
        of_days, of_day = self._left(now_s - latest.read_unix_s), self._left(now_s - _end_s(latest.day))
        found = {tenant: seconds * of_days for tenant, seconds in latest.others_s.items()}
        for tenant, seconds in _slot_s(spent).items():
            found[tenant] = found.get(tenant, 0.0) + seconds * of_day
        # What a board that is never idle has given, each second decayed by its age.
        given_s = self._slots * self.half_life_days * DAY_S / math.log(2)
        return {tenant: min(seconds / given_s, 1.0) for tenant, seconds in found.items() if tenant}

    def add(self, rows: Iterable[UsageRow], values: Mapping[str, str]) -> None:
        """Add to the accounts, and keep values by name; both or neither.

        It survives the end of this process; a loss of power takes back what board time it was of, too.
        """
        found = [(row.day, row.tenant, row.slot, row.unit, row.spent_ns) for row in rows]
        with self._db.transaction(durable=False) as db:
            # Of a day that was not the last, too: where the wall clock jumps, days come out of order, and come again.
            day = found[-1][0] if found else self._latest.day
            latest = self._latest if day == self._latest.day else self._of_day(day)
            db.executemany(
                "INSERT INTO usage (day, tenant, slot, unit, ns) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (day, tenant, slot, unit)"
                # A sum with what is no number would pass for one.
                " DO UPDATE SET ns = iif(typeof(ns) = 'integer', ns + excluded.ns, ns)",
                found,
            )
            db.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(values.items()))
            self._db.after_commit(lambda: self._added(latest, found))

    def _added(self, latest: _Day, rows: Iterable[tuple[str, str, int, str, int]]) -> None:
        with self._lock:
            for day, tenant, _, unit, spent_ns in rows:
                if day == latest.day:
                    latest.spent[tenant, unit] += spent_ns
            self._latest = latest
            self._additions += 1
        if rows:
            self.on_written()

    def report(
        self, tenant: str | None, first: str = "", last: str = "9999"
    ) -> tuple[tuple[UsageRow, ...], BoardAccount]:
        """Accounts, by day, tenant, slot and unit, and what all there are add up to; both as of one moment. Those that
        are damaged are left out.

        Args:
            tenant: Whose; None for everyone's and nobody's (operators).
            first: First day.
            last: Last day.
        """
        where, values = ("AND tenant = ?", [tenant]) if tenant is not None else ("", [])
        query = (
            f"SELECT 0 AS board, day, tenant, slot, unit, ns FROM usage WHERE day BETWEEN ? AND ? {where}"
            " UNION ALL SELECT 1, '', key, 0, '', value FROM meta WHERE key IN (?, ?, ?, ?)"
        )
        kept = self._db.rows(query, first, last, *values, *_BOARD)
        of_days = [row for row in kept if not row["board"]]
        rows = list(
            self._db.damage.read_rows(
                RecordKind.USAGE, of_days, lambda row: tuple(row)[1:5], lambda row: usage_row(tuple(row)[1:])
            )
        )
        marks = [{"key": row["tenant"], "value": row["ns"]} for row in kept if row["board"]]
        board = dict(self._db.damage.read_rows(RecordKind.VALUE, marks, lambda row: row["key"], _value))
        rows.sort(key=lambda row: (row.day, row.tenant, row.slot, row.unit))
        return tuple(rows), BoardAccount(*(board.get(name, 0) for name in _BOARD))

    def rows(self, tenant: str | None, first: str = "", last: str = "9999") -> tuple[UsageRow, ...]:
        """The accounts of a `report`."""
        return self.report(tenant, first, last)[0]

    def today_s(self, tenant: str) -> tuple[float, float]:
        """Seconds of slots and of cores a tenant had today."""
        today = self._read_today()
        slot, core = (today.spent[tenant, unit] / 1e9 for unit, _, _ in BOUNDS)
        return slot, core

    def _read_today(self) -> _Day:
        latest, additions, day = self._latest, self._additions, day_of(time.time())
        if latest.day == day:
            return latest
        found = self._of_day(day)
        with self._lock:
            if self._additions == additions:
                self._latest = found
        return found

    def check(self, tenant: str, quota: Quota, expected_s: Callable[[], float] = lambda: 0.0) -> None:
        """Check that a tenant has not used up what it may in a day, nor will with what it has under way.

        Args:
            expected_s: Slot-seconds that its jobs under way are expected to use; asked where slots are bounded.

        Raises:
            QuotaExceeded: It has; `details` says when to come again: when the next day begins, or soon where that is
                only expected.
        """
        bounds = {"max_slot_s": quota.max_slot_s, "max_core_s": quota.max_core_s}
        for unit, name, what in BOUNDS:
            limit = bounds[name]
            used_s = self._read_today().spent[tenant, unit] / 1e9 if limit is not None else 0.0
            ahead_s = expected_s() if limit is not None and unit == "slot" else 0.0
            if limit is not None and used_s < limit <= used_s + ahead_s:
                message = (
                    f"tenant {tenant} had {used_s:.6g} s of {what} today, its jobs under way should take"
                    f" {ahead_s:.6g} s more, and it may have {limit:g}: wait for jobs to end"
                )
                raise QuotaExceeded(message, limit=limit, asked=used_s + ahead_s, retry_after_s=SOON_S)
            if limit is not None and used_s >= limit:
                message = f"tenant {tenant} had {used_s:.6g} s of {what} today and may have {limit:g}: wait for the day"
                raise QuotaExceeded(f"{message} to end (UTC)", limit=limit, asked=used_s, retry_after_s=_left_s())

    def check_lease(self, tenant: str, quota: Quota, lasts_s: float, expected_s: Callable[[], float]) -> None:
        """Check that a tenant's budget of slot time has room for a lease: it takes a slot for as long as it was asked
        for, and is not ended before.

        Args:
            lasts_s: Slot-seconds.
            expected_s: Those that its other leases and its jobs under way are expected to use.

        Raises:
            QuotaExceeded: It has not.
        """
        limit = quota.max_slot_s
        if limit is None:
            return
        taken_s = self._read_today().spent[tenant, "slot"] / 1e9 + expected_s()
        if taken_s + lasts_s > limit:
            message = (
                f"tenant {tenant} may have {limit:g} s of slots a day, of which {max(0.0, limit - taken_s):.6g} s are"
                f" left today, not {lasts_s:.6g} s: lease for less, or wait for the day to end (UTC)"
            )
            asked = taken_s + lasts_s
            raise QuotaExceeded(message, field="lasts_s", limit=limit, asked=asked, retry_after_s=_left_s())


def _end_s(day: str) -> float:
    """Wall time at which a day ends, by UTC."""
    return datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() + DAY_S


def _slot_s(spent: Mapping[tuple[str, str], int]) -> dict[str, float]:
    """Seconds of slots by tenant; the time of slots that were shared is divided by the cores that tenants had."""
    shared = sum(ns for (_, unit), ns in spent.items() if unit == "shared")
    cores = sum(ns for (_, unit), ns in spent.items() if unit == "core")
    found: dict[str, float] = {}
    for (tenant, unit), ns in spent.items():
        part = {"slot": 1.0, "core": min(shared / cores, 1.0) if cores else 0.0}.get(unit, 0.0)
        found[tenant] = found.get(tenant, 0.0) + ns * part / 1e9
    return found


def _left_s() -> int:
    """Wall seconds until the day ends."""
    return DAY_S - int(time.time()) % DAY_S
