# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The jobs a dispatch policy sees, in an order that costs nothing to keep.

What changes between two decisions are a few jobs; what waits may be ten thousand. So the collection is a value that
shares with the one before it all that stayed (see `ordered`), and it is sorted by what decides about jobs:

- `has_begun`: jobs with a finished item or a slot. Those that have a slot are few, each is unlike the others
(`holding`);
  of those that have none, many may be alike (`paused`).
- `kinds`: jobs nothing was done for. Jobs of one application, priority and batch differ in their age alone: they
  stand in a line, oldest first, and whoever ranks lines looks at their heads. What a decision costs grows with the
  number of lines, not with the number of jobs.

The jobs of each tenant are such a collection of their own, for who decides between tenants first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eddy.policy.dispatch.views.job_view import Age, JobView
from eddy.policy.dispatch.views.kinds import Kinds, Line, group_by_kind, kind_key, with_job, without_job
from eddy.policy.dispatch.views.sorted_mapping import SortedMapping


class Jobs:
    """Jobs that have arrived and not ended: a sequence in order of age, and a value.

    Args:
        jobs: In any order.
    """

    __slots__ = ("_by_age", "_by_id", "_of", "begun", "holding", "kinds", "paused")

    def __init__(self, jobs: Iterable[JobView] = ()) -> None:
        every = sorted(jobs, key=lambda job: job.age)
        self._by_age: SortedMapping[Age, int] = SortedMapping((job.age, job.id) for job in every)
        self._by_id: SortedMapping[int, JobView] = SortedMapping(
            sorted([(job.id, job) for job in every], key=lambda pair: pair[0])
        )
        self.begun: SortedMapping[int, JobView] = SortedMapping(
            pair for pair in self._by_id.items() if _is_singular(pair[1])
        )
        """Jobs for which something was done or is special, by id: with a finished item or a slot, hidden for a while,
        or overdue."""
        self.holding: SortedMapping[int, JobView] = SortedMapping(
            pair for pair in self.begun.items() if not _paused(pair[1])
        )
        """Those of `has_begun` that are unlike all others: with a slot, or overdue."""
        self.paused: Kinds = group_by_kind([job for job in every if _is_singular(job) and _paused(job)])
        """The others of `has_begun`, by what they have in common: for who does not ask how long they were hidden."""
        self.kinds: Kinds = group_by_kind([job for job in every if not _is_singular(job)])
        """All but those of `has_begun`, by what they have in common."""
        names = sorted({job.tenant for job in every})
        self._of: SortedMapping[str, Jobs] = SortedMapping(
            (name, Jobs([job for job in every if job.tenant == name])) for name in (names if len(names) > 1 else ())
        )
        """By tenant, where there are several: the jobs of each. Of one tenant all jobs are its own."""

    # Looking ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[JobView]:
        return map(self.job, self._by_age.values())

    def __getitem__(self, place: int) -> JobView:
        """The job in a place by age, from 0, or from -1 at the youngest.

        Raises:
            IndexError: There are not as many.
        """
        return self.job(self._by_age.at(place))

    def job(self, number: int) -> JobView:
        """The job of an id.

        Raises:
            KeyError: There is none.
        """
        job = self._by_id.get(number)
        if job is None:
            raise KeyError(number)
        return job

    def get(self, number: int) -> JobView | None:
        """The job of an id, or None."""
        return self._by_id.get(number)

    def oldest(self) -> JobView:
        """The job that came first.

        Raises:
            IndexError: There is none.
        """
        return self.job(self._by_age.first())

    def youngest(self) -> JobView:
        """The job that came last.

        Raises:
            IndexError: There is none.
        """
        return self.job(self._by_age.last())

    def line_of(self, job: JobView) -> Line:
        """The line one of those in `kinds` stands in."""
        return self.kinds[kind_key(job)].lines[job.batch]

    @property
    def tenants(self) -> SortedMapping[str, Jobs]:
        """The jobs of each tenant that has some, by its name; what it costs does not depend on how many jobs wait."""
        return self._of if self._of or not len(self) else SortedMapping([(self.oldest().tenant, self)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Jobs) and self._by_age == other._by_age and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Jobs({list(self)!r})"

    # Changing -----------------------------------------------------------------------------------------------------

    def put(self, job: JobView) -> Jobs:
        """With a job, new or in place of what it was."""
        before, new = self._by_id.get(job.id), self._copy()
        if before is job:
            return self
        if before is not None and before.tenant != job.tenant:
            return self.drop(job.id).put(job)
        new._forget(before)
        if before is None or before.age != job.age:
            aged = new._by_age if before is None else new._by_age.drop(before.age)
            new._by_age = aged.put(job.age, job.id)
        new._by_id = self._by_id.put(job.id, job)
        new._of = self._with(job)
        if not _is_singular(job):
            new.kinds = with_job(new.kinds, job)
            return new
        new.begun = new.begun.put(job.id, job)
        if _paused(job):
            new.paused = with_job(new.paused, job)
        else:
            new.holding = new.holding.put(job.id, job)
        return new

    def drop(self, number: int) -> Jobs:
        """Without a job; the same jobs where it is not among them."""
        before = self._by_id.get(number)
        if before is None:
            return self
        of = self._of
        if of:
            own = of[before.tenant].drop(number)
            of = of.put(before.tenant, own) if len(own) else of.drop(before.tenant)
            if len(of) == 1:
                return of.first()
        new = self._copy()
        new._forget(before)
        new._by_age = self._by_age.drop(before.age)
        new._by_id = self._by_id.drop(number)
        new._of = of
        return new

    def _with(self, job: JobView) -> SortedMapping[str, Jobs]:
        """The jobs of each tenant, with one that is new or in place of what it was."""
        of = self._of
        if not of:
            if not len(self) or self.oldest().tenant == job.tenant:
                return of
            of = self.tenants
        return of.put(job.tenant, (of.get(job.tenant) or Jobs()).put(job))

    def _copy(self) -> Jobs:
        new = Jobs.__new__(Jobs)
        new._by_age, new._by_id, new._of = self._by_age, self._by_id, self._of
        new.begun, new.kinds, new.holding, new.paused = self.begun, self.kinds, self.holding, self.paused
        return new

    def _forget(self, job: JobView | None) -> None:
        """Take a job out of where it stands; for a copy that nobody has seen yet."""
        if job is None:
            return
        if not _is_singular(job):
            self.kinds = without_job(self.kinds, job)
            return
        self.begun = self.begun.drop(job.id)
        if _paused(job):
            self.paused = without_job(self.paused, job)
        else:
            self.holding = self.holding.drop(job.id)


def _is_singular(job: JobView) -> bool:
    return job.shown_s is not None or job.overdue or job.shape.has_begun


def _paused(job: JobView) -> bool:
    """Whether one of those in `has_begun` differs from others alike in its age and how long it was hidden alone."""
    return not job.overdue and not job.shape.holding
