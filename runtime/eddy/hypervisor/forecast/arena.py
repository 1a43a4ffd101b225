# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board's memory in a forecast, by sums: what is held, and by which jobs that wait for it it is had next.

Where buffers lie is left out: what fits by its size is taken to fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.hypervisor.slots.memory import MemoryClaim


@dataclass(frozen=True, slots=True)
class ArenaPicture:
    """Memory at one instant.

    Attributes:
        free: Bytes that nobody has.
        most: Bytes that the jobs of a tenant hold together at most.
        held: By job: what it has.
        waiting: By job that waits for memory: what it needs; oldest first.
    """

    free: int
    most: int
    held: Mapping[int, MemoryClaim]
    waiting: Mapping[int, MemoryClaim]

    def has_part(self, number: int) -> bool:
        """Whether a job that waits would have more than its tenant's part."""
        need = self.waiting[number]
        has = sum(each.bytes for each in self.held.values() if each.tenant == need.tenant)
        return has > 0 and has + need.bytes > self.most

    def with_waiting(self, number: int, need: MemoryClaim) -> ArenaPicture:
        """With a job that waits for memory more, the youngest."""
        return ArenaPicture(self.free, self.most, self.held, {**self.waiting, number: need})

    def must_wait(self, need: MemoryClaim) -> bool:
        """Whether a job that came now would have to wait."""
        has = sum(each.bytes for each in self.held.values() if each.tenant == need.tenant)
        return bool(need.bytes) and (need.bytes > self.free or (has > 0 and has + need.bytes > self.most))


@dataclass(slots=True)
class ArenaAhead:
    """Memory as it would go on.

    Attributes:
        free: Bytes that nobody has.
        most: Bytes that the jobs of a tenant hold together at most.
        held: By job: what it has.
        waiting: By job that waits: what it needs; oldest first.
    """

    free: int
    most: int
    held: dict[int, MemoryClaim] = field(default_factory=dict)
    waiting: dict[int, MemoryClaim] = field(default_factory=dict)

    @classmethod
    def of(cls, picture: ArenaPicture | None) -> ArenaAhead:
        """As it is now; without a picture nobody waits."""
        if picture is None:
            return cls(0, 0)
        return cls(picture.free, picture.most, dict(picture.held), dict(picture.waiting))

    def release(self, job: int) -> None:
        """A job gives back what it has."""
        gone = self.held.pop(job, None)
        if gone is not None:
            self.free += gone.bytes

    def allocate(self) -> list[int]:
        """Give memory until a job does not fit, first to tenants with the fewest that have some; answers which."""
        found = []
        while (number := self._next()) is not None and self.waiting[number].bytes <= self.free:
            self.held[number] = self.waiting.pop(number)
            self.free -= self.held[number].bytes
            found.append(number)
        return found

    def _next(self) -> int | None:
        """Who is next; who would have more than its tenant's part is passed."""
        jobs, has = dict[str, int](), dict[str, int]()
        for each in self.held.values():
            jobs[each.tenant] = jobs.get(each.tenant, 0) + 1
            has[each.tenant] = has.get(each.tenant, 0) + each.bytes
        heads: dict[str, int] = {}
        for number, each in self.waiting.items():
            heads.setdefault(each.tenant, number)
        fitting = [
            (jobs.get(tenant, 0), place, number)
            for place, (tenant, number) in enumerate(heads.items())
            if tenant not in has or has[tenant] + self.waiting[number].bytes <= self.most
        ]
        return min(fitting)[2] if fitting else None
