# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels are compiled a few at a time, one for each tenant."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

import anyio
import anyio.to_thread
import pytest
from eddy.core.errors import InvalidRequest
from eddy.core.records import KERNEL, JobRequest
from eddy.hypervisor.intake.compilations import AT_ONCE, Compilations
from eddy.hypervisor.intake.intake import Intake
from eddy.hypervisor.jobs.work import Work

WORK = cast(Work, object())


class Compiler:
    """Compiles for as long as it is told to, and notes who is compiled for."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.changed = threading.Condition()
        self.go = threading.Event()

    def prepare(self, request: JobRequest) -> Work:
        with self.changed:
            self.begun.append(request.tenant)
            self.changed.notify_all()
        assert self.go.wait(180)
        if request.batch == 0:
            raise InvalidRequest("The batch is empty.", field="batch")
        return WORK

    async def has_begun(self, count: int) -> None:
        def wait() -> None:
            with self.changed:
                assert self.changed.wait_for(lambda: len(self.begun) >= count, 180)

        await anyio.to_thread.run_sync(wait)


def request(tenant: str, batch: int = 1) -> JobRequest:
    return JobRequest(tenant, "", batch, kind=KERNEL, body={})


def run(body: Callable[[Compiler, Compilations], object]) -> Compiler:
    compiler = Compiler()

    async def main() -> None:
        await body(compiler, Compilations(cast(Intake, compiler)))  # type: ignore[misc]

    anyio.run(main)
    return compiler


def test_one_for_each_tenant_and_a_few_in_all() -> None:
    tenants = [chr(ord("a") + number) for number in range(AT_ONCE + 1)]

    async def body(compiler: Compiler, compilations: Compilations) -> None:
        async with anyio.create_task_group() as group:
            for tenant in [tenants[0], *tenants]:
                group.start_soon(compilations.prepare, request(tenant))
            await compiler.has_begun(AT_ONCE)
            await anyio.sleep(0.05)  # a third that began now would be a fault
            assert sorted(compiler.begun) == tenants[:AT_ONCE]
            compiler.go.set()

    assert sorted(run(body).begun) == sorted([tenants[0], *tenants])


def test_an_array_is_made_in_order_and_says_which_job_is_wrong() -> None:
    async def body(compiler: Compiler, compilations: Compilations) -> None:
        compiler.go.set()
        assert await compilations.prepare_array([request("a"), request("a")]) == [WORK, WORK]
        with pytest.raises(InvalidRequest) as raised:
            await compilations.prepare_array([request("a"), request("a", batch=0), request("a")])
        assert raised.value.details["field"] == "each[1].batch"

    assert run(body).begun == ["a"] * 4
