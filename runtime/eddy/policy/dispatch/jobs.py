"""The jobs a dispatch policy sees, in an order that costs nothing to keep.

What changes between two decisions are a few jobs; what waits may be ten thousand. So the collection is a value that
shares with the one before it all that stayed (see `ordered`), and it is sorted by what decides about jobs:

- `begun`: jobs with a finished item or a slot. They are few, each is unlike the others.
- `waiting`: jobs nothing was done for. Jobs of one application, priority and batch differ in their age alone: they
  stand in a line, oldest first, and whoever ranks lines looks at their heads. What a decision costs grows with the
  number of lines, not with the number of jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from eddy.policy.dispatch.ordered import Sorted


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task of a waiting or running job.

    Attributes:
        id: Task id in its application.
        module: What must be in a slot to run it.
        estimate_s: The designer's estimate for one item.
        items_done: Finished items, in item order, of the job's batch.
        slot: The slot that holds or is being loaded with this task for this job, or None.
        predecessors: Task ids.
        slots: Slots for which there is an image of the module, or None where every slot will do.
    """

    id: int
    module: str
    estimate_s: float
    items_done: int
    slot: int | None
    predecessors: tuple[int, ...]
    slots: tuple[int, ...] | None = None


class Tasks(tuple[TaskView, ...]):
    """The tasks of a job; jobs nothing was done for share those of their application, and what follows from them.

    Attributes:
        facts: What follows from the tasks alone, kept once worked out; no part of the value.
    """

    facts: dict[Any, Any]

    def __new__(cls, tasks: Iterable[TaskView] = ()) -> Tasks:
        """With nothing worked out yet."""
        made = super().__new__(cls, tasks)
        made.facts = {}
        return made

    def __hash__(self) -> int:
        found: int | None = self.facts.get("hash")
        if found is None:
            found = self.facts["hash"] = super().__hash__()
        return found

    @property
    def begun(self) -> bool:
        """Whether anything was done, or is being done, for one of them."""
        found: bool | None = self.facts.get("begun")
        if found is None:
            found = self.facts["begun"] = any(task.items_done > 0 or task.slot is not None for task in self)
        return found


@dataclass(frozen=True, slots=True)
class JobView:
    """One job that has arrived and not ended.

    Attributes:
        id: Unique; the tie-breaker of last resort (lower is older).
        application: Its application's name.
        tenant: Whose it is.
        batch: Number of items.
        priority: One of `eddy.core.jobs.PRIORITIES`.
        arrival_s: Board time of arrival.
        deadline_s: Board time by which it should end, or None.
        goal_slots: Saturation point of its application.
        tasks: In topological order; kept as `Tasks`.
        shown_s: Where it was hidden while it waited for memory, the board time from which its waiting counts;
            else None.
        facts: What follows from the other fields alone, kept once worked out (see `facts`); no part of the value.
    """

    id: int
    application: str
    tenant: str
    batch: int
    priority: int
    arrival_s: float
    deadline_s: float | None
    goal_slots: int
    tasks: tuple[TaskView, ...]
    shown_s: float | None = None
    facts: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tasks, Tasks):
            object.__setattr__(self, "tasks", Tasks(self.tasks))

    @property
    def shape(self) -> Tasks:
        """Its tasks, with what is kept of them."""
        assert isinstance(self.tasks, Tasks)
        return self.tasks

    @property
    def age(self) -> Age:
        """What jobs are ordered by."""
        return self.arrival_s, self.id


Age = tuple[float, int]
"""What jobs are ordered by: arrival, then id."""
Line = Sorted[Age, JobView]
"""Jobs nothing was done for, of one application, priority and batch: by age."""
_NOBODY: Line = Sorted()


