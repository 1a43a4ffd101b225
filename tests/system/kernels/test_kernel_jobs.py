# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel jobs through the whole engine, on a model board whose clusters compute: results, sharing, deaths."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import anyio
import numpy as np
import pytest
from eddy.board.port.port import Cause
from eddy.core.errors import CompilationFailed, Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import KERNEL, JobEventKind, JobRequest
from eddy.core.slots import PreemptReason
from eddy.core.tenants import Quota, TenantRecord
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.request import KernelRequest
from eddy.gpu.programs.program import Program
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.kernels import MAX_LOG_BYTES, KernelLimits, KernelPlanner, slice_groups
from eddy.policy.dispatch import POLICIES
from eddy.policy.dispatch.views.view import Configure, Decision, Dispatch, DispatchPolicy, DispatchView, Preempt
from eddy.store import Store
from eddy_studies.replay import read_trace
from hypervisor_kit import CHAIN, TENANT, expected, finish, request
from kernel_kit import (
    ALL_MODULES,
    STEP,
    ComputingBoard,
    bad_request,
    buffer,
    kernel_board,
    kernels,
    step_arrays,
    step_request,
    stepped,
)
from system.crashes.test_hypervisor_crash import Killed, Killer, MortalEffects, deaths
from unit.gpu_kit import CACHE


class AlternatingPolicy:
    """After every slice the slot goes to the other job."""

    name = "turn about"
    pipelined = True

    def initial(self) -> int:
        return -1

    def decide(self, view: DispatchView) -> Dispatch:
        decisions: list[Decision] = []
        last = int(view.memory)
        for slot in view.slots:
            others = [job for job in view.jobs if job.tasks[0].slot is None]
            if slot.job is not None and slot.running and others:
                decisions.append(Preempt(slot.index, PreemptReason.RANK))
            elif slot.job is None and others and not view.port_busy:
                chosen = next((job for job in others if job.id != last), others[0])
                decisions.append(Configure(chosen.id, 0, slot.index))
                last = chosen.id
        return Dispatch(tuple(decisions), last)


def engine_over(board: Any, store: Any, gpu_policy: DispatchPolicy | None = None) -> Engine:
    applications = {CHAIN.name: CHAIN}
    return Engine(board, POLICIES["fcfs"](), store, applications, ALL_MODULES, None, kernels(), gpu_policy)


def check_steps(store: Store, tenant: str, job: int, salt: int, n: int = 2) -> None:
    """A `step` job's record, output and log."""
    record = store.jobs.get(tenant, job)
    assert (record.state, record.cause) == (JobState.SUCCEEDED, "")
    y, x = step_arrays(salt=salt)
    np.testing.assert_array_equal(np.frombuffer(store.outputs.read(tenant, job, "y"), "u4"), stepped(y, x, n))
    assert store.outputs.log(tenant, job) == "".join(f"{i}\n" for i in range(1, y.size, 64))
    assert record.response_s is not None
    assert record.waited_s + record.reconfiguring_s + record.running_s == pytest.approx(record.response_s)


def submit(board: ComputingBoard, store: Store) -> None:
    """Two tenants' kernels, one that is doomed, and an application job beside them."""
    engine = engine_over(board, store)
    engine.start()
    engine.intake.accept(step_request(store, TENANT, salt=1))
    engine.intake.accept(step_request(store, "bob", salt=3))
    engine.intake.accept(bad_request(store, "crooked", "carol"))
    engine.intake.accept(request(store, batch=2))


def check_all(store: Store, board: ComputingBoard, clean: bool = True) -> None:
    check_steps(store, TENANT, 1, 1)
    check_steps(store, "bob", 2, 3)
    bad = store.jobs.get("carol", 3)
    assert (bad.state, bad.cause, bad.items_done) == (JobState.FAILED, "misaligned-access", 0)
    assert "store_misaligned in crooked+0x" in bad.detail
    assert store.jobs.get(TENANT, 4).state is JobState.SUCCEEDED
    assert store.outputs.read(TENANT, 4, "out") == expected(batch=2)
    assert board.state().buffers == ()
    for number in (1, 2, 3):
        with pytest.raises(NotFound):
            store.jobs.program(number)
        log = store.events.list_events(None, number)
        done = Counter(event.item for event in log if event.what is JobEventKind.ITEM_DONE)
        assert not clean or set(done.values()) <= {1}, "a slice was booked twice"
        assert {event.slot for event in log if event.slot is not None} == {2}, "outside its pool"
    assert {event.slot for event in store.events.list_events(None, 4) if event.slot is not None} <= {0, 1}


