# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The reference: a FastAPI application whose routes do what HTTP costs anyone here, and nothing else.

`POST /v1/jobs` validates the very body `eddy serve` takes and answers a job, but keeps nothing; `GET /empty` answers an
empty object. What `eddy serve` takes beyond that is what storing and scheduling cost.
"""

from __future__ import annotations

import json
import socket

import uvicorn
from eddy.api.answers.rendering import job_answer
from eddy.api.answers.schemas import Job
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.core.jobs import JobState
from eddy.core.numbering import Numbering
from eddy.core.records import JobRecord
from eddy.store.db.numbers import Numbers
from fastapi import FastAPI

app = FastAPI()
_RECORD = JobRecord(1, "operator", "none", 1, 1, JobState.QUEUED, 0.0, 0.0)
_NUMBERS = Numbers(Numbering(b"reference", 12), Numbering(b"reference", 15))


@app.post("/v1/jobs", status_code=202, response_model=Job)
async def submit(body: JobSubmission) -> Job:
    """Validate, and answer a job."""
    return job_answer(_RECORD, _NUMBERS, {})


@app.get("/empty")
async def empty() -> dict[str, str]:
    """Nothing."""
    return {}


def main() -> None:
    """Serve on a free port, which is printed."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        print(json.dumps({"port": str(listener.getsockname()[1])}), flush=True)
        # As it has been since the first measurement, whatever parsers and loops are installed: shares stay comparable.
        config = uvicorn.Config(app, http="h11", loop="asyncio", log_level="error", access_log=False)
        server = uvicorn.Server(config)
        server.run(sockets=[listener])


if __name__ == "__main__":
    main()
