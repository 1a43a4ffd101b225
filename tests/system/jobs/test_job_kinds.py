# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A third kind of jobs, made here, runs beside applications, survives crashes, and is submitted over HTTP.

Neither the engine nor the API knows of it: both are given a value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx
import pytest
from bitstreams_kit import package
from eddy.api.request_bodies.kinds import ONLY_APPLICATIONS, KindView, ServedKind, views_with
from eddy.api.service.server import Server, ServerSettings
from eddy.board.port.port import BoardEvent, Launch
from eddy.core.applications import Application
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import Content
from eddy.hypervisor.jobs.work import BoardOffer, Fetch, JobMemory
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from eddy.store.db.rows import StoredJob
from eddy.store.job_tables.submissions import Submission
from hypervisor_kit import CHAIN, KEY, MODULES, TENANT, expected, item, model_board, request
from pydantic import BaseModel, ConfigDict, Field

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
        return m.JobSpec.of(record, CHAIN, collects=m.OutputCollection.LAST_ITEM, in_place=True)

    def contents(self, fetch: Fetch) -> Content:
        data = {"in": item, "key": lambda _: KEY}
        return lambda spec, number: ((0, data[spec.name](number)),) if spec.name in data else ()

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> Launch:
        return memory.launch(CHAIN, launch, MODULES)

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        yield "report", b"".join(memory.read("out", number) for number in range(item + 1))

    def log(self, memory: JobMemory) -> bytes:
        return b"echoed"

    def explain(self, event: BoardEvent, module: str) -> str:
        return ""


class Echo:
    """Takes requests whose application begins with `echo:`."""

    prepares_quickly = True

    def __init__(self) -> None:
        self.offer = BoardOffer()

    def handles(self, request: JobRequest) -> bool:
        return request.kind == "echo" or request.application.startswith(ECHO)

    def set_offer(self, offer: BoardOffer) -> None:
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
    while not made.is_idle:
        made.step()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "eddy.sqlite3")


def test_another_kind_of_jobs_needs_no_change_of_the_engine(store: Store) -> None:
    kind = Echo()
    made = engine(store, kind)
    made.start()
    assert {"rotate", "mix", "flip"} <= kind.offer.pipeline
    echo = made.intake.accept(JobRequest(TENANT, "echo:a", batch=3))
    usual = made.intake.accept(request(store, batch=2))
    with pytest.raises(InvalidRequest, match="at most 4"):
        made.intake.accept(JobRequest(TENANT, "echo:b", batch=5))
    run(made)
    assert {store.jobs.get(TENANT, job.id).state for job in (echo, usual)} == {JobState.SUCCEEDED}
    assert store.outputs.read(TENANT, echo.id, "report") == expected(3)
    assert [store.jobs.get(TENANT, job.id).kind for job in (echo, usual)] == ["echo", "application"]
    assert store.outputs.log(TENANT, echo.id) == "echoed"
    assert store.outputs.read(TENANT, usual.id, "out") == expected(2)


def test_it_begins_again_where_the_board_is_lost_and_its_items_work_in_place(store: Store) -> None:
    first = engine(store, Echo())
    first.start()
    echo = first.intake.accept(JobRequest(TENANT, "echo:a", batch=3))
    while first.machine.jobs.get(echo.id) is None or first.machine.jobs[echo.id].items.committed < 1:
        first.step()
    second = engine(store, Echo())
    second.start()
    assert second.machine.jobs[echo.id].items.committed == 0
    run(second)
    assert store.outputs.read(TENANT, echo.id, "report") == expected(3)


def test_without_its_kind_a_job_of_an_earlier_life_fails_with_a_sentence(store: Store) -> None:
    first = engine(store, Echo())
    first.start()
    echo = first.intake.accept(JobRequest(TENANT, "echo:a"))
    second = Engine(model_board(), POLICIES["fcfs"](), store, {CHAIN.name: CHAIN}, MODULES)
    second.start()
    record = store.jobs.get(TENANT, echo.id)
    assert (record.state, record.cause) == (JobState.FAILED, "application-gone")
    assert "not installed any more" in record.detail


class EchoBody(BaseModel):
    """What a submission over HTTP says of an echo."""

    model_config = ConfigDict(extra="forbid", strict=True)

    items: int = Field(ge=1, le=4)


class HttpEcho(Echo):
    """An echo of as many items as its body says."""

    def prepare(self, request: JobRequest, store: Store) -> EchoWork:
        assert request.body is not None
        return super().prepare(dataclasses.replace(request, batch=request.body["items"]), store)


VIEW = KindView("echo", "An echo", ONLY_APPLICATIONS, False, True, lambda _record, _apps: ("report",), EchoBody)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings, board=model_board(), kinds=[ServedKind(HttpEcho(), VIEW)]).background() as running:
        yield running


def test_it_is_submitted_over_http_where_the_server_is_given_it(server: Server) -> None:
    key = server.key_file.read_text().strip()
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=180) as client:
        job = client.post("/v1/jobs", json={"echo": {"items": 3}, "priority": 3}).json()
        assert (job["kind"], job["batch"], job["priority"]) == ("echo", 3, 3)
        events = client.get(job["links"]["events"]).text
        assert "succeeded" in events
        job = client.get(job["links"]["self"]).json()
        assert job["state"] == "succeeded"
        assert client.get(job["outputs"]["report"]).content == expected(3)
        assert client.get(job["links"]["log"]).text == "echoed"
        refused = client.post("/v1/jobs", json={"echo": {"items": 5}})
        assert (refused.status_code, refused.json()["field"]) == (422, "echo.items")
        refused = client.post("/v1/jobs", json={"echo": {"items": 1}, "batch": 2})
        assert (refused.status_code, refused.json()["field"]) == (422, "batch")
        refused = client.post("/v1/jobs", json={"echo": {"items": 1}, "application": "chain"})
        assert "exactly one of application and kernel and echo" in refused.json()["detail"]
        schema = client.get("/openapi.json").json()["components"]["schemas"]["JobSubmission"]
        assert {"application", "kernel", "echo"} <= set(schema["properties"])


def test_a_server_that_was_not_given_it_refuses_it(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings, board=model_board()).background() as server:
        key = server.key_file.read_text().strip()
        asked, headers = {"echo": {"items": 1}}, {"Authorization": f"Bearer {key}"}
        refused = httpx.post(f"{server.url}/v1/jobs", json=asked, headers=headers, timeout=180)
    assert (refused.status_code, refused.json()["field"]) == (422, "echo")


def test_two_kinds_of_one_name_are_refused() -> None:
    with pytest.raises(Conflict, match="two kinds of jobs called kernel"):
        views_with([dataclasses.replace(VIEW, name="kernel")])
