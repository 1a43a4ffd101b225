"""What becomes of a job that had not ended and whose row is damaged."""

from __future__ import annotations

import logging
import time

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.store.db.database import Database, insert
from eddy.store.db.rows import INSERT_EVENTS, dump_record, dump_request, event_values

_log = logging.getLogger(__name__)


def give_up_job(database: Database, number: int, told: int, why: str) -> None:
    """End a job whose row cannot be read, with a record that can; why is the operator's matter, and in the log, where
    the job is called as it is `told`."""
    now_s, words = 0.0, "what the server kept of this job is damaged; its log has the cause: submit the job again"
    with database.transaction() as db:
        when = "iif(typeof(submitted_us) = 'integer', submitted_us, 0)"
        read = f"SELECT CAST(tenant AS BLOB), CAST(state AS BLOB), {when} FROM job WHERE id = ?"
        tenant, state, submitted_us = db.execute(read, (number,)).fetchone()
        known = JobRecord(
            id=number,
            tenant=(tenant or b"").decode(errors="replace"),
            application="unknown",
            batch=1,
            priority=1,
            state=state_before(state),
            submitted_unix_s=submitted_us / 1e6,
            arrival_s=now_s,
        )
        record = known.failed(now_s, "storage-damaged", words)
        request = dump_request(JobRequest(record.tenant, record.application))
        closed_us = round(time.time() * 1e6)
        values = (
            record.tenant,
            record.state.value,
            closed_us,
            request,
            dump_record(record),
            record.application,
            number,
        )
        db.execute(
            "UPDATE job SET tenant = ?, state = ?, final = 1, cancel = 0, ended_us = 0, closed_us = ?, request = ?,"
            " record = ?, snapshot = '{}', application = ?, array = iif(typeof(array) = 'integer', array, NULL),"
            f" submitted_us = {when} WHERE id = ?",
            values,
        )
        event = JobEvent(0, number, record.tenant, now_s, JobEventKind.STATE, record.state, detail=words)
        insert(db, INSERT_EVENTS, [event_values(event)])
    _log.error("job %d cannot continue: %s", told, why, extra={"job": told})


def state_before(written: bytes | None) -> JobState:
    """The state a job was in that had not ended; of one whose row does not say so, the first."""
    found = next((state for state in JobState if state.value.encode() == written), JobState.QUEUED)
    return JobState.QUEUED if found.is_final else found
