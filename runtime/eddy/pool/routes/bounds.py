# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bounds of tenants over the whole pool, checked where a job is submitted, by whatever head.

A head that is about to accept jobs of a tenant with a bound *claims* them first, in an entry of the tenant's that is
changed only from the revision it was read at. What others have claimed counts as what is there, so two heads that are
asked at once do not both accept the last job.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from eddy.core.errors import QuotaExceeded
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.usage_accounts import NS, utc_day
from eddy.pool.records.record_json import NO_SENSE, parse_json

DAY_S = 86_400.0
CLAIMS = "claims."
"""What entries of claims begin with, in the bucket of keys, which heads alone may read."""
CLAIMED_S = 30.0
"""A claim counts for so long at most after a head has met it: the one that made it may have been killed."""
CLEARED_S = 2.0
"""Wall seconds to wait for claims of others, where they alone are why there is no room: most are jobs by then, or have
been refused."""
Claims = dict[str, tuple[int, float]]
"""Number of jobs of each claim, and wall time by its head's clock, which heads of an earlier release look at."""


class Bounds:
    """One head's checks.

    Args:
        mirror: What this head knows of its jobs.
        clock: Seconds that never jump. Claims are as old as it is that this head met them: dates of heads differ.
    """

    def __init__(self, link: Link, mirror: Mirror, clock: Callable[[], float] = time.monotonic) -> None:
        self._link, self._mirror, self._clock = link, mirror, clock
        self._met: dict[str, dict[str, float]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def check(self, tenant: PoolTenant, jobs: int = 1) -> None:
        """See that a tenant may submit jobs now.

        Raises:
            QuotaExceeded: It would have more jobs than it may.
        """
        await self._check_use(tenant)
        if tenant.max_jobs is not None:
            await self._mirror.wait_caught_up()
            if (has := self._has(tenant)) + jobs > tenant.max_jobs:
                raise _no_room(tenant.max_jobs, has, jobs)

    @contextlib.asynccontextmanager
    async def admit(self, tenant: PoolTenant, jobs: int = 1) -> AsyncIterator[None]:
        """Accept jobs inside the block.

        Raises:
            QuotaExceeded: It would have more jobs than it may.
        """
        await self._check_use(tenant)
        if tenant.max_jobs is None:
            yield
            return
        claim = secrets.token_hex(8)
        async with self._turns[tenant.id]:
            await self._claim(tenant, tenant.max_jobs, claim, jobs)
        try:
            yield
        finally:
            with contextlib.suppress(*UNDONE):
                await self._give_up(tenant.id, claim)

    async def _check_use(self, tenant: PoolTenant) -> None:
        """See that a tenant has something left of what it may have today.

        Raises:
            QuotaExceeded: It has had that much.
        """
        if tenant.max_slot_s is None and tenant.max_core_s is None:
            return
        await self._mirror.wait_caught_up()
        now_s = time.time()
        had = self._mirror.projection.usage_on(tenant.id, utc_day(now_s))
        for what, used_ns, most_s in (
            ("boards' places", had.slot_ns, tenant.max_slot_s),
            ("cores", had.core_ns, tenant.max_core_s),
        ):
            if most_s is not None and used_ns >= NS * most_s:
                left_s = math.ceil(DAY_S - now_s % DAY_S)
                message = (
                    f"You have had {used_ns / NS:.6g} s of {what} today (UTC), of {most_s:g}; it ends in {left_s} s."
                )
                raise QuotaExceeded(message, limit=most_s, asked=used_ns / NS, retry_after_s=left_s)

    async def _claim(self, tenant: PoolTenant, bound: int, claim: str, jobs: int) -> None:
        """Claim jobs of a tenant; what is claimed no more when the claims are read is a job by then, or nothing."""
        deadline = time.monotonic() + CLEARED_S
        while True:
            claims, revision = await self._read(tenant.id)
            await self._mirror.wait_caught_up()
            has, claimed = self._has(tenant), sum(count for count, _ in claims.values())
            if has + claimed + jobs <= bound:
                if await self._write(tenant.id, {**claims, claim: (jobs, time.time())}, revision):
                    return
            elif has + jobs > bound or time.monotonic() > deadline:
                raise _no_room(bound, has + claimed, jobs)
            else:
                await asyncio.sleep(0.02)

    async def _give_up(self, tenant: str, claim: str) -> None:
        while True:
            claims, revision = await self._read(tenant)
            if claims.pop(claim, None) is None or await self._write(tenant, claims, revision):
                return

    async def _read(self, tenant: str) -> tuple[Claims, int]:
        try:
            entry = await read_entry(self._link.keys, f"{CLAIMS}{tenant}")
        except KeyNotFoundError:
            self._met.pop(tenant, None)
            return {}, 0
        try:
            kept = {name: (int(count), float(at_s)) for name, (count, at_s) in parse_json(entry.value).items()}
        except NO_SENSE as wrong:  # it is written again by the next who claims
            self._link.troubles.record_unreadable("eddy_keys", f"{CLAIMS}{tenant}", str(wrong))
            return {}, int(entry.revision or 0)
        self._link.troubles.forget("eddy_keys", f"{CLAIMS}{tenant}")
        now_s, met = self._clock(), self._met.get(tenant, {})
        met = self._met[tenant] = {name: met.get(name, now_s) for name in kept}
        return {name: kept[name] for name, at_s in met.items() if now_s - at_s < CLAIMED_S}, int(entry.revision or 0)

    async def _write(self, tenant: str, claims: Claims, revision: int) -> bool:
        """Keep claims; false where another head changed them since they were read."""
        try:
            await self._link.keys.update(f"{CLAIMS}{tenant}", json.dumps(claims).encode(), last=revision)
        except KeyWrongLastSequenceError:
            return False
        return True

    def _has(self, tenant: PoolTenant) -> int:
        return self._mirror.jobs.count_tenant(tenant.id)


def _no_room(bound: int, has: int, jobs: int) -> QuotaExceeded:
    message = f"You have {has} jobs that have not ended, over all boards; the bound is {bound}."
    return QuotaExceeded(message, limit=bound, asked=has + jobs)