def test_kernels_of_two_tenants_run_beside_an_application() -> None:
    board, store = kernel_board(), Store(":memory:")
    submit(board, store)
    engine = engine_over(board, store)
    engine.start()
    finish(engine)
    check_all(store, board)
    record = store.jobs.get(TENANT, 1)
    assert (record.batch, record.items_done, record.reconfigurations) == (4, 4, 2)
    assert record.kernel is not None
    (core,) = record.kernel.cores
    assert sum(core.cycle_thread) == core.total_active_cycles > 0
    assert core.instructions >= core.total_active_cycles
    assert store.jobs.get("bob", 2).reconfigurations == 2, "each turn on another tenant's cluster is a load"
    for event in store.events.list_events(None, 1):
        assert event.item is None or event.item < 4
    trace = read_trace(store, {CHAIN.name: CHAIN})
    assert ([job.id for job in trace.jobs], trace.left_out) == ([4], 3), "a replay leaves kernels out"
    assert set(trace.load_s) <= {0, 1}, "and so their slots"


def test_the_same_tenant_finds_its_cluster_loaded() -> None:
    board, store = kernel_board(), Store(":memory:")
    engine = engine_over(board, store)
    engine.start()
    engine.intake.accept(step_request(store, salt=1))
    engine.intake.accept(step_request(store, salt=3))
    finish(engine)
    check_steps(store, TENANT, 1, 1)
    check_steps(store, TENANT, 2, 3)
    assert (store.jobs.get(TENANT, 2).reconfigurations, store.jobs.get(TENANT, 2).reuses) == (0, 1)


def test_between_slices_another_kernel_runs_and_the_region_is_kept() -> None:
    board, store = kernel_board(), Store(":memory:")
    engine = engine_over(board, store, AlternatingPolicy())
    engine.start()
    engine.intake.accept(step_request(store, TENANT, salt=1, n=3))
    engine.intake.accept(step_request(store, TENANT, salt=3, n=3))
    finish(engine)
    check_steps(store, TENANT, 1, 1, n=3)
    check_steps(store, TENANT, 2, 3, n=3)
    assert slices_done(store) == [1, 2] * 4
    assert store.jobs.get(TENANT, 1).preemptions == 3


def test_between_slices_another_tenants_kernel_runs_in_a_cluster_that_is_loaded_again() -> None:
    """Whatever the policy would do for one tenant: each has its turn, which is longer than a load."""
    board, store = kernel_board(), Store(":memory:")
    engine = engine_over(board, store)
    engine.start()
    engine.intake.accept(step_request(store, TENANT, salt=1, n=3))
    engine.intake.accept(step_request(store, "bob", salt=3, n=3))
    finish(engine)
    check_steps(store, TENANT, 1, 1, n=3)
    check_steps(store, "bob", 2, 3, n=3)
    assert slices_done(store) == [1, 1, 2, 2, 2, 2, 1, 1]
    assert store.jobs.get(TENANT, 1).preemptions == 1
    assert store.jobs.get(TENANT, 1).reconfigurations == 2


def slices_done(store: Store) -> list[int]:
    """Of which job each slice was, in order."""
    return [event.job for event in store.events.list_events(None, None) if event.what is JobEventKind.ITEM_DONE]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_death_between_any_two_effects_loses_nothing_and_runs_no_slice_twice(after: bool) -> None:
    def play(killer: Killer) -> tuple[Store, ComputingBoard, int]:
        store, board = Store(":memory:"), kernel_board()
        submit(board, store)
        return (
            store,
            board,
            deaths(lambda: engine_over(MortalEffects(board, killer), MortalEffects(store, killer)), finish),
        )

    counting = Killer()
    store, board, died = play(counting)
    assert died == 0
    check_all(store, board)
    assert counting.count > 100
    for at in range(0, counting.count, 2):  # dead after one effect is dead before the next
        killer = Killer(at, after)
        store, board, died = play(killer)
        assert died == 1
        check_all(store, board)
        assert set(killer.launched.values()) == {1}, "a slice ran twice over its own results"
        store.close()


