# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that have ended are kept within the bounds the operator gave, and tenants that are removed go, while the server
works: a step at a time, with as long a rest after each, so that nobody who writes waits for more than one step."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator

import anyio
import anyio.to_thread
import structlog

from eddy.api.dependencies.context import Context
from eddy.core.clock_jumps import ClockJumpDetector
from eddy.core.errors import EddyError, StorageFailed

PERIOD_S = 2.0
"""Wall seconds between two looks."""
NOTE_S = 3600.0
"""Wall seconds between two entries of the audit log about jobs that go by themselves: it only grows."""
BELIEVED_S = 3600.0
"""Wall seconds after a jump of the wall clock before jobs go because of their age: one set too far ahead by mistake is
set right meanwhile."""
CANCEL_S = 10.0
"""Wall seconds for which a board is waited for that is to end a job of a tenant that is removed."""
_log = structlog.get_logger("eddy.api")


class PurgeService:
    """What keeps jobs within bounds, and removes tenants.

    Args:
        wall_s: Seconds since 1970.
        steady_s: Seconds that never jump.
    """

    def __init__(
        self,
        context: Context,
        wall_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context, self._steady_s = context, steady_s
        self._clock = ClockJumpDetector(wall_s, steady_s)
        self._believed_s = steady_s()
        """When ages are believed again."""
        self._noted: tuple[float, int] | None = None
        """When jobs that go were last noted, and how many had gone in all by then."""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self.purge_excess()
            except EddyError as error:  # the store says so too, and is asked again
                _log.warning("jobs cannot be removed", code=error.code, cause=error.message)
            await anyio.sleep(PERIOD_S)

    async def purge_excess(self) -> None:
        """Remove what is too much now.

        Raises:
            StorageFailed: The disk refused; what is gone is gone, what is not is whole.
        """
        store, bounds = self._context.store, self._context.settings.retention
        if self._clock.measure_jump():
            self._believed_s = self._steady_s() + BELIEVED_S
        if self._steady_s() < self._believed_s:
            bounds = dataclasses.replace(bounds, max_age_s=0.0)
        if await anyio.to_thread.run_sync(store.purge.is_due, bounds):
            await anyio.to_thread.run_sync(self._note)
            await _taken(self._context.store.purge.purge_excess(bounds))
        for tenant in store.tenants.list_leaving():
            await self._remove(tenant)
        while await anyio.to_thread.run_sync(self._context.store.database.give_back):
            await anyio.sleep(0)

    def _note(self) -> None:
        """Note that jobs are about to go: the first time, and every `NOTE_S` if any have gone since. How many those are
        is what `before` grew by."""
        context, now_s, before = self._context, time.monotonic(), self._context.store.purge.count_purged()
        if self._noted is not None and (now_s < self._noted[0] + NOTE_S or before == self._noted[1]):
            return
        bounds = context.settings.retention
        facts = {
            "before": before,
            "retention_age_s": bounds.max_age_s,
            "retention_jobs": bounds.max_jobs,
            "retention_jobs_per_tenant": bounds.max_jobs_per_tenant,
        }
        context.store.audit.note(context.hasher.hash, "", "", "purge-jobs", facts)
        self._noted = now_s, before

    async def _remove(self, tenant: str) -> None:
        """End what a tenant has under way, and remove what is left of it."""
        context = self._context
        if context.hypervisor.price is not None:
            context.hypervisor.price.history.forget(tenant)
        for job in await anyio.to_thread.run_sync(context.store.jobs.unfinished_of, tenant):
            with anyio.move_on_after(CANCEL_S):
                try:
                    await context.hypervisor.cancel(tenant, job)
                except StorageFailed:
                    raise
                except EddyError as error:  # it has just ended, or the board is away
                    _log.info("a job of a tenant that is removed is not ended yet", cause=error.message)
        await _taken(context.store.removal.steps(tenant))
        if tenant not in context.store.tenants.list_leaving():
            _log.info("a tenant is gone", tenant=tenant)


async def _taken(steps: Iterator[int | None]) -> None:
    """Take steps, each in a thread, with as long a rest after each as it took."""
    over = object()
    while True:
        began_s = time.monotonic()
        if await anyio.to_thread.run_sync(next, steps, over) is over:
            return
        await anyio.sleep(time.monotonic() - began_s)
