# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How many bytes records of jobs take, by tenant: nothing else bounds what a tenant's submissions leave on the disk."""

from __future__ import annotations

from collections import Counter

from eddy.pool.records.records import PoolJob

ENTRY_BYTES = 512
"""What a job takes beside its record: the entry of its idempotency key, and what a server adds to both."""


class RecordBytes:
    """Counts records as they come and change.

    Attributes:
        total: Of all tenants.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: Counter[str] = Counter()
        self._open: dict[int, int] = {}
        """Of jobs that have not ended."""

    def add_record(self, job: PoolJob, size_bytes: int, news: bool) -> None:
        """A record is new, or changed.

        Args:
            job: It.
            size_bytes: As it is kept.
            news: Whether it was written since those that were there were read.
        """
        known = self._open.pop(job.id, None)
        if known is None and news and job.collected_unix_s is not None:
            return  # it was counted when it ended
        if not job.is_ended:
            self._open[job.id] = size_bytes
        more = size_bytes - known if known is not None else size_bytes + ENTRY_BYTES
        self._of[job.tenant] += more
        self.total += more

    def remove_record(self, job: PoolJob) -> None:
        """The record of a job that had not ended was taken away."""
        if (known := self._open.pop(job.id, None)) is not None:
            self._of[job.tenant] -= known + ENTRY_BYTES
            self.total -= known + ENTRY_BYTES

    def remove_ended(self, tenant: str, size_bytes: int) -> None:
        """The record of a job that had ended was taken away."""
        self._of[tenant] -= size_bytes + ENTRY_BYTES
        self.total -= size_bytes + ENTRY_BYTES

    def tenant_bytes(self, tenant: str) -> int:
        """What a tenant's take."""
        return self._of[tenant]
