# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant of a pool is removed: its keys end, its jobs are cancelled, and its bytes and events go.

Each step may be done again, so who asks again goes on where a head ended in between. The records of its jobs, which say
what was asked for and when, stay, as the accounts of use and the audit log of a board do; so does its entry, which
keeps its name from being given to another tenant.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time

from eddy.core.errors import Conflict, NotFound
from eddy.pool.connection.streams import EVENTS
from eddy.pool.records.records import PoolJob
from eddy.pool.routes.context import HeadParts
from eddy.store.account_tables.tenants import revoke_after
from eddy.store.job_tables.listing import JobFilter

AT_ONCE = 500
"""Jobs that are looked at together."""


async def check_removable(parts: HeadParts, name: str, cancel: bool) -> list[int]:
    """See that a tenant may be removed; answers which jobs of it have not ended.

    Args:
        cancel: Whether it may have such jobs.

    Raises:
        Conflict: It has, and these are not to be cancelled.
    """
    await parts.lead.mirror.wait_caught_up()
    unfinished = [job.id for job in list(parts.lead.mirror.jobs.values()) if job.tenant == name]
    if unfinished and not cancel:
        raise Conflict(
            f"Tenant {name} has {len(unfinished)} jobs that have not ended: wait for them, or have them cancelled"
            " (`cancel=true`, `eddy tenant remove --cancel`).",
            field="cancel",
            asked=name,
            jobs=len(unfinished),
        )
    return unfinished


async def remove_tenant(parts: HeadParts, name: str, cancel: bool) -> int:
    """Remove a tenant as far as it goes now; answers how many of its jobs had not ended.

    Args:
        cancel: Whether it may have jobs that have not ended.

    Raises:
        NotFound: There is none of that name.
        Conflict: It has jobs that have not ended, and these are not to be cancelled.
    """
    tenant = await parts.tenants.get(name)
    unfinished = await check_removable(parts, name, cancel)
    if not tenant.removed_unix_s:
        await parts.tenants.change(name, removed_unix_s=time.time(), display_name="")
    await _end_keys(parts, name)
    for number in unfinished:
        with contextlib.suppress(Conflict):  # it has just ended
            await parts.table.change(number, _cancelled)
    await _remove_bytes(parts, name)
    await parts.link.js.purge_stream(EVENTS, subject=f"eddy.events.{name}.*")
    return len(unfinished)


async def _end_keys(parts: HeadParts, name: str) -> None:
    async with parts.keys.changing():
        now_s = time.time()
        for key in await parts.keys.all(name):
            await parts.keys.change(key, lambda now: dataclasses.replace(revoke_after(now, now_s), label=""))


def _cancelled(job: PoolJob) -> PoolJob:
    return job if job.is_ended else job.cancelled(time.time())


async def _remove_bytes(parts: HeadParts, name: str) -> None:
    """Remove blobs and outputs; records of jobs that left some say so."""
    wanted, place = JobFilter(name), None
    while jobs := parts.lead.mirror.projection.page(wanted, place, AT_ONCE):
        place = jobs[-1][0]
        for (_, number), _ in jobs:
            with contextlib.suppress(Conflict, NotFound):
                await parts.table.change(number, lambda job: job.discard_outputs(time.time()))
    account = await parts.link.accounts.of(name)
    await account.wait_caught_up()
    for sha, references in list(account.blobs.items()):
        for reference in [each for each in references if account.is_referenced(sha, each)]:
            await parts.blobs.release(name, sha, reference)
