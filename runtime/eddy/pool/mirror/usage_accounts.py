# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of a pool's boards, by day, as records of jobs tell it: every head works out the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from eddy.pool.records.records import JobPart, PoolJob

NS = 1e9


@dataclass(frozen=True, slots=True)
class Spent:
    """What was had, in nanoseconds.

    Attributes:
        slot_ns: Wall time of parts on boards: of applications, and of kernels that had a whole cluster.
        core_ns: Board time of cores of shared clusters, as boards tell it.
    """

    slot_ns: int = 0
    core_ns: int = 0

    def __add__(self, more: Spent) -> Spent:
        return Spent(self.slot_ns + more.slot_ns, self.core_ns + more.core_ns)

    def __neg__(self) -> Spent:
        return Spent(-self.slot_ns, -self.core_ns)


def spent_by_day(job: PoolJob, first_part: int = 0) -> dict[str, Spent]:
    """What a job had, by day (UTC) of the commit of each part.

    Args:
        job: It.
        first_part: Parts before this one are left out.
    """
    found: dict[str, Spent] = {}
    for part in job.parts[first_part:]:
        day = utc_day(part.ended_unix_s)
        found[day] = found.get(day, Spent()) + _spent(job, part)
    return found


def utc_day(unix_s: float) -> str:
    """The day of a moment, as `2026-11-22`."""
    return datetime.fromtimestamp(unix_s, timezone.utc).date().isoformat()


def _spent(job: PoolJob, part: JobPart) -> Spent:
    core_ns = round(NS * float((job.kernel or {}).get("core_seconds") or 0.0))
    if core_ns:
        return Spent(0, core_ns)
    return Spent(max(round(NS * (part.ended_unix_s - part.started_unix_s)), 0))


class UsageAccounts:
    """Accounts by day and tenant."""

    def __init__(self) -> None:
        self._had: dict[tuple[str, str], Spent] = {}
        self._parts: dict[int, int] = {}
        """Of jobs that have not ended: parts that are counted."""

    def add_record(self, job: PoolJob, news: bool) -> None:
        """A record is new, or changed.

        Args:
            job: It.
            news: Whether it was written since those that were there were read.
        """
        counted = self._parts.pop(job.id, None)
        if counted is None and news and job.collected_unix_s is not None:
            return  # it was counted when it ended
        if not job.is_ended:
            self._parts[job.id] = len(job.parts)
        self.add(job.tenant, spent_by_day(job, counted or 0))

    def add(self, tenant: str, spent: Mapping[str, Spent]) -> None:
        """A tenant had more, by day; or less, where it is counted elsewhere from now on."""
        for day, more in spent.items():
            self._had[day, tenant] = self._had.get((day, tenant), Spent()) + more

    def entries(self, tenant: str | None, first: str, last: str) -> list[tuple[str, str, Spent]]:
        """Day, tenant, and what it had; by day.

        Args:
            tenant: Whose; None for all.
            first: Day, as `2026-11-22`.
            last: Day.
        """
        return [
            (day, name, had)
            for (day, name), had in sorted(self._had.items())
            if first <= day <= last and tenant in (None, name) and had != Spent()
        ]

    def on_day(self, tenant: str, day: str) -> Spent:
        """What a tenant had on a day."""
        return self._had.get((day, tenant), Spent())
