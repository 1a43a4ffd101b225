# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Idempotency keys: which job a key names, so that a request that comes twice is one job."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from eddy.core.errors import Conflict, NotFound
from eddy.core.records import JobRecord, JobRequest
from eddy.store.db.damage import RecordKind
from eddy.store.db.database import Database, wanted
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import dump_request, text_hash
from eddy.store.job_tables.jobs import JobTable

MOST_KEYS = 400
"""Keys that are looked up by one statement."""
KnownKeys = dict[tuple[str, str], tuple[str, JobRecord]]
"""Body's hash and job, by tenant and key."""


class IdempotencyKeys:
    """Keys that were used.

    Args:
        db: Where they are kept.
        numbers: How jobs are told.
        jobs: All jobs.
    """

    def __init__(self, db: Database, numbers: Numbers, jobs: JobTable) -> None:
        self._db, self._numbers, self._jobs = db, numbers, jobs

    def find_jobs(self, requests: Iterable[JobRequest]) -> KnownKeys:
        """The jobs that the keys of requests name already."""
        keys = sorted({(r.tenant, r.idempotency_key) for r in requests if r.idempotency_key})
        found: KnownKeys = {}
        for begin in range(0, len(keys), MOST_KEYS):
            part = keys[begin : begin + MOST_KEYS]
            table = "wanted CROSS JOIN idempotency ON tenant = first AND key = second"
            query = f"{wanted(len(part))} SELECT tenant, key, body, job FROM {table}"
            for row in self._db.rows(query, *(text for key in part for text in key)):
                job = self._job(row)
                if job is not None:
                    found[row["tenant"], row["key"]] = row["body"], job
        return found

    def _job(self, row: sqlite3.Row) -> JobRecord | None:
        """The job a key names; None where it was removed meanwhile, and the key with it.

        Raises:
            RecordDamaged: That cannot be read; another job under the key would perhaps be one too many.
        """
        name = f"{row['key']!r} of tenant {row['tenant']}"
        if not isinstance(row["body"], str) or type(row["job"]) is not int:
            raise self._db.damage.note(RecordKind.SUBMISSION, name, "it names no job")
        try:
            return self._jobs.get(row["tenant"], row["job"])
        except NotFound as error:
            still = "SELECT 1 FROM idempotency WHERE tenant = ? AND key = ? AND job = ?"
            if not self._db.rows(still, row["tenant"], row["key"], row["job"]):
                return None
            raise self._db.damage.note(RecordKind.SUBMISSION, name, "the job it names is not there") from error

    def find_job(self, request: JobRequest) -> JobRecord | None:
        """The job a request's key already names, if any.

        Raises:
            Conflict: It was used for another request.
        """
        found = self.find_jobs([request]).get((request.tenant, request.idempotency_key))
        return None if found is None else self.find_same_request(request, text_hash(dump_request(request)), *found)

    def find_same_request(self, request: JobRequest, body: str, known: str, record: JobRecord) -> JobRecord:
        """The job a key names, where it was used for this very request.

        Args:
            request: What is asked for.
            body: Hash of its text.
            known: Hash of the text of the request it was used for.
            record: Its job.

        Raises:
            Conflict: It was used for another request.
        """
        if known == body:
            return record
        raise self.key_taken_error(request.idempotency_key, record)

    def key_taken_error(self, key: str, record: JobRecord) -> Conflict:
        """Why a key cannot be used: it names another job."""
        job = self._numbers.job.public_id(record.id)
        message = f"idempotency key {key!r} was used for another request (job {job}): use a new key"
        return Conflict(message, field="Idempotency-Key", job=job)
