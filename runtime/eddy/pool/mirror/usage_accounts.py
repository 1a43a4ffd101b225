# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants had of a pool's boards, by day, as records of jobs tell it: every head works out the same."""

from __future__ import annotations

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


def spent_by_day(job: PoolJob) -> dict[str, UsedTime]:
    """What a job had, by day (UTC) of the commit of each part."""
    found: dict[str, UsedTime] = {}
    for part in job.parts:
        day = utc_day(part.ended_unix_s)
        found[day] = found.get(day, UsedTime()) + _spent(job, part)
    return found


def spent_to_json(job: PoolJob) -> dict[str, list[int]]:
    """`spent_by_day` as JSON."""
    return {day: [had.slot_ns, had.core_ns] for day, had in spent_by_day(job).items()}


def utc_day(unix_s: float) -> str:
    """The day of a moment, as `2026-11-22`."""
    return datetime.fromtimestamp(unix_s, timezone.utc).date().isoformat()


def _spent(job: PoolJob, part: JobPart) -> UsedTime:
    core_ns = round(NS * float((job.kernel or {}).get("core_seconds") or 0.0))
    if core_ns:
        return UsedTime(0, core_ns)
    return UsedTime(max(round(NS * (part.ended_unix_s - part.started_unix_s)), 0))
