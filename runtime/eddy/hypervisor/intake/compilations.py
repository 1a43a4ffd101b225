# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compiles kernels before their jobs are accepted: a few at a time, and one for each tenant."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread

from eddy.core.records import JobRequest
from eddy.gpu.compilation.abandon import abandon_scope
from eddy.hypervisor.intake.intake import Intake, name_array_job
from eddy.hypervisor.jobs.work import Work

T = TypeVar("T")


async def run_abandonable(call: Callable[..., T], *arguments: object, limiter: anyio.CapacityLimiter) -> T:
    """Make a call in a thread; where the caller is cancelled, what the call started is ended first.

    Args:
        call: Work that heeds `eddy.gpu.compilation.abandon`.
        limiter: Places for such work; this one's is free once the call has ended.

    Raises:
        Exception: Whatever the call raises.
    """
    stop = threading.Event()
    outcome: list[T | Exception] = []

    def work() -> None:
        try:
            outcome.append(call(*arguments))
        except Exception as error:
            outcome.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(_set_when_cancelled, stop)
        with abandon_scope(stop):
            await anyio.to_thread.run_sync(work, limiter=limiter)
        group.cancel_scope.cancel()
    (found,) = outcome
    if isinstance(found, Exception):
        raise found
    return found


async def _set_when_cancelled(stop: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()


AT_ONCE = 2
"""Kernels that are compiled at the same time; more submissions wait for their turn, the others do not."""


class Compilations:
    """The compilations of all tenants.

    Args:
        intake: Makes the work of a request, which compiles its kernel.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._all = anyio.CapacityLimiter(AT_ONCE)
        self._of: dict[str, anyio.CapacityLimiter] = {}
        """By tenant: each has one kernel compiled at a time, so that none keeps the others waiting."""

    async def prepare(self, request: JobRequest) -> Work:
        """Make the work of a request. Where this is cancelled, the compiler ends and its place is free.

        Raises:
            EddyError: As `Intake.prepare` raises it.
        """
        async with self._place(request):
            return await run_abandonable(self._intake.prepare, request, limiter=self._all)

    async def prepare_array(self, requests: Sequence[JobRequest]) -> list[Work]:
        """Make the work of the jobs of an array, one after the other; all are of one tenant.

        Raises:
            EddyError: As `Intake.prepare` raises it, with the place in the array of the job that is wrong.
        """
        works = []
        async with self._place(requests[0]):
            for place, request in enumerate(requests):
                with name_array_job(place):
                    works.append(await run_abandonable(self._intake.prepare, request, limiter=self._all))
        return works

    async def run(self, tenant: str, call: Callable[..., T], *arguments: object) -> T:
        """Make a call that compiles for a tenant, in its turn. Where this is cancelled, the compiler ends."""
        async with self._place_of(tenant):
            return await run_abandonable(call, *arguments, limiter=self._all)

    def _place(self, request: JobRequest) -> anyio.CapacityLimiter:
        return self._place_of(request.tenant)

    def _place_of(self, tenant: str) -> anyio.CapacityLimiter:
        return self._of.setdefault(tenant, anyio.CapacityLimiter(1))
