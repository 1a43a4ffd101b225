# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Outputs are kept within the quota of disk the operator gave them, while the server works."""

from __future__ import annotations

import anyio
import anyio.to_thread
import structlog

from eddy.api.dependencies.context import Context
from eddy.core.errors import StorageFailed

PERIOD_S, LONG_S = 2.0, 60.0
"""Wall seconds between two looks while there is room, which compare two numbers; and where none could be made."""
_log = structlog.get_logger("eddy.api")


async def keep_within_quota(context: Context) -> None:
    """Remove outputs whenever there are more than the settings allow, until cancelled."""
    while True:
        room = False
        try:
            room = await anyio.to_thread.run_sync(collect, context)
        except StorageFailed as error:  # the store says so too, and is asked again
            _log.warning("outputs cannot be removed", code=error.code, cause=error.message)
        await anyio.sleep(PERIOD_S if room else LONG_S)


def collect(context: Context) -> bool:
    """Remove outputs of the jobs that ended first until there is room, noted in the audit log before it is done;
    answers whether there is.

    Raises:
        StorageFailed: The disk refused.
    """
    store, quota = context.store, context.settings.max_output_bytes
    while leaving := store.retention.select_outputs(quota):
        jobs = [each.job for each in leaving]
        size = sum(each.size_bytes for each in leaving)
        first, last = store.numbers.job.public_id(jobs[0]), store.numbers.job.public_id(jobs[-1])
        facts = {"jobs": len(jobs), "first": first, "last": last, "bytes": size, "quota": quota}
        context.store.audit.note(context.hasher.hash, "", "", "collect-outputs", facts)
        freed = context.store.retention.collect(leaving)
        done, gone = context.collected
        context.collected = done + len(jobs), gone + freed
        _log.info("outputs removed to make room", **facts)
        if not freed:
            break
    if quota and store.retention.kept_bytes > quota:
        message = "outputs that are held, or of jobs that have not ended, have more than --max-output-bytes"
        _log.warning(message, bytes=store.retention.kept_bytes, quota=quota)
        return False
    return True
