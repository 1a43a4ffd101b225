"""Which jobs and arrays others wait for that have not ended: those are kept, however long ago they ended themselves."""

from __future__ import annotations

from collections import Counter

from eddy.core.records import JobRecord


class DependencyIndex:
    """What is waited for, kept as jobs come and go; changed within the turn of who writes, as what it is of is."""

    def __init__(self) -> None:
        self._by_job: dict[int, tuple[int, ...]] = {}
        self._counts: Counter[int] = Counter()

    def note(self, record: JobRecord) -> None:
        """A job was accepted."""
        if record.asked.after and record.id not in self._by_job:
            self._by_job[record.id] = named = tuple(each.id for each in record.asked.after)
            self._counts.update(named)

    def drop(self, job: int) -> None:
        """A job has ended; nothing where it waited for none."""
        for each in self._by_job.pop(job, ()):
            self._counts[each] -= 1
            if not self._counts[each]:
                del self._counts[each]

    def __contains__(self, number: int) -> bool:
        """Whether somebody waits for the job or array of this id."""
        return number in self._counts