@dataclass(frozen=True, slots=True)
class Kind:
    """Jobs nothing was done for, of one application and priority.

    Attributes:
        application: The application's name.
        tasks: What they are to do.
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
    lines: Sorted[int, Line] = field(default_factory=Sorted)
    jobs: int = 0
    items: int = 0
    facts: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def put(self, job: JobView) -> Kind:
        """With one more job."""
        line = self.lines.get(job.batch) or _NOBODY
        return self._with(self.lines.put(job.batch, line.put(job.age, job)), 1, job.batch)

    def drop(self, job: JobView) -> Kind:
        """Without a job that is among them."""
        line = (self.lines.get(job.batch) or _NOBODY).drop(job.age)
        return self._with(self.lines.put(job.batch, line) if line else self.lines.drop(job.batch), -1, -job.batch)

    def _with(self, lines: Sorted[int, Line], jobs: int, items: int) -> Kind:
        return Kind(self.application, self.tasks, self.priority, self.due, lines, self.jobs + jobs, self.items + items)

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


Key = tuple[str, Tasks, int, bool]
Kinds = dict[Key, Kind]


def _key(job: JobView) -> Key:
    return job.application, job.shape, job.priority, job.deadline_s is not None


def _with(kinds: Kinds, job: JobView) -> Kinds:
    key = _key(job)
    kind = kinds.get(key) or Kind(*key)
    return {**kinds, key: kind.put(job)}


def _without(kinds: Kinds, job: JobView) -> Kinds:
    key = _key(job)
    kind = kinds[key].drop(job)
    if kind.jobs:
        return {**kinds, key: kind}
    return {other: each for other, each in kinds.items() if other != key}


def _gathered(jobs: Iterable[JobView]) -> Kinds:
    """Jobs in order of age, by what they have in common."""
    found: dict[Key, dict[int, list[JobView]]] = {}
    for job in jobs:
        found.setdefault(_key(job), {}).setdefault(job.batch, []).append(job)
    return {key: _kind(key, batches) for key, batches in found.items()}


def _kind(key: Key, batches: dict[int, list[JobView]]) -> Kind:
    lines: Sorted[int, Line] = Sorted(
        (batch, Sorted((job.age, job) for job in batches[batch])) for batch in sorted(batches)
    )
    items = sum([batch * len(line) for batch, line in lines.items()])
    return Kind(*key, lines, sum([len(line) for line in lines.values()]), items)


class Jobs:
    """Jobs that have arrived and not ended: a sequence in order of age, and a value.

    Args:
        jobs: In any order.
    """

    __slots__ = ("_by_age", "_by_id", "_by_tenant", "begun", "kinds")

    def __init__(self, jobs: Iterable[JobView] = ()) -> None:
        every = sorted(jobs, key=lambda job: job.age)
        self._by_age: Sorted[Age, int] = Sorted((job.age, job.id) for job in every)
        self._by_id: Sorted[int, JobView] = Sorted(sorted([(job.id, job) for job in every], key=lambda pair: pair[0]))
        self.begun: Sorted[int, JobView] = Sorted(pair for pair in self._by_id.items() if _alone(pair[1]))
        """Jobs that are unlike others, by id: with a finished item or a slot, or hidden for a while."""
        waiting = [job for job in every if not _alone(job)]
        self.kinds: Kinds = _gathered(waiting)
        """All others, by what they have in common."""
        tenants: dict[str, list[JobView]] = {}
        for job in waiting:
            tenants.setdefault(job.tenant, []).append(job)
        self._by_tenant: Sorted[str, Kinds] = Sorted((name, _gathered(tenants[name])) for name in sorted(tenants))

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
        return self.kinds[_key(job)].lines[job.batch]

    def waiting_of(self, tenant: str) -> Iterable[Kind]:
        """What is in `kinds` of one tenant's."""
        return (self._by_tenant.get(tenant) or {}).values()

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
        new._forget(before)
        if before is None or before.age != job.age:
            aged = new._by_age if before is None else new._by_age.drop(before.age)
            new._by_age = aged.put(job.age, job.id)
        new._by_id = self._by_id.put(job.id, job)
        if _alone(job):
            new.begun = new.begun.put(job.id, job)
        else:
            new._wait(job)
        return new

    def drop(self, number: int) -> Jobs:
        """Without a job; the same jobs where it is not among them."""
        before, new = self._by_id.get(number), self._copy()
        if before is None:
            return self
        new._forget(before)
        new._by_age = self._by_age.drop(before.age)
        new._by_id = self._by_id.drop(number)
        return new

    def _copy(self) -> Jobs:
        new = Jobs.__new__(Jobs)
        new._by_age, new._by_id, new._by_tenant = self._by_age, self._by_id, self._by_tenant
        new.begun, new.kinds = self.begun, self.kinds
        return new

    def _forget(self, job: JobView | None) -> None:
        """Take a job out of where it stands; for a copy that nobody has seen yet."""
        if job is None:
            return
        if _alone(job):
            self.begun = self.begun.drop(job.id)
            return
        self.kinds = _without(self.kinds, job)
        own = _without(self._by_tenant.get(job.tenant) or {}, job)
        self._by_tenant = self._by_tenant.put(job.tenant, own) if own else self._by_tenant.drop(job.tenant)

    def _wait(self, job: JobView) -> None:
        """Put a job where it waits; for a copy that nobody has seen yet."""
        self.kinds = _with(self.kinds, job)
        self._by_tenant = self._by_tenant.put(job.tenant, _with(self._by_tenant.get(job.tenant) or {}, job))


def _alone(job: JobView) -> bool:
    return job.shown_s is not None or job.shape.begun
