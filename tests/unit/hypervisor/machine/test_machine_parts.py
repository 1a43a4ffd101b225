# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parts a state machine is made of, each by itself; what the record of a job says of an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from eddy.core.applications import Application, TaskSpec
from eddy.core.errors import Conflict, StorageDamaged
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.machine.failures import explain
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.config_port import ConfigurationPort
from eddy.hypervisor.slots.memory import MemoryQueue
from eddy.hypervisor.slots.pools import PoolState
from eddy.hypervisor.slots.residency import Residency, keep_module, reload_always, reuse_during_load, reuse_when_idle
from eddy.policy.dispatch.fcfs import FirstComeFirstServed

ONE = Application("one", (TaskSpec(0, "t", "x", (), 1e-3, 1.0),), ())


def job(number: int, arrival_s: float = 0.0, memory: bool = True, tenant: str = "a") -> Job:
    return Job(m.JobSpec(number, tenant, ONE, 1, 1, arrival_s, None, memory), Graph(ONE))


def test_memory_is_asked_for_by_the_head_of_the_queue_alone_and_oldest_first() -> None:
    queue, holder, young, old, last = MemoryQueue(), job(1), job(3, 2.0), job(2, 1.0), job(4, 3.0)
    assert queue.request(holder), "nobody waits"
    queue.mark_granted(holder)
    assert queue.request(young)
    assert queue.refuse(young), "the holder will give some back"
    assert 3 in queue
    assert not queue.request(old), "somebody waits"
    assert not queue.request(last)
    assert (old.memory, old.lacks_memory) == (BufferState.BLOCKED, True)
    assert queue.next() == 2, "the oldest, though it came later"
    assert queue.next() is None, "one at a time"
    queue.mark_granted(old)
    assert (old.memory, old.lacks_memory, 2 in queue) == (BufferState.HELD, False, False)
    assert queue.next() == 3
    assert queue.refuse(young)
    assert queue.next() == 3, "it stays at the head"


def test_memory_goes_to_the_tenant_with_the_fewest_jobs_that_have_some() -> None:
    queue, more = MemoryQueue(), [job(number, number) for number in range(1, 5)]
    for each in more[:2]:
        assert queue.request(each)
        queue.mark_granted(each)
    assert queue.request(more[2])
    assert queue.refuse(more[2])
    assert not queue.request(more[3])
    late = job(9, 9.0, tenant="b")
    assert queue.request(late), "it does not stand behind those of another that has more"
    assert queue.refuse(late)
    queue.release_job(more[0])
    assert queue.next() == 9, "though it came last"
    queue.mark_granted(late)
    assert queue.waiting == (3, 4)
    queue.release_job(more[1])
    assert queue.next() == 3, "the oldest of a tenant's"


def test_memory_is_refused_for_good_where_nobody_will_give_any_back() -> None:
    queue, alone, other = MemoryQueue(), job(1), job(2)
    assert queue.request(alone)
    assert not queue.refuse(alone)
    assert alone.memory is BufferState.NONE
    queue.adopt(other)
    assert not queue.refuse(alone), "a job without memory is no holder"
    other.memory = BufferState.HELD
    queue.adopt(other)
    assert queue.refuse(alone)


def test_a_job_that_leaves_gives_back_what_it_had_and_its_place() -> None:
    queue, holder, waits, needs_none = MemoryQueue(), job(1), job(2), job(3, memory=False)
    queue.request(holder)
    queue.mark_granted(holder)
    queue.request(waits)
    queue.refuse(waits)
    assert not queue.release_job(waits)
    assert queue.next() is None
    assert queue.release_job(holder)
    assert not queue.release_job(needs_none)
    assert queue.request(waits)
    queue.cancel_request(waits)
    assert waits.memory is BufferState.NONE


