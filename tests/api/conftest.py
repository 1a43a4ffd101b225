# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A server in process: the real application and store, over a hypervisor that ends jobs when a test says so."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from eddy.api.access.keys import KeyHasher
from eddy.api.dependencies.context import ApiSettings
from eddy.api.service.app import create_app
from eddy.core.applications import Application
from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.jobs import JobState
from eddy.core.leases import LeaseOptions, LeaseRecord, LeaseRules
from eddy.core.numbering import Numbering
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest, SlotStatus
from eddy.core.sessions import SessionFigures, SessionOptions, SessionRecord
from eddy.core.slots import Pool
from eddy.core.tenants import Quota, TenantRecord
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor import Hypervisor
from eddy.hypervisor.engine.job_event_reader import JobEventReader
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.hypervisor.engine.lease_service import LeaseStatus
from eddy.hypervisor.engine.operator_commands import OperatorCommands
from eddy.hypervisor.engine.session_service import Batch, BatchAnswer
from eddy.hypervisor.forecast.estimator import Estimator, Expectation, JobEstimate
from eddy.hypervisor.forecast.fabric import GivenSlot
from eddy.hypervisor.forecast.job_standing import JobAlone, JobStanding
from eddy.hypervisor.forecast.outlook import QueueOutlook
from eddy.hypervisor.forecast.queue import QueuePicture
from eddy.hypervisor.forecast.simulate import QueueForecast
from eddy.hypervisor.forecast.trial import JobTrial
from eddy.hypervisor.forecast.waits import WaitNow
from eddy.hypervisor.intake.application_jobs import Admission
from eddy.hypervisor.intake.intake import name_array_job
from eddy.hypervisor.sessions.launches import BuiltProgram
from eddy.hypervisor.sessions.session import Counts, Session
from eddy.model.estimates.calibration import Calibration
from eddy.packages.applications import parse_application
from eddy.packages.catalogue import Catalogue, CatalogueInForce, load_catalogue
from eddy.packages.manifests import parse_module_manifest
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.policy.price.view import PricePolicy
from eddy.store import Store
from eddy.store.db.numbers import Numbers
from eddy.store.db.rows import Commit, ItemOutput
from eddy.store.job_tables.submissions import Submission

INVERT: dict[str, Any] = {
    "application": "invert",
    "max_batch": 4,
    "goal_slots": 1,
    "buffers": {
        "image": {"role": "input", "dtype": "u1", "shape": [2, 3]},
        "result": {"role": "output", "dtype": "u1", "shape": [2, 3]},
    },
    "tasks": [
        {
            "name": "invert",
            "module": "inverter",
            "arguments": {"in": "image", "out": "result"},
            "estimate_us": 10,
            "time_limit_ms": 5,
        }
    ],
    "edges": [],
}
MODULE: dict[str, Any] = {
    "module": "inverter",
    "kind": "hls",
    "files": "inverter.f",
    "register_map": "1.0",
    "clk_hz": 1e8,
    "registers": {
        "in": {"offset": 0x10, "width": 64, "kind": "pointer", "access": "r"},
        "out": {"offset": 0x1C, "width": 64, "kind": "pointer", "access": "w"},
    },
}


class ScriptedOperatorCommands(OperatorCommands):
    """What operators change of a scripted hypervisor, at once."""

    def __init__(self, of: ScriptedHypervisor) -> None:
        self._of = of

    async def drain(self, slot: int, because: str) -> None:
        known = [status.slot for status in self._of.statuses]
        if slot not in known:
            raise NotFound(f"no slot {slot}", field="slot", asked=slot, allowed=known)
        self._of.statuses = tuple(
            dataclasses.replace(status, drained=because) if status.slot == slot else status
            for status in self._of.statuses
        )

    async def close_soon(self, closing: Mapping[int, tuple[float, str]]) -> None:
        self._of.closing = dict(closing)

    async def switch(
        self, policy: DispatchPolicy, pool: Pool = Pool.PIPELINE, kept: tuple[str, str] | None = None
    ) -> None:
        self._of.dispatch = policy.name
        if kept is not None:
            self._of.store.remember(*kept)

    async def switch_price(self, policy: PricePolicy, kept: tuple[str, str] | None = None) -> None:
        self._of.priced = policy.name
        if kept is not None:
            self._of.store.remember(*kept)


