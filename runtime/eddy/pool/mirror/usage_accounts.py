# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of a pool's boards, by day, as records of jobs tell it: every head works out the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from eddy.pool.records.records import JobPart, PoolJob

NS = 1e9


@dataclass(frozen=True, slots=True)
class UsedTime:
    """What was had, in nanoseconds.

    Attributes:
        slot_ns: Wall time of parts on boards: of applications, and of kernels that had a whole cluster.
        core_ns: Board time of cores of shared clusters, as boards tell it.
    """

    slot_ns: int = 0
    core_ns: int = 0

    def __add__(self, more: UsedTime) -> UsedTime:
        return UsedTime(self.slot_ns + more.slot_ns, self.core_ns + more.core_ns)

    def __neg__(self) -> UsedTime:
        return UsedTime(-self.slot_ns, -self.core_ns)


def spent_by_day(job: PoolJob, first_part: int = 0) -> dict[str, UsedTime]:
    """What a job had, by day (UTC) of the commit of each part.

    Args:
        job: It.
        first_part: Parts before this one are left out.
    """
    found: dict[str, UsedTime] = {}
    for part in job.parts[first_part:]:
        day = utc_day(part.ended_unix_s)
        found[day] = found.get(day, UsedTime()) + _spent(job, part)
    return found


def spent_to_json(job: PoolJob) -> dict[str, list[int]]:
    """`spent_by_day` as JSON."""
    return {day: [had.slot_ns, had.core_ns] for day, had in spent_by_day(job).items()}


def spent_from_json(kept: Mapping[str, Sequence[int]]) -> dict[str, UsedTime]:
    """The inverse of `spent_to_json`.

    Raises:
        ValueError, TypeError: It is something else.
    """
    return {str(day): UsedTime(int(slot_ns), int(core_ns)) for day, (slot_ns, core_ns) in kept.items()}


def utc_day(unix_s: float) -> str:
    """The day of a moment, as `2026-11-22`."""
    return datetime.fromtimestamp(unix_s, timezone.utc).date().isoformat()


def _spent(job: PoolJob, part: JobPart) -> UsedTime:
    core_ns = round(NS * float((job.kernel or {}).get("core_seconds") or 0.0))
    if core_ns:
        return UsedTime(0, core_ns)
    return UsedTime(max(round(NS * (part.ended_unix_s - part.started_unix_s)), 0))


class UsageAccounts:
    """Accounts by day and tenant.

    Args:
        is_there: Whether the record of a job that has ended is there: it is counted by that then.
    """

    def __init__(self, is_there: Callable[[int], bool] = lambda _: False) -> None:
        self._is_there = is_there
        self._had: dict[tuple[str, str], UsedTime] = {}
        self._gone: dict[str, Mapping[str, UsedTime]] = {}
        """By tenant: what jobs had whose records were removed."""
        self._going: dict[str, Mapping[int, Mapping[str, UsedTime]]] = {}
        """By tenant: what jobs had whose records are removed, or about to be."""
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

    def add(self, tenant: str, spent: Mapping[str, UsedTime]) -> None:
        """A tenant had more, by day; or less, where it is counted elsewhere from now on."""
        for day, more in spent.items():
            self._had[day, tenant] = self._had.get((day, tenant), UsedTime()) + more

    def set_kept(self, tenant: str, gone: Mapping[str, UsedTime], going: Mapping[int, Mapping[str, UsedTime]]) -> None:
        """What jobs of a tenant had whose records were removed, all together, and those whose records go, each."""
        self._gone[tenant], self._going[tenant] = gone, going

    def _removed(self, tenant: str) -> dict[str, UsedTime]:
        found = dict(self._gone.get(tenant, {}))
        for number, spent in self._going.get(tenant, {}).items():
            for day, had in spent.items() if not self._is_there(number) else ():
                found[day] = found.get(day, UsedTime()) + had
        return found

    def entries(self, tenant: str | None, first: str, last: str) -> list[tuple[str, str, UsedTime]]:
        """Day, tenant, and what it had; by day.

        Args:
            tenant: Whose; None for all.
            first: Day, as `2026-11-22`.
            last: Day.
        """
        found = dict(self._had)
        for name in self._gone:
            for day, had in self._removed(name).items():
                found[day, name] = found.get((day, name), UsedTime()) + had
        return [
            (day, name, had)
            for (day, name), had in sorted(found.items())
            if first <= day <= last and tenant in (None, name) and had != UsedTime()
        ]

    def on_day(self, tenant: str, day: str) -> UsedTime:
        """What a tenant had on a day."""
        return self._had.get((day, tenant), UsedTime()) + self._removed(tenant).get(day, UsedTime())
