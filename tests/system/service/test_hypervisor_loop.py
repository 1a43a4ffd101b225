# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The whole hypervisor on the model board: requests in, checked results out."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from eddy.board.model.model import ModelBoard, ModelFaults
from eddy.board.port.port import Cause
from eddy.core.errors import Conflict, InvalidRequest, NotFound, QuotaExceeded
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRequest
from eddy.core.tenants import Quota, TenantRecord
from eddy.hypervisor import Hypervisor
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from hypervisor_kit import CHAIN, MODULES, TENANT, ended, expected, model_board, put_inputs, request

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite")


@asynccontextmanager
async def serving(
    store: Store, board: ModelBoard | None = None, policy: str = "fcfs", pipelined: bool = True
) -> AsyncIterator[Hypervisor]:
    chosen = POLICIES[policy](pipelined=pipelined)
    hypervisor = Hypervisor(board or model_board(), chosen, store, {CHAIN.name: CHAIN}, MODULES)
    async with anyio.create_task_group() as group:
        group.start_soon(hypervisor.run)
        yield hypervisor
        group.cancel_scope.cancel()


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("pipelined", [True, False])
async def test_a_batch_comes_back_right(store: Store, policy: str, pipelined: bool) -> None:
    board = model_board()
    async with serving(store, board, policy, pipelined) as hypervisor:
        record = await ended(hypervisor, store, await hypervisor.submit(request(store, batch=4)))
    assert record.state is JobState.SUCCEEDED
    assert store.outputs.read(TENANT, record.id, "out") == expected(batch=4)
    assert record.items_done == 4
    assert board.state().buffers == ()


async def test_one_blob_may_hold_the_whole_batch(store: Store) -> None:
    whole = put_inputs(store, batch=3, whole=True)
    async with serving(store) as hypervisor:
        record = await hypervisor.submit(request(store, batch=3, inputs=whole))
        record = await ended(hypervisor, store, record)
    assert store.outputs.read(TENANT, record.id, "out") == expected(batch=3)


async def test_times_add_up_and_the_log_tells_all(store: Store) -> None:
    async with serving(store) as hypervisor:
        jobs = [await hypervisor.submit(request(store, batch=3, salt=number)) for number in range(5)]
        records = [await ended(hypervisor, store, job) for job in jobs]
    for record in records:
        assert record.response_s is not None
        assert record.waited_s + record.reconfiguring_s + record.running_s == pytest.approx(record.response_s)
        log = store.events.list_events(TENANT, record.id)
        whats = [event.what for event in log]
        assert whats[0] is JobEventKind.SUBMITTED
        assert whats.count(JobEventKind.LAUNCH) == whats.count(JobEventKind.ITEM_DONE) == 3 * len(CHAIN.tasks)
        assert whats.count(JobEventKind.CONFIGURE) == record.reconfigurations + record.reuses
        assert [event.seq for event in log] == sorted(event.seq for event in log)
        assert log[-1].state is JobState.SUCCEEDED


async def test_a_follower_is_woken_by_its_own_job_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    events = store.events.list_events

    def counted(tenant: str | None, job: int | None, after_seq: int = 0) -> tuple[JobEvent, ...]:
        asked.append(job or 0)
        return events(tenant, job, after_seq)

    monkeypatch.setattr(store.events, "list_events", counted)
    board = model_board(slots=1)
    async with serving(store, board, "exclusive") as hypervisor:
        jobs = [await hypervisor.submit(request(store, batch=3)) for _ in range(4)]
        last = jobs[-1]
        asked_before_its_turn = 0
        async for event in hypervisor.following.events(last.tenant, last.id):
            if event.what is JobEventKind.CONFIGURE:
                asked_before_its_turn = asked_before_its_turn or len(asked)
    assert set(asked) == {last.id}
    assert 0 < asked_before_its_turn <= 5, "dozens of steps were about the others"


