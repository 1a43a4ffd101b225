# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Room for outputs: beyond a quota of disk, those of the jobs that ended first go.

Only outputs and logs of jobs that have ended and are not held go, a job's all together; jobs, events and accounts
stay, and so does every blob. First the rows go and the record says so, in one transaction, then the files: what a
crash leaves between the two is swept at the next start.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import OutputsCollected, RecordDamaged
from eddy.core.records import JobRecord
from eddy.store.bytes.blobs import check_summable
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import ResultRow, dump_record, load_record
from eddy.store.disk import files
from eddy.store.disk.names import output_name

KEEP = 0.9
"""Share of the quota that is left, so that not every job that ends takes another one's outputs."""
BATCH = 100
"""Jobs whose outputs go in one transaction: others wait for it."""
MAX_NAMED = 5000
"""Jobs that are named by one look: it reads all rows of outputs, 0.2 s of 100,000."""
_OLDEST = """
    SELECT result.job AS job, sum(result.bytes) AS bytes,
        (SELECT max(seq) FROM event WHERE event.job = result.job) AS ended
    FROM result JOIN job ON job.id = result.job WHERE job.final = 1 AND job.id NOT IN (SELECT job FROM held)
    GROUP BY result.job ORDER BY ended, result.job LIMIT ?
"""
_FREE = "SELECT id, record FROM job WHERE id = ? AND final = 1 AND id NOT IN (SELECT job FROM held)"
"""One that may have been held since it was named."""


@dataclass(frozen=True, slots=True)
class EvictionCandidate:
    """A job whose outputs are to go."""

    job: int
    size_bytes: int


class Retention:
    """What outputs take of the disk, and gives it back.

    Args:
        db: Whose rows name them.
    """

    def __init__(self, db: Database, outputs: Path) -> None:
        self._db, self._outputs = db, outputs
        self._output_bytes = self.counted_bytes()

    def counted_bytes(self) -> int:
        """Bytes of outputs and logs that rows name, counted now."""
        (row,) = self._db.rows(f"SELECT coalesce(sum(bytes), 0) AS bytes FROM result WHERE {check_summable('bytes')}")
        return int(row["bytes"])

    def note(self, results: Iterable[ResultRow]) -> None:
        """Rows of outputs were written, in a transaction that is committed."""
        self._output_bytes += sum(row[4] for row in results)

    @property
    def kept_bytes(self) -> int:
        """Bytes of outputs and logs on disk."""
        return self._output_bytes

    def select_outputs(self, quota_bytes: int) -> tuple[EvictionCandidate, ...]:
        """Whose outputs are to go, so that there is room again; none where the quota is not reached.

        Args:
            quota_bytes: Most bytes outputs may have; 0 for any number.

        Returns:
            At most `MAX_NAMED` jobs, in the order they ended: ask again once theirs are gone.
        """
        if not quota_bytes or self._output_bytes <= quota_bytes:
            return ()
        excess, found = self._output_bytes - int(quota_bytes * KEEP), list[EvictionCandidate]()
        for row in self._db.rows(_OLDEST, MAX_NAMED):
            if excess <= 0:
                break
            found.append(EvictionCandidate(row["job"], row["bytes"]))
            excess -= row["bytes"]
        return tuple(found)

    def collect(self, jobs: Sequence[EvictionCandidate]) -> int:
        """Remove the outputs and logs of jobs that have ended; answers how many bytes that gave back.

        Raises:
            StorageFailed: It cannot be written; what went before is said by the jobs' records.
        """
        return sum(self._collect(jobs[begin : begin + BATCH]) for begin in range(0, len(jobs), BATCH))

    def _collect(self, jobs: Sequence[EvictionCandidate]) -> int:
        now_s, gone, freed = time.time(), list[str](), 0
        with self._db.transaction() as db:
            for leaving in jobs:
                row = self._db.row(_FREE, leaving.job)
                rows = self._db.rows("SELECT name, bytes FROM result WHERE job = ?", leaving.job)
                if row is None or not rows:
                    continue
                try:
                    known = load_record(row["record"])
                except RecordDamaged as error:  # a record that cannot say so keeps its outputs
                    self._db.damage.note(RecordKind.JOB, leaving.job, str(error.details["how"]))
                    continue
                record = dataclasses.replace(known, collected_unix_s=now_s)
                db.execute("UPDATE job SET record = ? WHERE id = ?", (dump_record(record), leaving.job))
                db.execute("DELETE FROM result WHERE job = ?", (leaving.job,))
                gone += {output_name(leaving.job, each["name"]) for each in rows}
                freed += sum(each["bytes"] for each in rows)
            self._db.after_commit(lambda: self.mark_freed(freed))
        for name in gone:
            files.remove_unnamed(self._outputs / name)
        return freed

    def mark_freed(self, freed: int) -> None:
        """So many bytes are gone, in a transaction that is committed."""
        self._output_bytes -= freed


def require_outputs(record: JobRecord, numbers: Numbers) -> None:
    """Check that what a job left was not removed.

    Raises:
        OutputsCollected: It was.
    """
    if record.collected_unix_s is not None:
        day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.collected_unix_s))
        told = numbers.job.public_id(record.id)
        raise OutputsCollected(
            f"the outputs of job {told} were removed on {day} to make room: submit it again to compute them again",
            job=told,
            collected_unix_s=record.collected_unix_s,
        )
