"""Estimates for answers about jobs that were asked for something else: as far as they are at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddy.api.context import Context
from eddy.core.records import JobRecord
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.hypervisor.forecast.outlook import QueueOutlook

PATIENCE_S = 0.25
"""Wall seconds an answer waits for estimates; where the board keeps the engine longer, it has the last ones."""


async def estimates_of(
    context: Context, records: Iterable[JobRecord], need: int | None = None
) -> Mapping[int, JobEstimate]:
    """What jobs are told, by id; those that have ended, and those nothing can be told, are not in it.

    Args:
        context: The server's.
        records: Of jobs.
        need: A job that should be in it, though it came just now.
    """
    waiting = [record.id for record in records if not record.state.is_final]
    outlook = await outlook_of(context, need) if waiting else None
    if outlook is None:
        return {}
    return {job: estimate for job in waiting if (estimate := outlook.of(job)) is not None}


async def outlook_of(context: Context, need: int | None = None) -> QueueOutlook | None:
    """What is expected of all jobs, or was a while ago; None where nothing is under way, or nothing was ever said.

    Args:
        context: The server's.
        need: A job that should be in it, though it came just now.
    """
    if not context.ready or context.hypervisor.away or not any(context.store.jobs.unfinished_by_state().values()):
        return None
    return await context.hypervisor.estimates_at_hand(need, PATIENCE_S)