async def test_a_resident_module_is_not_loaded_again_for_the_same_tenant(store: Store) -> None:
    async with serving(store) as hypervisor:
        await ended(hypervisor, store, await hypervisor.submit(request(store)))
        again = await ended(hypervisor, store, await hypervisor.submit(request(store, salt=1)))
        for tenant in ("other",):
            other = await ended(hypervisor, store, await hypervisor.submit(request(store, tenant=tenant)))
    assert (again.reconfigurations, again.reuses) == (0, len(CHAIN.tasks))
    assert (other.reconfigurations, other.reuses) == (len(CHAIN.tasks), 0)


async def test_board_time_stands_still_while_there_is_nothing_to_do(store: Store) -> None:
    board = model_board()
    async with serving(store, board) as hypervisor:
        await ended(hypervisor, store, await hypervisor.submit(request(store)))
        before_s = board.now_s()
        await anyio.sleep(0.05)
        assert board.now_s() == before_s


async def test_the_log_is_told_once_that_jobs_get_no_slot(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(store) as hypervisor:
        await hypervisor.wait_ready()
        for slot in hypervisor.slots():
            await hypervisor.operator.drain(slot.slot, "a new fan")
        for _ in range(6):
            await hypervisor.submit(request(store, batch=1))
            await anyio.sleep(0.05)
    told = [record.getMessage() for record in caplog.records if "get no slot" in record.getMessage()]
    assert len(told) == 1
    assert "drained (a new fan)" in told[0]


async def test_a_failing_item_fails_its_job_alone(store: Store) -> None:
    board = model_board(faults=ModelFaults({"1.1.1": Cause.WRITE_OUTSIDE_WINDOW}))
    async with serving(store, board) as hypervisor:
        bad = await hypervisor.submit(request(store, batch=3))
        good = await hypervisor.submit(request(store, batch=3, tenant="other"))
        bad, good = await ended(hypervisor, store, bad), await ended(hypervisor, store, good)
    assert (bad.state, bad.cause, bad.failed_task, bad.failed_item) == (JobState.FAILED, "write-outside-window", 1, 1)
    assert good.state is JobState.SUCCEEDED
    assert store.outputs.read("other", good.id, "out") == expected(batch=3)
    assert board.state().buffers == ()
    with pytest.raises(Conflict, match="items are done"):
        store.outputs.read(TENANT, bad.id, "out")


async def test_a_hung_item_meets_its_time_limit(store: Store) -> None:
    board = model_board(faults=ModelFaults({"1.0.0": Cause.TIME_LIMIT}))
    async with serving(store, board) as hypervisor:
        record = await ended(hypervisor, store, await hypervisor.submit(request(store)))
    assert (record.state, record.cause) == (JobState.FAILED, "time-limit")


async def test_a_failed_load_is_tried_again_and_then_given_up(store: Store) -> None:
    async with serving(store, model_board(faults=ModelFaults(loads=frozenset({0, 1})))) as hypervisor:
        lucky = await ended(hypervisor, store, await hypervisor.submit(request(store)))
    assert lucky.state is JobState.SUCCEEDED
    other = Store(":memory:")
    async with serving(other, model_board(faults=ModelFaults(loads=frozenset(range(100))))) as hypervisor:
        hopeless = await ended(hypervisor, other, await hypervisor.submit(request(other)))
    assert (hopeless.state, hopeless.cause) == (JobState.FAILED, "configuration-error")


async def test_cancel_stops_what_runs_and_gives_everything_back(store: Store) -> None:
    board = model_board(slow=1e6)
    async with serving(store, board) as hypervisor:
        record = await hypervisor.submit(request(store, batch=4))
        async for event in hypervisor.following.events(TENANT, record.id):
            if event.what is JobEventKind.SUBMITTED:
                await hypervisor.cancel(TENANT, record.id)
        record = store.jobs.get(TENANT, record.id)
        assert record.state is JobState.CANCELLED
        assert (await hypervisor.cancel(TENANT, record.id)).state is JobState.CANCELLED
        with anyio.fail_after(180):  # the end is committed first, then its memory is given back
            while board.state().buffers:
                await anyio.sleep(0.001)
        with pytest.raises(NotFound):
            await hypervisor.cancel("other", record.id)


async def test_a_full_arena_makes_jobs_wait_not_fail(store: Store) -> None:
    board = model_board(arena_jobs=1)
    async with serving(store, board) as hypervisor:
        wanted = [request(store, batch=4, salt=number) for number in range(3)]
        await hypervisor.wait_ready()
        slots = [slot.slot for slot in hypervisor.slots()]
        for slot in slots:  # they arrive at one board time: nothing is under way before all are there
            await hypervisor.operator.drain(slot, "all come together")
        jobs = [await hypervisor.submit(each) for each in wanted]
        for slot in slots:
            await hypervisor.operator.drain(slot, "")
        records = [await ended(hypervisor, store, job) for job in jobs]
    assert [record.state for record in records] == [JobState.SUCCEEDED] * 3
    assert records[0].waiting_s.get("memory", 0.0) == 0.0
    assert records[1].waiting_s["memory"] > 0.0
    assert records[2].waiting_s["memory"] > records[1].waiting_s["memory"]
    assert [record.ended_s for record in records] == sorted(record.ended_s or 0.0 for record in records)


async def test_idempotency_key(store: Store) -> None:
    async with serving(store) as hypervisor:
        first = await hypervisor.submit(request(store, key="k"))
        assert (await hypervisor.submit(request(store, key="k"))).id == first.id
        assert (await hypervisor.submit(request(store, key="k", tenant="other"))).id != first.id
        with pytest.raises(Conflict, match="another request"):
            await hypervisor.submit(request(store, key="k", batch=2))


BAD: dict[str, tuple[dict[str, object], str]] = {
    "application": ({"application": "nope"}, "application"),
    "priority": ({"priority": 2}, "priority"),
    "batch 0": ({"batch": 0}, "batch"),
    "batch too large": ({"batch": 31}, "batch"),
    "deadline": ({"deadline_s": -1.0}, "deadline_s"),
    "unknown input": ({"inputs": {"nope": ("00",)}}, "inputs.nope"),
    "missing input": ({"inputs": {}}, "inputs.in"),
    "unknown blob": ({"inputs": {"in": ("00",)}}, "inputs.in[0]"),
    "missing constant": ({"constants": {}}, "constants.key"),
}


@pytest.mark.parametrize("case", sorted(BAD))
async def test_a_bad_request_names_its_field_and_leaves_nothing(store: Store, case: str) -> None:
    changes, field = BAD[case]
    good = request(store)
    values = {name: getattr(good, name) for name in ("tenant", "application", "batch", "inputs", "constants")}
    async with serving(store) as hypervisor:
        with pytest.raises(InvalidRequest) as caught:
            await hypervisor.submit(JobRequest(**{**values, **changes}))
    assert caught.value.details["field"] == field
    # What a missing input takes is said in the sentence: there is no list to choose from.
    assert "allowed" in caught.value.details or case == "missing input"
    assert store.lists.page(TENANT) == ()


async def test_a_blob_of_the_wrong_size_is_refused(store: Store) -> None:
    data = b"short"
    sha256 = hashlib.sha256(data).hexdigest()
    store.blobs.put(TENANT, sha256, data)
    async with serving(store) as hypervisor:
        with pytest.raises(InvalidRequest, match="5 bytes"):
            await hypervisor.submit(request(store, inputs={"in": (sha256,)}))


async def test_a_batch_that_can_never_fit_is_refused_with_the_largest_that_does(store: Store) -> None:
    async with serving(store, model_board(arena_jobs=1)) as hypervisor:
        with pytest.raises(InvalidRequest, match="at most 4 items fit"):
            await hypervisor.submit(request(store, batch=9))


async def test_job_quota(store: Store) -> None:
    store.tenants.put(TenantRecord(TENANT, quota=Quota(max_jobs=0)))
    async with serving(store) as hypervisor:
        with pytest.raises(QuotaExceeded):
            await hypervisor.submit(request(store))


async def test_slots_show_what_they_hold(store: Store) -> None:
    async with serving(store) as hypervisor:
        await ended(hypervisor, store, await hypervisor.submit(request(store)))
        slots = hypervisor.slots()
    assert [slot.slot for slot in slots] == list(range(len(slots)))
    assert {slot.module for slot in slots if slot.phase == "idle"} == {task.module for task in CHAIN.tasks}
    assert [slot.phase for slot in slots if slot.pool == "gpu"] == ["empty"]


class RaisingBoard:
    """A board some of whose calls raise what nobody foresaw, `times` times."""

    def __init__(self, board: ModelBoard, call: str, times: int, match: str = "") -> None:
        self._board, self._call, self._left, self._match = board, call, times, match

    def __getattr__(self, name: str) -> object:
        known = getattr(self._board, name)
        return known if name != self._call else self._raising(known)

    def _raising(self, call: Callable[..., object]) -> Callable[..., object]:
        def raising(*arguments: object) -> object:
            if self._left and self._match in str(arguments):
                self._left -= 1
                raise RuntimeError("the driver tripped")
            return call(*arguments)

        return raising


UNFORESEEN = {
    "launch": "item='1.1.0'",
    "allocate": "1/key/",
    "write": "",
    "read": "",
}
"""Calls of the board, and what arguments they raise at: each concerns the first job alone."""


@pytest.mark.parametrize("call", sorted(UNFORESEEN))
async def test_an_unforeseen_error_fails_its_job_alone(store: Store, call: str) -> None:
    board = model_board()
    async with serving(store, RaisingBoard(board, call, 1, UNFORESEEN[call])) as hypervisor:  # type: ignore[arg-type]
        bad = await ended(hypervisor, store, await hypervisor.submit(request(store, batch=2)))
        good = await ended(hypervisor, store, await hypervisor.submit(request(store, batch=2, tenant="other")))
    assert (bad.state, bad.cause) == (JobState.FAILED, "internal-error")
    assert "the driver tripped" in bad.detail
    assert bad.items_done == 0
    assert store.events.list_events(TENANT, bad.id)[-1].state is JobState.FAILED
    assert good.state is JobState.SUCCEEDED
    assert store.outputs.read("other", good.id, "out") == expected(batch=2)
    assert board.state().buffers == ()


async def test_the_last_output_that_cannot_be_read_fails_the_job_though_its_items_are_done(store: Store) -> None:
    board = model_board()
    async with serving(store, RaisingBoard(board, "read", 1)) as hypervisor:  # type: ignore[arg-type]
        bad = await ended(hypervisor, store, await hypervisor.submit(request(store)))
        good = await ended(hypervisor, store, await hypervisor.submit(request(store, salt=1)))
    assert (bad.state, bad.cause, bad.failed_item) == (JobState.FAILED, "internal-error", 0)
    whats = [(event.what, event.state) for event in store.events.list_events(TENANT, bad.id)]
    assert (JobEventKind.STATE, JobState.SUCCEEDED) not in whats
    assert JobEventKind.RESULT not in [what for what, _ in whats]
    assert good.state is JobState.SUCCEEDED


@pytest.mark.parametrize("call", ["load", "free", "wait", "prefetch", "now_s"])
async def test_an_unforeseen_error_that_can_be_survived_is(
    store: Store, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.hypervisor.engine.engine_worker.RETRY_S", 0.0)
    board = model_board()
    async with serving(store, RaisingBoard(board, call, 2)) as hypervisor:  # type: ignore[arg-type]
        records = [await hypervisor.submit(request(store, batch=2, salt=number)) for number in range(2)]
        records = [await ended(hypervisor, store, record) for record in records]
    assert [record.state for record in records] == [JobState.SUCCEEDED] * 2
    assert store.outputs.read(TENANT, records[1].id, "out") == expected(batch=2, salt=1)


async def test_the_loop_gives_up_on_an_error_that_does_not_go_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.hypervisor.engine.engine_worker.RETRY_S", 0.0)
    board = RaisingBoard(model_board(), "wait", 1000)
    hypervisor = Hypervisor(board, POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="tripped"):
        await hypervisor.run()
