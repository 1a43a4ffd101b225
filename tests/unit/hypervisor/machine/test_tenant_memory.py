# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The jobs of one tenant leave a part of the board's memory to others; a job takes that of its buffers."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.board.port.pages import PAGE
from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import InvalidRequest
from eddy.hypervisor.intake.intake import TenantMemory
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.buffers import needed
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.job_spec import arena_bytes
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.slots.memory import MemoryQueue
from eddy.packages.catalogue import load_catalogue


def _application(pages: int, name: str = "one", role: BufferRole = BufferRole.INPUT) -> Application:
    buffer = BufferSpec("x", role, pages * PAGE, "u1", (pages * PAGE,))
    return Application(name, (TaskSpec(0, "t", "x", (), 1e-3, 1.0),), (), (buffer,))


def _job(number: int, tenant: str, pages: int) -> Job:
    application = _application(pages)
    return Job(JobSpec(number, tenant, application, arrival_s=float(number), needs_memory=True), Graph(application))


def _held(queue: MemoryQueue, job: Job) -> None:
    assert queue.request(job)
    queue.mark_granted(job)


def test_a_tenant_with_its_part_waits_for_its_own_jobs_and_others_pass_it() -> None:
    queue = MemoryQueue(lambda: 6 * PAGE)
    first, second, other = _job(1, "a", 4), _job(2, "a", 3), _job(3, "b", 2)
    _held(queue, first)
    assert not queue.request(second)
    assert second.memory is BufferState.BLOCKED
    assert queue.next() is None, "nothing that others give back helps it"
    _held(queue, other)
    assert queue.next() is None
    assert queue.release_job(first)
    assert queue.next() == second.spec.id


def test_what_is_asked_for_counts_until_it_is_refused() -> None:
    queue = MemoryQueue(lambda: 6 * PAGE)
    holder, first, second = _job(1, "b", 1), _job(2, "a", 4), _job(3, "a", 3)
    _held(queue, holder)
    assert queue.request(first)
    assert not queue.request(second)
    assert queue.refuse(first)
    assert queue.release_job(holder)
    assert queue.next() == first.spec.id
    queue.cancel_request(first)
    queue.release_job(first)
    assert queue.next() == second.spec.id


def test_a_job_over_the_part_of_a_tenant_that_holds_nothing_is_asked_for() -> None:
    """It was accepted when its tenant was alone."""
    queue = MemoryQueue(lambda: 6 * PAGE)
    assert queue.request(_job(1, "a", 8))


def _stay(number: int, tenant: str, pages: int) -> Job:
    """As a session or a lease is to the machine."""
    buffer = BufferSpec("x", BufferRole.CONSTANT, pages * PAGE, "u1", (pages * PAGE,))
    application = Application("session", (), (), (buffer,))
    return Job(JobSpec(number, tenant, application, arrival_s=float(number), needs_memory=True), Graph(application))


def test_sessions_and_leases_of_all_tenants_leave_a_part_to_jobs() -> None:
    queue = MemoryQueue(lambda: 6 * PAGE)
    first, second, job = _stay(1, "a", 4), _stay(2, "b", 3), _job(3, "b", 2)
    _held(queue, first)
    assert not queue.request(second), "7 of 8 pages would be held for as long as people like"
    assert queue.next() is None
    assert not queue.waits_for_its_own(second)
    _held(queue, job)  # of the same tenant: it passes its session
    other = _stay(4, "c", 2)
    _held(queue, other)
    assert queue.release_job(other)
    assert queue.next() is None
    assert queue.release_job(first)
    assert queue.next() == second.spec.id


def test_a_session_that_was_opened_alone_has_its_memory() -> None:
    queue = MemoryQueue(lambda: 6 * PAGE)
    assert queue.request(_stay(1, "a", 8))


def test_a_recovered_job_counts() -> None:
    queue = MemoryQueue(lambda: 6 * PAGE)
    before = _job(1, "a", 4)
    before.memory = BufferState.HELD
    queue.adopt(before)
    assert not queue.request(_job(2, "a", 3))


def test_a_job_that_could_never_fit_is_refused_where_there_are_several_tenants() -> None:
    alone = TenantMemory(0.75, lambda: False, 8 * PAGE)
    alone.check(_application(8), 1)
    shared = TenantMemory(0.75, lambda: True, 8 * PAGE)
    shared.check(_application(6), 1)
    with pytest.raises(InvalidRequest, match="at most 24 KiB of 32 KiB") as refused:
        shared.check(_application(7, "kernel:k", BufferRole.CONSTANT), 1)
    assert refused.value.details == {"field": "kernel.arguments", "asked": 7 * PAGE, "allowed": 6 * PAGE}
    with pytest.raises(InvalidRequest, match="at most 3 items fit") as refused:
        shared.check(_application(2), 4)
    assert refused.value.details == {"field": "batch", "asked": 8 * PAGE, "allowed": "1..3"}


SHIPPED = load_catalogue(Path(__file__).parents[4] / "bitstreams").applications


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_what_is_admitted_is_what_is_allocated(name: str) -> None:
    application = SHIPPED[name]
    for batch in (1, 2, 7, 30):
        pages = [-(-need.spec.bytes // PAGE) for need in needed(application, batch)]
        assert arena_bytes(application, batch) == sum(pages) * PAGE > 0