class NoSessions:
    """Sessions of a board that has no cluster."""

    def overview(self) -> tuple[Counts, tuple[tuple[SessionRecord, SessionFigures], ...]]:
        return Counts(), ()

    def figures(self, name: str) -> SessionFigures | None:
        return None

    def get(self, name: str, tenant: str | None) -> Session:
        raise NotFound(f"There is no session {name}.", field="session", asked=name)

    async def open(self, tenant: str, options: SessionOptions) -> SessionRecord:
        raise InvalidRequest("This board has no GPU cluster.", field="session", allowed="jobs")

    async def close(self, session: Session, cause: str) -> None:
        raise AssertionError("there is none")

    async def build(self, session: Session, request: KernelRequest) -> BuiltProgram:
        raise AssertionError("there is none")

    async def send(self, name: str, tenant: str | None, batch: Batch) -> BatchAnswer:
        self.get(name, tenant)
        raise AssertionError("there is none")


class NoLeases:
    """Leases of a board that has no slot for them."""

    idle_limit_s = 600.0

    def most_slots(self, slots: int) -> int:
        return LeaseRules().most_slots(slots)

    def standing(self, record: LeaseRecord) -> LeaseStatus:
        return LeaseStatus(record)

    def standings(self, tenant: str | None) -> tuple[LeaseStatus, ...]:
        return ()

    async def open(self, tenant: str, quota: Quota, options: LeaseOptions) -> LeaseRecord:
        raise InvalidRequest("This board has no slot for accelerators.", field="kind")