def test_the_port_is_kept_for_whom_it_was_promised_to_first() -> None:
    port, slot = ConfigurationPort(), MachineSlot(0, 0.1)
    assert not any(port.is_closed_to(pool) for pool in Pool)
    port.reserve(Pool.GPU)
    port.reserve(Pool.PIPELINE)
    assert port.is_closed_to(Pool.PIPELINE)
    assert not port.is_closed_to(Pool.GPU)
    port.open()
    port.begin(slot, Pool.GPU)
    assert all(port.is_closed_to(pool) for pool in Pool)
    port.reserve(Pool.PIPELINE)
    port.end(MachineSlot(1, 0.1))
    assert port.loading is slot, "another slot's end is not its own"
    port.end(slot)
    assert not port.is_closed_to(Pool.GPU), "a port that loads is promised to nobody"


def test_the_pool_that_was_loaded_last_is_asked_last() -> None:
    port, policy = ConfigurationPort(), FirstComeFirstServed()
    pools = [PoolState(pool, policy, (number,), {}) for number, pool in enumerate((Pool.PIPELINE, Pool.GPU))]
    assert [pool.pool for pool in port.pools_in_turn(pools)] == [Pool.PIPELINE, Pool.GPU]
    port.begin(MachineSlot(0, 0.1), Pool.PIPELINE)
    assert [pool.pool for pool in port.pools_in_turn(pools)] == [Pool.GPU, Pool.PIPELINE]


def loads(residency: Residency) -> list[m.Command]:
    """Commands for the second of two jobs that run on the same module, one after the other."""
    machine = Machine({0: 0.1}, FirstComeFirstServed(), {"x": {0: "x0"}}, residency=residency)
    spec = m.JobSpec(1, "a", ONE)
    machine.step(0.0, [m.Arrive(spec)])
    machine.step(0.1, [m.Configured(0, 0.1, 0.0)])
    machine.step(0.2, [m.ItemEnded(0, 0.2, 0.1)])
    return machine.step(0.3, [m.Arrive(m.JobSpec(2, "a", ONE, arrival_s=0.3))]).commands


@pytest.mark.parametrize(
    ("rule", "expected"), [(keep_module, m.LaunchItem(0, 2, 0, 0)), (reload_always, m.Load(0, "x0"))]
)
def test_what_becomes_of_modules_that_stay_is_a_rule_of_the_machine(
    rule: Callable[[MachineSlot], None], expected: m.Command
) -> None:
    assert loads(Residency(given_back=rule)) == [expected]


@pytest.mark.parametrize(("rule", "given"), [(reuse_during_load, True), (reuse_when_idle, False)])
def test_whether_a_slot_is_given_during_a_load_is_a_rule_too(
    rule: Callable[[ConfigurationPort], bool], given: bool
) -> None:
    fits = {"x": {0: "x0"}, "y": {1: "y1"}}
    other = Application("other", (TaskSpec(0, "u", "y", (), 1e-3, 1.0),), ())
    machine = Machine({0: 0.1, 1: 0.1}, FirstComeFirstServed(), fits, residency=Residency(may_give=rule))
    machine.step(0.0, [m.Arrive(m.JobSpec(1, "a", ONE))])
    machine.step(0.1, [m.Configured(0, 0.1, 0.0)])
    machine.step(0.2, [m.ItemEnded(0, 0.2, 0.1)])
    machine.step(0.3, [m.Arrive(m.JobSpec(2, "a", other, arrival_s=0.3))])
    third = machine.step(0.4, [m.Arrive(m.JobSpec(3, "a", ONE, arrival_s=0.4))])
    assert (m.LaunchItem(0, 3, 0, 0) in third.commands) is given


@pytest.mark.parametrize(
    ("error", "cause", "words"),
    [
        (KeyError(4711), "internal-error", "KeyError; the server's log has the cause"),
        (IndexError("job 4711"), "internal-error", "IndexError; the server's log has the cause"),
        (RuntimeError("the driver tripped"), "internal-error", "RuntimeError: the driver tripped"),
        (OSError(5, "Input/output error", "/srv/eddy/4711.out"), "internal-error", "OSError: Input/output error"),
        (Conflict("slot 1 runs an item"), "conflict", "slot 1 runs an item"),
        (
            StorageDamaged("/srv/eddy/4711.out"),
            "storage-damaged",
            "the server cannot read or keep its data; its log has the cause",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_tenant_reads_no_number_and_no_path_of_ours(error: Exception, cause: str, words: str) -> None:
    assert explain(error, "launching 4711.0.1") == (cause, words)
