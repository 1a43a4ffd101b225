"""A third kind of jobs, made here, runs beside applications and survives crashes; the engine knows nothing of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest
from eddy.board.port import BoardEvent, Launch
from eddy.core.applications import Application
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor import messages as m
from eddy.hypervisor.buffers import Content
from eddy.hypervisor.engine import Engine
from eddy.hypervisor.work import Fetch, JobMemory, Offer
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.rows import StoredJob
from eddy.store.submissions import Submission
from hypervisor_kit import CHAIN, KEY, MODULES, TENANT, expected, item, model_board, request

ECHO = "echo:"


@dataclasses.dataclass(frozen=True)
class EchoWork:
    """The chain on made-up inputs, which leaves one report of the last item and prints a line."""

    request: JobRequest

    @property
    def application(self) -> Application:
        return CHAIN

    def submission(self) -> Submission:
        return Submission(self.request, kind="echo")

    def spec(self, record: JobRecord) -> m.JobSpec:
        return m.JobSpec.of(record, CHAIN, collects=m.Collects.LAST_ITEM, in_place=True)

    def contents(self, fetch: Fetch) -> Content:
        data = {"in": item, "key": lambda _: KEY}
        return lambda spec, number: ((0, data[spec.name](number)),) if spec.name in data else ()

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        return memory.launch(CHAIN, launch, MODULES)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        yield "report", b"".join(memory.read("out", number) for number in range(item + 1))

    def log(self, memory: JobMemory) -> bytes:
        return b"echoed"

    def explain(self, event: BoardEvent) -> str:
        return ""


class Echo:
    """Takes requests whose application begins with `echo:`."""

    quick = True

    def __init__(self) -> None:
        self.offer = Offer()

    def takes(self, request: JobRequest) -> bool:
        return request.application.startswith(ECHO)

    def offered(self, offer: Offer) -> None:
        self.offer = offer

    def prepare(self, request: JobRequest, store: Store) -> EchoWork:
        if request.batch > 4:
            raise InvalidRequest("an echo has at most 4 items", field="batch", allowed="1..4")
        return EchoWork(request)

    def restore(self, stored: StoredJob, store: Store) -> EchoWork:
        return EchoWork(stored.request)


def engine(store: Store, kind: Echo) -> Engine:
    return Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES, kinds=(kind,))


def run(made: Engine) -> None:
    while not made.idle:
        made.step()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite3")


def test_another_kind_of_jobs_needs_no_change_of_the_engine(store: Store) -> None:
    kind = Echo()
    made = engine(store, kind)
    made.start()
    assert {"rotate", "mix", "flip"} <= kind.offer.pipeline
    echo = made.accept(JobRequest(TENANT, "echo:a", batch=3))
    usual = made.accept(request(store, batch=2))
    with pytest.raises(InvalidRequest, match="at most 4"):
        made.accept(JobRequest(TENANT, "echo:b", batch=5))
    run(made)
    assert {store.job(TENANT, job.id).state for job in (echo, usual)} == {JobState.SUCCEEDED}
    assert store.output(TENANT, echo.id, "report") == expected(3)
    assert [store.job(TENANT, job.id).kind for job in (echo, usual)] == ["echo", "application"]
    assert store.log(TENANT, echo.id) == "echoed"
    assert store.output(TENANT, usual.id, "out") == expected(2)


def test_it_begins_again_where_the_board_is_lost_and_its_items_work_in_place(store: Store) -> None:
    first = engine(store, Echo())
    first.start()
    echo = first.accept(JobRequest(TENANT, "echo:a", batch=3))
    while first.machine.jobs.get(echo.id) is None or first.machine.jobs[echo.id].committed < 1:
        first.step()
    second = engine(store, Echo())
    second.start()
    assert second.machine.jobs[echo.id].committed == 0
    run(second)
    assert store.output(TENANT, echo.id, "report") == expected(3)


def test_without_its_kind_a_job_of_an_earlier_life_fails_with_a_sentence(store: Store) -> None:
    first = engine(store, Echo())
    first.start()
    echo = first.accept(JobRequest(TENANT, "echo:a"))
    second = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    second.start()
    record = store.job(TENANT, echo.id)
    assert (record.state, record.cause) == (JobState.FAILED, "application-gone")
    assert "not installed any more" in record.detail
