# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs without a slot, by what they have in common: application, tasks, priority, whether they have deadlines.

Of one kind and batch they differ in their age alone, so whoever ranks them looks at the heads of lines. Where items
were done already, what is left depends on the batch, so jobs of another batch are of another kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from eddy.policy.dispatch.views.job_view import Age, JobView, Tasks
from eddy.policy.dispatch.views.sorted_mapping import SortedMapping

Line = SortedMapping[Age, JobView]
"""Jobs of one kind and batch: by age."""
_NOBODY: Line = SortedMapping()


@dataclass(frozen=True, slots=True)
class JobClass:
    """Jobs without a slot, of one application and priority.

    Attributes:
        tasks: What they are to do, and how far each of them is.
        priority: Of all of them.
        due: Whether they have deadlines.
        lines: By batch.
        jobs: How many they are.
        items: Items of their batches, added up.
        facts: What follows from the other fields, kept once worked out; no part of the value.
    """

    application: str
    tasks: Tasks
    priority: int
    due: bool
    lines: SortedMapping[int, Line] = field(default_factory=SortedMapping)
    jobs: int = 0
    items: int = 0
    facts: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def put(self, job: JobView) -> JobClass:
        """With one more job."""
        line = self.lines.get(job.batch) or _NOBODY
        return self._with(self.lines.put(job.batch, line.put(job.age, job)), 1, job.batch)

    def drop(self, job: JobView) -> JobClass:
        """Without a job that is among them."""
        line = (self.lines.get(job.batch) or _NOBODY).drop(job.age)
        return self._with(self.lines.put(job.batch, line) if line else self.lines.drop(job.batch), -1, -job.batch)

    def _with(self, lines: SortedMapping[int, Line], jobs: int, items: int) -> JobClass:
        return JobClass(
            self.application, self.tasks, self.priority, self.due, lines, self.jobs + jobs, self.items + items
        )

    def head(self) -> JobView:
        """One of those with the smallest batch."""
        found: JobView | None = self.facts.get("head")
        if found is None:
            found = self.facts["head"] = self.lines.first().first()
        return found

    def every(self) -> Iterator[JobView]:
        """All of them."""
        return (job for line in self.lines.values() for job in line.values())

    @property
    def largest(self) -> JobView:
        """The oldest of those with the largest batch."""
        found: JobView | None = self.facts.get("largest")
        if found is None:
            found = self.facts["largest"] = self.lines.last().first()
        return found

    @property
    def heads(self) -> tuple[tuple[Age, JobView], ...]:
        """The oldest of each line and its age, oldest first."""
        found: tuple[tuple[Age, JobView], ...] | None = self.facts.get("heads")
        if found is None:
            heads = [line.first() for line in self.lines.values()]
            found = self.facts["heads"] = tuple(sorted([(job.age, job) for job in heads], key=lambda head: head[0]))
        return found

    @property
    def front(self) -> tuple[JobView, ...]:
        """Those that nobody of the kind precedes who has no larger batch, by batch: each is older than those before."""
        found: tuple[JobView, ...] | None = self.facts.get("front")
        if found is None:
            oldest: list[JobView] = []
            for line in self.lines.values():
                if not oldest or line.first().age < oldest[-1].age:
                    oldest.append(line.first())
            found = self.facts["front"] = tuple(oldest)
        return found


Key = tuple[str, Tasks, int, bool, int]
Kinds = dict[Key, JobClass]


def kind_key(job: JobView) -> Key:
    """What a job has in common with others of its kind; last its batch, where items were done or it was hidden, else
    0."""
    batch = job.batch if job.shape.has_begun or job.shown_s is not None else 0
    return job.application, job.shape, job.priority, job.deadline_s is not None, batch


def with_job(kinds: Kinds, job: JobView) -> Kinds:
    """Kinds with one more job."""
    key = kind_key(job)
    kind = kinds.get(key) or JobClass(*key[:4])
    return {**kinds, key: kind.put(job)}


def without_job(kinds: Kinds, job: JobView) -> Kinds:
    """Kinds without a job that is in one of them."""
    key = kind_key(job)
    kind = kinds[key].drop(job)
    if kind.jobs:
        return {**kinds, key: kind}
    return {other: each for other, each in kinds.items() if other != key}


def group_by_kind(jobs: Iterable[JobView]) -> Kinds:
    """Jobs in order of age, by what they have in common."""
    found: dict[Key, dict[int, list[JobView]]] = {}
    for job in jobs:
        found.setdefault(kind_key(job), {}).setdefault(job.batch, []).append(job)
    return {key: _kind(key, batches) for key, batches in found.items()}


def _kind(key: Key, batches: dict[int, list[JobView]]) -> JobClass:
    lines: SortedMapping[int, Line] = SortedMapping(
        (batch, SortedMapping((job.age, job) for job in batches[batch])) for batch in sorted(batches)
    )
    items = sum([batch * len(line) for batch, line in lines.items()])
    return JobClass(*key[:4], lines, sum([len(line) for line in lines.values()]), items)