class ScriptedHypervisor(Hypervisor):
    """The hypervisor's calls over a real store; `finish` and `fail` play the board."""

    def __init__(self, store: Store, catalogue: CatalogueInForce) -> None:
        self.store = store
        self.admission = Admission(catalogue.applications, catalogue.now.modules, {}, catalogue.now.modules)
        self.up = True
        self.clock_s = 1.0
        self.statuses: tuple[SlotStatus, ...] = ()
        self.crash: Exception | None = None
        self.lost = ""
        self.made: dict[int, str] = {}
        self.computing = True
        self.closing: dict[int, tuple[float, str]] = {}
        self.dispatch = "fcfs"
        self.priced = ""
        self.followers = JobSubscriptions()
        self.following = JobEventReader(self.followers, store)
        self.operator = ScriptedOperatorCommands(self)
        self.sessions = NoSessions()  # type: ignore[assignment]
        self.leases = NoLeases()  # type: ignore[assignment]
        self.price = None
        self.queues: tuple[tuple[QueuePicture, QueueForecast], ...] = ()
        self.told: dict[int, JobEstimate] = {}
        self.standing = JobStanding(1.0, WaitNow("slot", "All slots are taken."))
        self.asked = 0
        self.broken: Exception | None = None
        self.gate = anyio.Event()
        self.gate.set()

    @property
    def usable_slots(self) -> frozenset[int]:
        return frozenset(status.slot for status in self.statuses)

    @property
    def computes_results(self) -> bool:
        return self.computing

    @property
    def ready(self) -> bool:
        return self.up

    @property
    def policy(self) -> str:
        return self.dispatch

    @property
    def price_policy(self) -> str:
        return self.priced

    def add_current_wait(self, record: JobRecord) -> JobRecord:
        return record

    def preparation_text(self, job: int) -> str:
        return self.made.get(job, "")

    @property
    def unreachable_reason(self) -> str:
        return self.lost

    def refusal(self, application: Application) -> str:
        return self.admission.runnable(application)

    async def account(self) -> None:
        pass

    async def run(self) -> None:
        if self.crash is not None:
            raise self.crash
        await anyio.sleep_forever()

    async def estimates(self, need: int | None = None, fresh: bool = False) -> QueueOutlook:
        return QueueOutlook(Estimator(Calibration(0.1)), self.queues, dict(self.told))

    async def estimates_at_hand(self, need: int | None, patience_s: float) -> QueueOutlook | None:
        return await self.estimates(need)

    async def job_standing(self, job: int) -> JobStanding:
        return self.standing

    async def solo_times(self, record: JobRecord, application: Application) -> JobAlone:
        return JobAlone(0.25, 0.125)

    async def try_out(self, request: JobRequest) -> JobTrial:
        self.admission.check(request, self.store)
        self.store.submissions.check_admission(request)
        estimate = JobEstimate(self.clock_s, 1, 1, Expectation(1.0, 2.0), Expectation(3.0, 4.0), True)
        return JobTrial(self.clock_s, Pool.PIPELINE, 0.5, 0.0, estimate, (GivenSlot(1, 0, 2, 1.0, 0.1),))

    async def submit(self, request: JobRequest) -> JobRecord:
        self.asked += 1
        if self.broken is not None:
            raise self.broken
        await self.gate.wait()
        self.admission.check(request, self.store)
        record, _ = await anyio.to_thread.run_sync(self.store.submissions.add_job, request, self.clock_s)
        return record

    async def submit_array(self, requests: Sequence[JobRequest]) -> tuple[JobRecord, ...]:
        def check(submission: Submission) -> Submission:
            with name_array_job(submissions.index(submission)):
                self.admission.check(submission.request, self.store)
            return submission

        submissions = [Submission(request) for request in requests]
        records, _ = await anyio.to_thread.run_sync(self.store.arrays.write, submissions, self.clock_s, check)
        return records

    async def cancel_array(self, tenant: str, first: int) -> None:
        for number in self.store.arrays.request_cancel(tenant, first):
            self.move(self.store.jobs.get(tenant, number), JobState.CANCELLED)

    async def cancel(self, tenant: str, job: int) -> JobRecord:
        record = self.store.jobs.request_cancel(tenant, job)
        return record if record.state.is_final else self.move(record, JobState.CANCELLED)

    def slots(self) -> tuple[SlotStatus, ...]:
        return self.statuses

    def now_s(self) -> float:
        return self.clock_s

    def move(
        self, record: JobRecord, state: JobState, results: tuple[ItemOutput, ...] = (), **changes: Any
    ) -> JobRecord:
        ended_s = self.clock_s if state.is_final else None
        record = dataclasses.replace(record, state=state, ended_s=ended_s, **changes)
        event = JobEvent(0, record.id, record.tenant, self.clock_s, JobEventKind.STATE, state=state)
        self.store.commit(Commit(jobs=((record, {}),), events=(event,), results=results))
        self.followers.publish([record.id])
        return record

    def finish(self, record: JobRecord, **outputs: bytes) -> JobRecord:
        size = record.batch
        results = tuple(
            ItemOutput(record.id, name, item, data[item * len(data) // size : (item + 1) * len(data) // size])
            for name, data in outputs.items()
            for item in range(size)
        )
        return self.move(record, JobState.SUCCEEDED, results, items_done=size)


@dataclass
class Server:
    """The application, its parts, and keys of two tenants and the operator."""

    app: Any
    hypervisor: ScriptedHypervisor
    store: Store
    keys: dict[str, str]

    def client(self, who: str | None = "ada") -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.keys[who]}"} if who else {}
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://eddy", headers=headers)

    async def put(self, data: bytes, who: str = "ada") -> str:
        digest = hashlib.sha256(data).hexdigest()
        async with self.client(who) as client:
            assert (await client.put(f"/v1/blobs/{digest}", content=data)).status_code in (200, 201)
        return digest

    async def submit(self, who: str = "ada", **fields: Any) -> dict[str, Any]:
        blob = await self.put(bytes(range(6)), who)
        body = {"application": "invert", "inputs": {"image": [blob]}, **fields}
        async with self.client(who) as client:
            answer = await client.post("/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        job: dict[str, Any] = answer.json()
        return job

    def tell_as(self, numbers: Numbers) -> None:
        """Tell counts so."""
        tell_as(self.store, numbers)


PLAIN = Numbers(Numbering(b"plain", 12, 1 << 62), Numbering(b"plain", 15, 1 << 62))
"""Counts told as they are, so that a test may name a job by it; `test_numbers.py` has them as a server tells them."""


def tell_as(store: Store, numbers: Numbers) -> None:
    """Have every part of a store tell its counts so: they share one object."""
    for name in ("job", "event"):
        object.__setattr__(store.numbers, name, getattr(numbers, name))


def make_server(folder: Path, **limits: Any) -> Server:
    store = Store(":memory:")
    tell_as(store, PLAIN)
    hasher = KeyHasher(b"s" * 32)
    keys = {"ada": "eddy_ada", "grace": "eddy_grace", "operator": "eddy_operator"}
    for name, key in keys.items():
        quota = Quota(max_jobs=3, max_blob_bytes=1000, max_priority=9)
        store.tenants.put(TenantRecord(name, hasher.hash(key), name == "operator", quota))
    modules = {"inverter": parse_module_manifest(MODULE, folder)}
    added = load_catalogue(folder / "nothing", folder / "apps").applications
    shipped = {"invert": parse_application(INVERT)}
    catalogue = CatalogueInForce(Catalogue(modules, {**added, **shipped}), folder / "apps")
    hypervisor = ScriptedHypervisor(store, catalogue)
    settings = ApiSettings(**{"max_body_bytes": 4000, "max_blob_bytes": 2000, "heartbeat_s": 0.02, **limits})
    app = create_app(hypervisor, store, catalogue, hasher, settings)
    app.state.context.running = True
    return Server(app, hypervisor, store, keys)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return make_server(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., Server]:
    """Start a server on the test's directory with some limits; calling it again is a restart with an empty store."""
    return lambda **limits: make_server(tmp_path, **limits)


@pytest.fixture
def package() -> dict[str, Any]:
    return dict(INVERT)