@pytest.mark.parametrize("at", range(5, 150, 12))
def test_a_new_board_begins_a_kernel_again_on_the_arrays_as_submitted(at: int) -> None:
    old, store, killer = kernel_board(), Store(":memory:"), Killer(at)
    submit(old, store)
    engine = engine_over(MortalEffects(old, killer), store)
    try:
        engine.start()
        finish(engine)
    except Killed:
        pass
    board = kernel_board()
    engine = engine_over(board, store)
    engine.start()
    finish(engine)
    check_all(store, board, clean=False)
    one = store.jobs.get(TENANT, 1).kernel
    assert one is not None
    fresh = Store(":memory:")
    submit(board, fresh)
    engine = engine_over(board, fresh)
    engine.start()
    finish(engine)
    other = fresh.jobs.get(TENANT, 1).kernel
    assert other is not None
    assert one.cores == other.cores, "what was counted in the lost life does not count"


def test_a_failing_slice_ends_its_job_alone_and_keeps_its_log() -> None:
    board, store = kernel_board(faults={"1.0.2": Cause.READ_OUTSIDE_WINDOW}), Store(":memory:")
    engine = engine_over(board, store)
    engine.start()
    engine.intake.accept(step_request(store))
    engine.intake.accept(step_request(store, "bob", salt=3))
    finish(engine)
    record = store.jobs.get(TENANT, 1)
    assert (record.state, record.cause, record.items_done, record.failed_item) == (
        JobState.FAILED,
        "read-outside-window",
        2,
        2,
    )
    assert store.outputs.log(TENANT, 1) == "1\n65\n129\n193\n"
    assert record.kernel is not None
    assert record.kernel.log_bytes == 13
    with pytest.raises(Conflict):
        store.outputs.read(TENANT, 1, "y")
    check_steps(store, "bob", 2, 3)
    assert store.jobs.get("bob", 2).reconfigurations == 1, "what the fault left is not trusted"


def test_a_cancelled_kernel_is_stopped_and_its_memory_freed() -> None:
    board, store = kernel_board(), Store(":memory:")
    engine = engine_over(board, store)
    engine.start()
    engine.intake.accept(step_request(store))
    while engine.machine.jobs.get(1) is None or engine.machine.jobs[1].items.committed < 2:
        engine.step()
    engine.intake.cancel(TENANT, 1)
    finish(engine)
    assert store.jobs.get(TENANT, 1).state is JobState.CANCELLED
    assert board.state().buffers == ()


def changed(store: Store, **changes: Any) -> JobRequest:
    """A good request with fields of its kernel changed."""
    good = step_request(store)
    return JobRequest(TENANT, "", kind=KERNEL, body={**(good.body or {}), **changes})


@pytest.mark.parametrize(
    ("changes", "field", "allowed"),
    [
        ({"kernel": "stepp"}, "kernel.kernel", ["crooked", "spin", "step", "wild"]),
        ({"global_size": [4096], "local_size": [2048]}, "kernel.local_size", 1024),
        ({"local_size": [3]}, "kernel.local_size", "divisors of the global size"),
        ({"global_size": [0]}, "kernel.global_size", "1 to 3 sizes, product at most 2147483648"),
        ({"arguments": []}, "kernel.arguments", 3),
        ({"arguments": [{"value": 1}, {"null": True}, {"value": 1}]}, "kernel.arguments.y", "a numpy array or None"),
        (
            {"arguments": [{"null": True}, {"null": True}, {"value": 1.5}]},
            "kernel.arguments.n",
            "whole numbers from 0 to 4294967295",
        ),
        (
            {"arguments": [{"buffer": "0" * 64, "dtype": "<u4", "shape": [1]}]},
            "kernel.arguments[0]",
            "sha256 of an uploaded blob",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_kept(
    changes: dict[str, Any], field: str, allowed: object
) -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    with pytest.raises(InvalidRequest) as caught:
        engine.intake.accept(changed(store, **changes))
    assert (caught.value.details["field"], caught.value.details["allowed"]) == (field, allowed)
    assert store.lists.page(None) == ()
    assert engine.is_idle


def test_errors_of_the_compiler_are_the_answer() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    with pytest.raises(CompilationFailed, match=r"kernel\.cl:2:3: error: use of undeclared identifier 'z'") as caught:
        engine.intake.accept(changed(store, source="kernel void step(global uint *y) {\n  z[0] = 1;\n}\n"))
    assert caught.value.details["diagnostics"][0]["line"] == 2
    assert store.lists.page(None) == ()


def test_a_kernel_too_large_for_the_board_is_refused_with_what_there_is() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(arena=1 << 16), store)
    engine.start()
    with pytest.raises(InvalidRequest, match=r"needs .* of board memory, and there are 64 KiB") as caught:
        engine.intake.accept(step_request(store, count=16384))
    assert caught.value.details["field"] == "kernel.arguments"
    assert caught.value.details["allowed"] == 65536


def test_a_board_without_a_cluster_takes_no_kernels_and_a_full_tenant_compiles_none() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(gpu=0), store)
    engine.start()
    with pytest.raises(InvalidRequest, match="no GPU cluster"):
        engine.intake.accept(step_request(store))
    engine = engine_over(kernel_board(), store)
    engine.start()
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_jobs=1)))
    engine.intake.accept(step_request(store))
    with pytest.raises(QuotaExceeded):
        engine.intake.accept(changed(store, source="does not compile"))


