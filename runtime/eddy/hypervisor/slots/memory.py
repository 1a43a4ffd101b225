# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who has board memory, who has asked for it, and who waits for it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass

from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.job_spec import arena_bytes

Age = tuple[float, int]


@dataclass(frozen=True, slots=True)
class MemoryClaim:
    """What a job has, or has asked for.

    Attributes:
        bytes: How much of the arena.
        stays: Whether it runs nothing and is given back when its holder likes: a session's or a lease's.
    """

    tenant: str
    bytes: int
    stays: bool = False


class MemoryQueue:
    """Keeps the order in which jobs get memory: the tenant with the fewest jobs that have some comes first, and of a
    tenant's jobs the oldest, so that none starves, and nobody waits for all that another has begun.

    A job that was refused stands in the queue, and so does every one that asks while somebody of its tenant does. Only
    the next one is asked for, whenever somebody gave memory back.

    A job whose tenant holds so much that it would have more than its part waits for its own, and others pass it. Who
    holds nothing may ask for anything: what could never be had was refused before.

    Sessions and leases end when people like, not when their work is done. So all of them together, whoever's they are,
    have no more than one tenant's part, and the rest is left to jobs; one that would have more waits for others of its
    kind, and jobs of its tenant pass it too.

    Args:
        most: Bytes that the jobs of a tenant hold together at most; None for any number.
    """

    def __init__(self, most: Callable[[], int] | None = None) -> None:
        self._most = most
        self._lines: dict[str, list[Age]] = {}
        """By tenant: its jobs that wait, oldest first."""
        self._waiting: dict[int, Job] = {}
        self._asked: dict[int, MemoryClaim] = {}
        self._holders: dict[int, MemoryClaim] = {}
        """Jobs that have memory."""
        self._bytes: dict[str, int] = {}
        """By tenant: what its jobs have, or have asked for, together."""
        self._staying_bytes = 0
        """What sessions and leases have, or have asked for."""

    def __contains__(self, number: int) -> bool:
        """Whether a job stands in the queue."""
        return number in self._waiting

    @property
    def waiting(self) -> tuple[int, ...]:
        """Jobs that stand in the queue, oldest first."""
        return tuple(number for _, number in sorted(age for line in self._lines.values() for age in line))

    @property
    def held(self) -> dict[int, MemoryClaim]:
        """By job that has memory, or that it is asked for: how much."""
        return {**self._holders, **self._asked}

    @property
    def needed(self) -> dict[int, MemoryClaim]:
        """By job that stands in the queue, oldest first: how much it needs."""
        return {number: memory_claim(self._waiting[number]) for number in self.waiting}

    @property
    def most(self) -> int | None:
        """Bytes that the jobs of a tenant hold together at most; None for any number."""
        return None if self._most is None else self._most()

    def waits_for_its_own(self, job: Job) -> bool:
        """Whether a job's tenant would have more than its part with it."""
        return not self._fits(job)

    def adopt(self, job: Job) -> None:
        """Recover a job as it was."""
        if job.spec.needs_memory and job.memory is BufferState.HELD:
            self._hold(job)

    def request(self, job: Job) -> bool:
        """A job needs its memory: whether it is to be asked for now. Else it stands in the queue."""
        if not self._fits(job) or self._waits_for_stays(job) or self._comes_later(job):
            self._wait(job)
            return False
        self._ask(job)
        return True

    def mark_granted(self, job: Job) -> None:
        """A job has its memory."""
        self._forget(job)
        job.memory, job.lacks_memory = BufferState.HELD, False
        if job.spec.needs_memory:
            self._hold(job)

    def refuse(self, job: Job) -> bool:
        """There was not enough for a job: whether it may wait, because others will give some back."""
        self._take_back(job.spec.id)
        if self._holders:
            self._wait(job)
            return True
        job.memory = BufferState.NONE
        return False

    def cancel_request(self, job: Job) -> None:
        """What was asked for a job will not come."""
        self._take_back(job.spec.id)
        if job.memory is BufferState.ASKED:
            job.memory = BufferState.NONE

    def release_job(self, job: Job) -> bool:
        """A job has ended: whether it has memory to give back."""
        self._forget(job)
        self._count_bytes(self._holders.pop(job.spec.id, None), -1)
        return job.memory is BufferState.HELD and job.spec.needs_memory

    def next(self) -> int | None:
        """Who is next in the queue, to be asked for now; None where somebody was, or nobody waits."""
        if not self._lines or self._asked:
            return None
        heads = [(self._count(tenant), head) for tenant, head in self._fitting_heads()]
        if not heads:
            return None
        job = self._waiting[min(heads)[1][1]]
        self._ask(job)
        return job.spec.id

    def _ask(self, job: Job) -> None:
        job.memory = BufferState.ASKED
        asked = self._asked[job.spec.id] = memory_claim(job)
        self._count_bytes(asked, 1)

    def _wait(self, job: Job) -> None:
        job.memory, job.lacks_memory = BufferState.BLOCKED, True
        if job.spec.id not in self._waiting:
            self._waiting[job.spec.id] = job
            insort(self._lines.setdefault(job.spec.tenant, []), job.age)

    def _forget(self, job: Job) -> None:
        self._take_back(job.spec.id)
        if self._waiting.pop(job.spec.id, None) is not None:
            line = self._lines[job.spec.tenant]
            del line[bisect_left(line, job.age)]
            if not line:
                del self._lines[job.spec.tenant]

    def _count(self, tenant: str) -> int:
        """Jobs of a tenant that have memory."""
        return sum(each.tenant == tenant for each in self._holders.values())

    def _comes_later(self, job: Job) -> bool:
        """Whether somebody stands in the queue whom a job that comes now is not asked for before."""
        tenant = job.spec.tenant
        if self._head(self._lines.get(tenant, [])) is not None:
            return True
        counts = [self._count(each) for each, _ in self._fitting_heads()]
        return bool(counts) and self._count(tenant) >= min(counts)

    def _head(self, line: list[Age]) -> Age | None:
        """The first of a tenant's jobs that does not wait for sessions and leases of others."""
        return next((age for age in line if not self._waits_for_stays(self._waiting[age[1]])), None)

    def _fitting_heads(self) -> list[tuple[str, Age]]:
        """Tenants that wait, with the next of their jobs; but those that wait for memory of their own."""
        heads = [(tenant, self._head(line)) for tenant, line in self._lines.items()]
        return [(tenant, head) for tenant, head in heads if head is not None and self._fits(self._waiting[head[1]])]

    def _waits_for_stays(self, job: Job) -> bool:
        """Whether sessions and leases would have more than their part with this one, which is one of them."""
        held = memory_claim(job)
        if self._most is None or not held.stays or not self._staying_bytes:
            return False
        return self._staying_bytes + held.bytes > self._most()

    def _fits(self, job: Job) -> bool:
        """Whether a job's tenant would have no more than its part with it, or has nothing yet."""
        has = self._bytes.get(job.spec.tenant, 0)
        return self._most is None or not has or has + memory_claim(job).bytes <= self._most()

    def _hold(self, job: Job) -> None:
        self._count_bytes(self._holders.pop(job.spec.id, None), -1)
        held = self._holders[job.spec.id] = memory_claim(job)
        self._count_bytes(held, 1)

    def _take_back(self, number: int) -> None:
        """What was asked for a job is answered, or not wanted any more."""
        self._count_bytes(self._asked.pop(number, None), -1)

    def _count_bytes(self, held: MemoryClaim | None, times: int) -> None:
        if held is not None:
            self._staying_bytes += times * held.bytes * held.stays
            left = self._bytes.get(held.tenant, 0) + times * held.bytes
            if left:
                self._bytes[held.tenant] = left
            else:
                self._bytes.pop(held.tenant, None)


def memory_claim(job: Job) -> MemoryClaim:
    """What a job holds once it has its memory."""
    spec = job.spec
    return MemoryClaim(spec.tenant, arena_bytes(spec.application, spec.batch), not spec.application.tasks)
