# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/pool/timeline`: what every board of a pool did, over wall time."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query

from eddy.api.request_bodies.numbers import Decimal
from eddy.pool.records.records import RUNNING, PoolJob
from eddy.pool.routes.context import Caller, Parts

router = APIRouter(prefix="/v1/pool", tags=["jobs"])
ENDED = 200
"""Jobs that ended last that are looked at."""
_Last = Annotated[Decimal, Query(ge=1, le=7 * 86_400, description="Wall seconds to look back.")]


@router.get("/timeline")
async def show_timeline(parts: Parts, caller: Caller, last_s: _Last = 3600) -> Any:
    """Parts that boards ran, and jobs that were taken from them; of a tenant's view its own.

    Of jobs that have ended, the last 200 are looked at.
    """
    now_s = time.time()
    since_s, mirror = now_s - last_s, parts.lead.mirror
    jobs = [job for job in mirror.jobs.values() if caller.admin or job.tenant == caller.id]
    jobs += mirror.projection.last_ended(None if caller.admin else caller.id, ENDED)
    ran = [
        {
            **_about(parts.numbers.job.public_id(job.id), job),
            "board": part.board,
            "first": part.first,
            "items": part.items,
            "started_unix_s": part.started_unix_s,
            "ended_unix_s": part.ended_unix_s,
            "sent_bytes": part.sent_bytes,
        }
        for job in jobs
        for part in job.parts
        if part.ended_unix_s >= since_s
    ]
    moved = [
        {**_about(parts.numbers.job.public_id(job.id), job), **move}
        for job in jobs
        for move in job.moves
        if move["at_unix_s"] >= since_s
    ]
    return {
        "now_unix_s": now_s,
        "since_unix_s": since_s,
        "boards": sorted(mirror.boards),
        "parts": sorted(ran, key=lambda part: (part["started_unix_s"], part["job"])),
        "running": [
            {**_about(parts.numbers.job.public_id(job.id), job), "board": job.board}
            for job in jobs
            if job.state == RUNNING
        ],
        "moves": sorted(moved, key=lambda move: (move["at_unix_s"], move["job"])),
    }


def _about(number: int, job: PoolJob) -> dict[str, Any]:
    return {"job": number, "tenant": job.tenant, "work": job.work}