def test_a_time_limit_is_at_most_the_servers() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    asked = step_request(store)
    with pytest.raises(InvalidRequest, match=r"up to 0\.05") as caught:
        engine.intake.accept(JobRequest(TENANT, "", kind=KERNEL, body=asked.body, time_limit_s=1.0))
    assert caught.value.details["field"] == "time_limit_s"
    engine.intake.accept(JobRequest(TENANT, "", kind=KERNEL, body=asked.body, time_limit_s=5e-4))
    finish(engine)
    assert store.jobs.get(TENANT, 1).cause == "time-limit"


def test_one_key_is_one_job() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    asked = step_request(store)
    again = JobRequest(TENANT, "", kind=KERNEL, body=asked.body, idempotency_key="k")
    assert engine.intake.accept(again).id == engine.intake.accept(again).id
    other = JobRequest(TENANT, "", kind=KERNEL, body=step_request(store, salt=3).body, idempotency_key="k")
    with pytest.raises(Conflict):
        engine.intake.accept(other)
    finish(engine)
    check_steps(store, TENANT, 1, 1)


def test_a_cluster_that_is_gone_fails_its_jobs() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    engine.intake.accept(step_request(store))
    engine = engine_over(kernel_board(gpu=0), store)
    engine.start()
    record = store.jobs.get(TENANT, 1)
    assert (record.state, record.cause) == (JobState.FAILED, "application-gone")
    assert "gpu_1c4w4t" in record.detail


def test_arrays_of_any_type_and_shape_come_back() -> None:
    source = """kernel void turn(global char *a, global const short *b, global float *c, int4 v) {
      uint i = get_global_id(0), j = get_global_id(1);
      a[j * 3 + i] += b[i] + v.w; c[j * 3 + i] = a[j * 3 + i] / 2.0f;
    }"""
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    a, b, c = np.arange(6, dtype="i1").reshape(2, 3), np.array([1, -2, 3], "i2"), np.zeros((2, 3), "f4")
    first, second, third = (buffer(store, TENANT, array) for array in (a, b, c))
    arguments = (first, second, third, (0, 0, 0, 5))
    engine.intake.accept(
        JobRequest(TENANT, "", kind=KERNEL, body=KernelRequest(source, "turn", (3, 2), arguments).to_json())
    )
    finish(engine)
    a = a + (b + 5).astype("i1")
    assert store.outputs.read(TENANT, 1, "a") == a.tobytes()
    assert store.outputs.read(TENANT, 1, "c") == (a / np.float32(2)).astype("f4").tobytes()
    assert store.outputs.names(1) == ["a", "c"]
    assert store.jobs.get(TENANT, 1).batch == 1


