# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays of jobs: accepted together or not at all, under an id that no job has."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence

from eddy.core.errors import Conflict, NotFound
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.core.submission_options import ArrayPlace
from eddy.store.db.database import Database
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import RECORD, dump_request, microseconds, text_hash
from eddy.store.job_tables.submissions import Check, Group, Submission, Submissions, new_record


class Arrays:
    """Arrays of jobs.

    Args:
        db: Where their jobs are kept.
        submissions: What takes their jobs in.
    """

    def __init__(self, db: Database, numbers: Numbers, submissions: Submissions) -> None:
        self._db, self._numbers, self._submissions = db, numbers, submissions

    def find_array(self, submissions: Sequence[Submission]) -> tuple[JobRecord, ...] | None:
        """The array that the idempotency key of these submissions already names, if any.

        Raises:
            Conflict: It was used for something else.
        """
        request = submissions[0].request
        found = self._submissions.keys.find_jobs([request]).get((request.tenant, request.idempotency_key))
        if found is None:
            return None
        body, first = found
        if body != _body(submissions) or first.asked.array is None:
            raise self._submissions.keys.key_taken_error(request.idempotency_key, first)
        return self.get(request.tenant, first.asked.array.id)

    def write(
        self, submissions: Sequence[Submission], arrival_s: float, check: Check = lambda each: each
    ) -> tuple[tuple[JobRecord, ...], bool]:
        """Accept an array; nobody is told of it before `settle` has returned.

        Args:
            submissions: Its jobs, of one tenant and under one idempotency key.
            arrival_s: Board time.
            check: Asked about each.

        Returns:
            Its jobs in order, and whether they are new.

        Raises:
            Conflict: The key was used for another request.
            QuotaExceeded: The tenant may not have so many jobs.
            EddyError: Whatever `check` raises about one; then there are none.
        """
        request = submissions[0].request
        with self._db.transaction(wait=False) as db:
            known = self.find_array(submissions)
            if known is not None:
                return known, False
            group = Group(arrival_s, self._submissions.next_id(), {}, [], [])
            array, size = group.number, len(submissions)
            self._submissions.checks.check_quota(request.tenant, size - 1)
            waits = self._submissions.checks.predecessors_of_each(request, size)
            for index, (submission, after) in enumerate(zip(submissions, waits, strict=True)):
                group.number += 1
                kept = check(submission)
                record = new_record(kept, group, after)
                asked = dataclasses.replace(record.asked, array=ArrayPlace(array, index, size))
                text = dump_request(submission.request)
                group.added.append((dataclasses.replace(record, asked=asked), text, kept))
            expected_s = [kept.slot_s for _, _, kept in group.added]
            self._submissions.checks.check_budget(request.tenant, sum(expected_s[:-1]))
            if request.idempotency_key:
                group.keys.append((request.tenant, request.idempotency_key, _body(submissions), array + 1))
            self._submissions.insert(db, group)
        return tuple(record for record, _, _ in group.added), True

    def owner(self, array: int) -> str | None:
        """Whose array it is; None where there is none of that id."""
        row = self._db.row("SELECT tenant FROM job WHERE array = ? LIMIT 1", array)
        return None if row is None else str(row["tenant"])

    def get(self, tenant: str, array: int) -> tuple[JobRecord, ...]:
        """The jobs of an array, in order; damaged ones are left out.

        Raises:
            NotFound: There is no such array of this tenant.
        """
        query = f"SELECT {RECORD} FROM job WHERE array = ? AND tenant = ? ORDER BY submitted_us, id"
        rows = self._db.rows(query, array, tenant)
        if not rows:
            raise self.not_found(array)
        return tuple(sorted(self._submissions.jobs.read_records(rows), key=lambda record: record.id))

    def not_found(self, array: int) -> NotFound:
        """Why an array cannot be had; the same for one that is not there, for another tenant's, and for a job."""
        told = self._numbers.job.public_id(array)
        return NotFound(
            f"There is no array {told}, or it was removed after its end; a job is shown by `eddy job`.",
            field="array",
            asked=told,
        )

    def states(self, tenant: str, array: int) -> dict[JobState, int]:
        """How many jobs of an array are in which state; those whose state cannot be read are left out.

        Raises:
            NotFound: There is no such array of this tenant.
        """
        query = "SELECT state, count(*) AS jobs FROM job WHERE array = ? AND tenant = ? GROUP BY state"
        rows = self._db.rows(query, array, tenant)
        if not rows:
            raise self.not_found(array)
        known = {state.value: state for state in JobState}
        return {known[row["state"]]: int(row["jobs"]) for row in rows if row["state"] in known}

    def size(self, tenant: str, array: int) -> int:
        """How many jobs an array has, those among them whose state cannot be read."""
        row = self._db.row("SELECT count(*) AS jobs FROM job WHERE array = ? AND tenant = ?", array, tenant)
        return 0 if row is None else int(row["jobs"])

    def max_running(self, array: int) -> int | None:
        """Most jobs of an array at once; None for any number."""
        row = self._db.row(f"SELECT {RECORD} FROM job WHERE array = ? LIMIT 1", array)
        if row is None:
            return None
        for record in self._submissions.jobs.read_records([row]):
            return record.asked.max_running
        rows = self._db.rows(f"SELECT {RECORD} FROM job WHERE array = ?", array)
        return next((record.asked.max_running for record in self._submissions.jobs.read_records(rows)), None)

    def request_cancel(self, tenant: str, array: int) -> tuple[int, ...]:
        """Note that all jobs of an array shall end that have not; answers which. It is durable once the store has
        settled (`Database.settle`).

        Raises:
            NotFound: There is no such array of this tenant.
            Conflict: All have ended, and none as cancelled.
        """
        with self._db.transaction(wait=False) as db:
            states = self.states(tenant, array)
            if all(state.is_final for state in states) and JobState.CANCELLED not in states:
                raise Conflict(
                    f"All jobs of array {self._numbers.job.public_id(array)} have ended: there is nothing to cancel.",
                    field="array",
                )
            rows = self._db.rows("SELECT id FROM job WHERE array = ? AND tenant = ? AND final = 0", array, tenant)
            values = microseconds(time.time()), array, tenant
            db.execute("UPDATE job SET cancel = ? WHERE array = ? AND tenant = ? AND final = 0 AND cancel = 0", values)
            return tuple(sorted(row["id"] for row in rows))


def _body(submissions: Sequence[Submission]) -> str:
    """What tells two arrays with the same idempotency key apart, and an array from a job."""
    return text_hash(json.dumps([dump_request(each.request) for each in submissions]))
