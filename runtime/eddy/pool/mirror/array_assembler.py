# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of arrays of jobs as they come, one by one: none counts before all are there."""

from __future__ import annotations

from eddy.pool.records.records import PoolJob


class ArrayAssembler:
    """Holds records of arrays back until they are whole. The first job's record is written last, and says so."""

    def __init__(self) -> None:
        self._whole: set[int] = set()
        self._held: dict[int, dict[int, PoolJob]] = {}

    def add_record(self, job: PoolJob) -> tuple[PoolJob, ...]:
        """A record came, perhaps again; answers those that count from now on, the first of an array before the others.

        Args:
            job: The record. Of an array that is not whole the latest of each job is held.
        """
        if self.is_accepted(job):
            return (job,)
        assert job.array is not None
        if job.array.index:
            self._held.setdefault(job.array.id, {})[job.id] = job
            return ()
        self._whole.add(job.array.id)
        return (job, *self._held.pop(job.array.id, {}).values())

    def is_accepted(self, job: PoolJob) -> bool:
        """Whether a record is a job's that was accepted: one of an array is not before all of them are there."""
        return job.array is None or job.array.id in self._whole

    def forget(self, array: int) -> None:
        """The records of all jobs of an array are gone."""
        self._whole.discard(array)
        self._held.pop(array, None)