@pytest.mark.parametrize(
    ("groups", "places", "most", "wanted"),
    [(1, 4, 16, 1), (31, 4, 16, 31), (64, 4, 16, 32), (250, 4, 16, 32), (10_000, 4, 16, 628), (10_000, 4, 1, 10_000)],
)
def test_slices_are_neither_many_nor_small(groups: int, places: int, most: int, wanted: int) -> None:
    assert slice_groups(groups, places, KernelLimits(most, waves=8)) == wanted
    assert -(-groups // wanted) <= most


class WaitingCompiler(Compiler):
    """A compiler that needs very long for some sources: until it is told."""

    def __init__(self) -> None:
        super().__init__(CACHE)
        self.go = threading.Event()
        self.under_way = 0

    def compile(self, source: str, **more: Any) -> Program:
        if "slow" in source:
            self.under_way += 1
            assert self.go.wait(180)
        return super().compile(source.replace("slow", ""), **more)


def test_one_tenants_long_compilations_keep_nobody_waiting() -> None:
    store, board, compiler = Store(":memory:"), kernel_board(), WaitingCompiler()
    slow = [
        JobRequest(
            TENANT, "", kind=KERNEL, body={**(step_request(store, salt=k).body or {}), "source": STEP + "/*slow*/"}
        )
        for k in range(4)
    ]

    async def play() -> None:
        hypervisor = Hypervisor(
            board,
            POLICIES["fcfs"](),
            store,
            {CHAIN.name: CHAIN},
            ALL_MODULES,
            None,
            KernelPlanner(ALL_MODULES, compiler),
        )
        async with anyio.create_task_group() as group:
            group.start_soon(hypervisor.run)
            async with anyio.create_task_group() as submissions:
                for each in slow:
                    submissions.start_soon(hypervisor.submit, each)
                while not compiler.under_way:
                    await anyio.sleep(0.005)
                with anyio.fail_after(180):
                    application = await hypervisor.submit(request(store, tenant="carol"))
                    kernel = await hypervisor.submit(step_request(store, "bob"))
                    for record in (application, kernel):
                        async for _ in hypervisor.following.events(record.tenant, record.id):
                            pass
                assert compiler.under_way == 1, "a tenant has one kernel compiled at a time"
                compiler.go.set()
            group.cancel_scope.cancel()

    anyio.run(play)
    assert compiler.under_way == len(slow)
    check_steps(store, "bob", 2, 1)
    assert store.outputs.read("carol", 1, "out") == expected()


def test_a_log_is_bounded_and_says_what_is_missing() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    source = 'kernel void talk() { printf("%999d\\n", 1); }'
    engine.intake.accept(JobRequest(TENANT, "", kind=KERNEL, body=KernelRequest(source, "talk", (1024,), ()).to_json()))
    finish(engine)
    text = store.outputs.log(TENANT, 1)
    assert MAX_LOG_BYTES < len(text) < MAX_LOG_BYTES + 100
    assert text.endswith(" more bytes were not kept]\n")
    record = store.jobs.get(TENANT, 1).kernel
    assert record is not None
    assert record.log_bytes == len(text)


def test_a_kernels_arrays_are_kept_while_it_may_need_them() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    asked = step_request(store)
    engine.intake.accept(asked)
    digest = KernelRequest.from_json(asked.body or {}).array(0)
    assert digest is not None
    with pytest.raises(Conflict, match=f"job {store.numbers.job.public_id(1)} still needs"):
        store.blobs.drop(TENANT, digest.digest)
    finish(engine)
    store.blobs.drop(TENANT, digest.digest)


def test_a_blob_that_was_deleted_while_its_kernel_was_compiled_is_asked_for_again() -> None:
    store = Store(":memory:")
    engine = engine_over(kernel_board(), store)
    engine.start()
    asked = step_request(store)
    work = engine.intake.prepare(asked)
    digest = KernelRequest.from_json(asked.body or {}).digests[0]
    content = store.blobs.get(TENANT, digest)
    store.blobs.drop(TENANT, digest)
    (refused,) = engine.intake.accept_all([(asked, work)])
    assert isinstance(refused, InvalidRequest)
    assert "upload it again" in refused.message
    with pytest.raises(InvalidRequest, match="upload it again"):
        engine.intake.accept_array([asked, asked], [work, work])
    assert engine.is_idle
    store.blobs.put(TENANT, digest, content)
    (taken,) = engine.intake.accept_all([(asked, work)])
    assert not isinstance(taken, Exception)
