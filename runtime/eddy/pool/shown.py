"""The pool's records as a board's API shows jobs, so that client and command line need not tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from eddy.api.schemas import Cancellation, Job, JobError, Kernel, Progress, Waiting
from eddy.core.jobs import JobState
from eddy.pool.records import CANCELLED, SUCCEEDED, PoolJob


def job_shown(job: PoolJob, told: Callable[[int], int]) -> Job:
    """The job object, with numbers of jobs as they are told. Its times are wall seconds since its arrival at the pool:
    boards have clocks of their own."""
    number = told(job.id)
    here = f"/v1/jobs/{number}"
    since = job.submitted_unix_s
    started, ended = job.started_unix_s, job.ended_unix_s
    names = job.parts[0].outputs if job.state == SUCCEEDED else {}
    ran = sum(part.ended_unix_s - part.started_unix_s for part in job.parts)
    waited = (started - since) if started is not None else 0.0
    asked = job.cancel_asked_unix_s
    cancelled = job.state == CANCELLED
    return Job(
        id=number,
        tenant=job.tenant,
        kind="kernel" if job.request.get("kernel") else "application",
        application=job.work,
        batch=job.batch,
        priority=int(job.request.get("priority", 1)),
        state=JobState(job.state),
        submitted_unix_s=since,
        arrival_s=0.0,
        deadline_s=job.deadline_s,
        started_s=None if started is None else started - since,
        ended_s=None if ended is None else ended - since,
        response_s=None if ended is None else ended - since,
        waiting_s=waited,
        waiting=Waiting(**dict.fromkeys(Waiting.model_fields, 0.0)),
        reconfiguring_s=0.0,
        running_s=ran,
        reconfigurations=0,
        reuses=0,
        preemptions=len(job.moves),
        progress=Progress(done=job.done, total=job.batch),
        error=JobError(**{"task": None, "item": None, **job.error}) if job.error else None,
        kernel=Kernel.model_validate(job.kernel) if job.kernel else None,
        outputs={name: f"{here}/outputs/{quote(name)}" for name in names},
        computed=all(part.computed for part in job.parts),
        form="",
        labels=dict(job.request.get("labels", {})),
        after=[told(each) for each in job.after],
        retries=None,
        retried=len(job.moves),
        late="end" if job.late_end else "continue",
        cancellation=None
        if asked is None
        else Cancellation(
            asked_unix_s=asked,
            effective_s=asked - since if cancelled else None,
            effective_unix_s=asked if cancelled else None,
        ),
        ended_unix_s=ended,
        array=None,
        links={"self": here, "events": f"{here}/events"},
    )


def explained(job: PoolJob, number: int) -> dict[str, Any]:
    """Why a job is where it is: `why` its last placement was decided on, and `moves` it made."""
    return {
        "id": number,
        "state": job.state,
        "board": job.board,
        "token": job.token,
        "given_bps": job.bps,
        "why": dict(job.why),
        "moves": [dict(move) for move in job.moves],
        "parts": [
            {
                "first": part.first,
                "items": part.items,
                "board": part.board,
                "started_unix_s": part.started_unix_s,
                "ended_unix_s": part.ended_unix_s,
                "sent_bytes": part.sent_bytes,
            }
            for part in job.parts
        ],
    }
