"""The jobs of a pool that have not ended, filed by what a head asks of them.

A change of one job changes what is filed of it and of jobs that come after it, and nothing else is looked at. So what
a decision costs follows what boards have and what they can be given, and not how many jobs wait.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sortedcontainers import SortedDict

from eddy.pool.holding_back import dependency_failed, is_late, late_from_s, too_late
from eddy.pool.records import QUEUED, SUCCEEDED, PoolJob
from eddy.pool.turns import Fits, in_turns, priority

_File = tuple[int, str, str]
"""Priority, tenant, and what the jobs run: an application's name, or "" for kernels, which boards take all or none
of."""


class OpenJobs(Mapping[int, PoolJob]):
    """Jobs by number.

    Args:
        jobs: Those that are there at first.

    Attributes:
        failed: Numbers of jobs that have ended without success.
    """

    def __init__(self, jobs: Iterable[PoolJob] = ()) -> None:
        self.failed: set[int] = set()
        self._jobs: dict[int, PoolJob] = {}
        self._of: Counter[str] = Counter()
        self._on: dict[str, dict[int, PoolJob]] = {}
        self._ready: dict[_File, SortedDict] = {}
        self._followers: dict[int, set[int]] = {}
        self._lost: set[int] = set()
        self._dates: list[tuple[float, int]] = []
        self._late: set[int] = set()
        for job in jobs:
            self.take(job)

    def __getitem__(self, number: int) -> PoolJob:
        return self._jobs[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)

    def take(self, job: PoolJob) -> None:
        """A job is new, or changed; one that has ended is kept no longer."""
        before = self._jobs.pop(job.id, None)
        if before is not None:
            self._unfile(before)
        elif job.late_end and job.deadline_s is not None and not job.ended:
            heapq.heappush(self._dates, (late_from_s(job, job.deadline_s), job.id))
        if not job.ended:
            self._jobs[job.id] = job
            self._file(job)
        elif job.state != SUCCEEDED:
            self.failed.add(job.id)
        if job.ended or before is None:
            for number in self._followers.get(job.id, ()):
                self._unfile_waiting(self._jobs[number])
                self._file_waiting(self._jobs[number])

    def _file(self, job: PoolJob) -> None:
        self._of[job.tenant] += 1
        if job.board:
            self._on.setdefault(job.board, {})[job.id] = job
        if job.state == QUEUED:
            for number in job.after:
                self._followers.setdefault(number, set()).add(job.id)
            self._file_waiting(job)

    def _unfile(self, job: PoolJob) -> None:
        self._of[job.tenant] -= 1
        if not self._of[job.tenant]:
            del self._of[job.tenant]
        if job.board:
            _without(self._on, job.board, job.id)
        if job.state == QUEUED:
            for number in set(job.after):
                self._followers[number].discard(job.id)
                if not self._followers[number]:
                    del self._followers[number]
            self._unfile_waiting(job)

    def _file_waiting(self, job: PoolJob) -> None:
        if not self.failed.isdisjoint(job.after):
            self._lost.add(job.id)
        elif self._jobs.keys().isdisjoint(job.after):
            self._ready.setdefault(_file_of(job), SortedDict())[job.id] = job

    def _unfile_waiting(self, job: PoolJob) -> None:
        self._lost.discard(job.id)
        if job.id in self._ready.get(_file_of(job), ()):
            _without(self._ready, _file_of(job), job.id)

    @property
    def given(self) -> list[PoolJob]:
        """Jobs that boards have, by number."""
        return sorted((job for jobs in self._on.values() for job in jobs.values()), key=lambda job: job.id)

    def on(self, board: str) -> list[PoolJob]:
        """Jobs that a board has, by number."""
        return sorted(self._on.get(board, {}).values(), key=lambda job: job.id)

    def of(self, tenant: str) -> int:
        """How many a tenant has."""
        return self._of[tenant]

    @property
    def ready(self) -> list[PoolJob]:
        """Jobs that may be placed, by number: they wait for a board, and for no other job."""
        return sorted((job for jobs in self._ready.values() for job in jobs.values()), key=lambda job: job.id)

    def in_turn(
        self, given: Iterable[PoolJob], weights: Mapping[str, float], most: int | None, fits: Fits = lambda _: True
    ) -> list[PoolJob]:
        """`by_weight` of those that may be placed, without a look at the others.

        Args:
            given: Jobs that boards have.
            weights: Of tenants; 1 where a name is missing.
            most: How many are wanted, from the front; all where it is None.
            fits: Whether a job counts at all; asked for one of those that run the same.
        """
        queues: dict[tuple[int, str], list[Iterable[PoolJob]]] = {}
        for (level, tenant, _), jobs in self._ready.items():
            if fits(jobs.peekitem(0)[1]):
                queues.setdefault((level, tenant), []).append(jobs.values())
        merged = {key: heapq.merge(*of_each, key=lambda job: job.id) for key, of_each in queues.items()}
        return in_turns(merged, given, weights, most)

    def failing(self, now_unix_s: float) -> list[tuple[PoolJob, Mapping[str, Any]]]:
        """Jobs to be ended, by number, each with its error: too late, or after one that failed.

        Args:
            now_unix_s: Wall time.
        """
        while self._dates and self._dates[0][0] < now_unix_s:
            self._late.add(heapq.heappop(self._dates)[1])
        self._late &= self._jobs.keys()
        late = {number for number in self._late if is_late(self._jobs[number], now_unix_s)}
        jobs = [self._jobs[number] for number in sorted(late | self._lost)]
        return [(job, too_late(job) if job.id in late else dependency_failed()) for job in jobs]


def _file_of(job: PoolJob) -> _File:
    return priority(job), job.tenant, "" if job.request.get("kernel") else job.work


def _without(files: dict[Any, Any], key: object, number: int) -> None:
    """Take a job out of its file, and the file away where that was the last."""
    del files[key][number]
    if not files[key]:
        del files[key]
