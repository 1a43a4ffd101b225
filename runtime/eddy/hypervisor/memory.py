"""Who has board memory, who has asked for it, and who waits for it."""

from __future__ import annotations

from bisect import bisect_left, insort

from eddy.hypervisor.job import BufferState, Job

Age = tuple[float, int]


class MemoryQueue:
    """Keeps the order in which jobs get memory: the tenant with the fewest jobs that have some comes first, and of a
    tenant's jobs the oldest, so that none starves, and nobody waits for all that another has begun.

    A job that was refused stands in the queue, and so does every one that asks while somebody of its tenant does. Only
    the next one is asked for, whenever somebody gave memory back.
    """

    def __init__(self) -> None:
        self._lines: dict[str, list[Age]] = {}
        """By tenant: its jobs that wait, oldest first."""
        self._waiting: dict[int, Job] = {}
        self._asked: set[int] = set()
        self._holders: dict[int, str] = {}
        """Jobs that have memory, and whose they are."""

    def __contains__(self, number: int) -> bool:
        """Whether a job stands in the queue."""
        return number in self._waiting

    @property
    def waiting(self) -> tuple[int, ...]:
        """Jobs that stand in the queue, oldest first."""
        return tuple(number for _, number in sorted(age for line in self._lines.values() for age in line))

    def adopt(self, job: Job) -> None:
        """Recover a job as it was."""
        if job.spec.needs_memory and job.memory is BufferState.HELD:
            self._holders[job.spec.id] = job.spec.tenant

    def ask(self, job: Job) -> bool:
        """A job needs its memory: whether it is to be asked for now. Else it stands in the queue."""
        if self._lines and (job.spec.tenant in self._lines or self._count(job.spec.tenant) >= self._fewest()):
            self._wait(job)
            return False
        self._ask(job)
        return True

    def grant(self, job: Job) -> None:
        """A job has its memory."""
        self._forget(job)
        job.memory, job.lacks_memory = BufferState.HELD, False
        if job.spec.needs_memory:
            self._holders[job.spec.id] = job.spec.tenant

    def refuse(self, job: Job) -> bool:
        """There was not enough for a job: whether it may wait, because others will give some back."""
        if self._holders:
            self._asked.discard(job.spec.id)
            self._wait(job)
            return True
        self._asked.discard(job.spec.id)
        job.memory = BufferState.NONE
        return False

    def give_up(self, job: Job) -> None:
        """What was asked for a job will not come."""
        self._asked.discard(job.spec.id)
        if job.memory is BufferState.ASKED:
            job.memory = BufferState.NONE

    def leave(self, job: Job) -> bool:
        """A job has ended: whether it has memory to give back."""
        self._forget(job)
        self._holders.pop(job.spec.id, None)
        return job.memory is BufferState.HELD and job.spec.needs_memory

    def next(self) -> int | None:
        """Who is next in the queue, to be asked for now; None where somebody was, or nobody waits."""
        if not self._lines or self._asked:
            return None
        heads = [(self._count(tenant), line[0]) for tenant, line in self._lines.items()]
        job = self._waiting[min(heads)[1][1]]
        self._ask(job)
        return job.spec.id

    def _ask(self, job: Job) -> None:
        job.memory = BufferState.ASKED
        self._asked.add(job.spec.id)

    def _wait(self, job: Job) -> None:
        job.memory, job.lacks_memory = BufferState.BLOCKED, True
        if job.spec.id not in self._waiting:
            self._waiting[job.spec.id] = job
            insort(self._lines.setdefault(job.spec.tenant, []), job.age)

    def _forget(self, job: Job) -> None:
        self._asked.discard(job.spec.id)
        if self._waiting.pop(job.spec.id, None) is not None:
            line = self._lines[job.spec.tenant]
            del line[bisect_left(line, job.age)]
            if not line:
                del self._lines[job.spec.tenant]

    def _count(self, tenant: str) -> int:
        """Jobs of a tenant that have memory."""
        return sum(each == tenant for each in self._holders.values())

    def _fewest(self) -> int:
        """Of the tenants that wait, the fewest jobs that have memory."""
        return min(self._count(tenant) for tenant in self._lines)
