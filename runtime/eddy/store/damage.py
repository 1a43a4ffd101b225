"""What becomes of a job whose row is damaged."""

from __future__ import annotations

import logging

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.store.database import Database
from eddy.store.rows import INSERT_EVENTS, dump_record, event_values

_log = logging.getLogger(__name__)


def give_up(database: Database, number: int, told: int, why: str) -> None:
    """End a job whose row cannot be read, with a record that can; why is the operator's matter, and in the log, where
    the job is called as it is `told`."""
    now_s, words = 0.0, "what the server kept of this job is damaged; its log has the cause: submit the job again"
    with database.transaction() as db:
        read = "SELECT CAST(tenant AS BLOB), CAST(state AS BLOB) FROM job WHERE id = ?"
        tenant, state = db.execute(read, (number,)).fetchone()
        known = JobRecord(
            id=number,
            tenant=tenant.decode(errors="replace"),
            application="unknown",
            batch=1,
            priority=1,
            state=state_before(state),
            submitted_unix_s=0.0,
            arrival_s=now_s,
        )
        record = known.failed(now_s, "storage-damaged", words)
        db.execute(
            "UPDATE job SET state = ?, final = 1, ended_us = 0, request = '{}', record = ?, snapshot = '{}'"
            " WHERE id = ?",
            (record.state.value, dump_record(record), number),
        )
        event = JobEvent(0, number, record.tenant, now_s, JobEventKind.STATE, record.state, detail=words)
        values = event_values(event)
        db.execute(f"{INSERT_EVENTS} VALUES ({', '.join('?' * len(values))})", values)
    _log.error("job %d cannot go on: %s", told, why, extra={"job": told})


def state_before(written: bytes) -> JobState:
    """The state a job was in that had not ended; of one whose row does not say so, the first."""
    found = next((state for state in JobState if state.value.encode() == written), JobState.QUEUED)
    return JobState.QUEUED if found.is_final else found
