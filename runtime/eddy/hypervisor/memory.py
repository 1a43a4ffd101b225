"""Who has board memory, who has asked for it, and who waits for it, oldest first."""

from __future__ import annotations

from bisect import bisect_left, insort

from eddy.hypervisor.job import BufferState, Job

Age = tuple[float, int]


class MemoryQueue:
    """Keeps the order in which jobs get memory: of arrival, so that none starves.

    A job that was refused stands in the queue, and so does every one that asks while somebody does. Only the head is
    asked for, whenever somebody gave memory back.
    """

    def __init__(self) -> None:
        self._line: list[Age] = []
        self._waiting: dict[int, Job] = {}
        self._asked: set[int] = set()
        self._holders: set[int] = set()

    def __contains__(self, number: int) -> bool:
        """Whether a job stands in the queue."""
        return number in self._waiting

    @property
    def waiting(self) -> tuple[int, ...]:
        """Jobs that stand in the queue, oldest first."""
        return tuple(number for _, number in self._line)

    def adopt(self, job: Job) -> None:
        """Recover a job as it was."""
        if job.spec.needs_memory and job.memory is BufferState.HELD:
            self._holders.add(job.spec.id)

    def ask(self, job: Job) -> bool:
        """A job needs its memory: whether it is to be asked for now. Else it stands in the queue."""
        if self._line:
            self._wait(job)
            return False
        self._ask(job)
        return True

    def grant(self, job: Job) -> None:
        """A job has its memory."""
        self._forget(job)
        job.memory, job.lacks_memory = BufferState.HELD, False
        if job.spec.needs_memory:
            self._holders.add(job.spec.id)

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
        self._holders.discard(job.spec.id)
        return job.memory is BufferState.HELD and job.spec.needs_memory

    def next(self) -> int | None:
        """The head of the queue, to be asked for now; None where somebody was, or nobody waits."""
        if not self._line or self._asked:
            return None
        job = self._waiting[self._line[0][1]]
        self._ask(job)
        return job.spec.id

    def _ask(self, job: Job) -> None:
        job.memory = BufferState.ASKED
        self._asked.add(job.spec.id)

    def _wait(self, job: Job) -> None:
        job.memory, job.lacks_memory = BufferState.BLOCKED, True
        if job.spec.id not in self._waiting:
            self._waiting[job.spec.id] = job
            insort(self._line, job.age)

    def _forget(self, job: Job) -> None:
        self._asked.discard(job.spec.id)
        if self._waiting.pop(job.spec.id, None) is not None:
            del self._line[bisect_left(self._line, job.age)]
