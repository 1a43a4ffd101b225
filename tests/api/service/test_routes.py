# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the routes do when they are asked rightly."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from eddy.api.dependencies.context import AWAY, STOPPED
from eddy.core.errors import BoardUnreachable
from eddy.core.jobs import JobState
from eddy.core.records import SlotStatus

pytestmark = pytest.mark.anyio


async def test_a_submission_answers_202_with_location_and_the_job(server: Any) -> None:
    blob = await server.put(bytes(range(12)))
    body = {"application": "invert", "batch": 2, "priority": 9, "inputs": {"image": [blob]}, "deadline_s": 2.5}
    async with server.client() as client:
        answer = await client.post("/v1/jobs", json=body)
        assert answer.status_code == 202
        job = answer.json()
        assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
        assert (await client.get(answer.headers["location"])).json() == job
    assert (job["tenant"], job["application"], job["batch"], job["priority"]) == ("ada", "invert", 2, 9)
    assert (job["state"], job["arrival_s"], job["deadline_s"]) == ("queued", 1.0, 3.5)
    assert job["waiting_s"] == 0
    assert job["waiting"] == {"dependency": 0, "slot": 0, "memory": 0, "preempted": 0, "maintenance": 0}
    assert job["progress"] == {"done": 0, "total": 2}
    assert job["error"] is None
    assert job["outputs"] == {}
    assert server.store.jobs.request("ada", job["id"]).inputs == {"image": (blob,)}


async def test_the_same_key_is_the_same_job_and_another_body_a_conflict(server: Any) -> None:
    blob = await server.put(bytes(6))
    body = {"application": "invert", "inputs": {"image": [blob]}}
    headers = {"Idempotency-Key": "once"}
    async with server.client() as client:
        first = await client.post("/v1/jobs", json=body, headers=headers)
        second = await client.post("/v1/jobs", json=body, headers=headers)
        other = await client.post("/v1/jobs", json={**body, "priority": 9}, headers=headers)
    assert first.json()["id"] == second.json()["id"]
    assert other.status_code == 409
    assert other.json()["code"] == "conflict"
    assert len(server.store.lists.page(None)) == 1


async def test_a_tenant_over_its_quota_hears_the_limit(server: Any) -> None:
    for _ in range(3):
        await server.submit()
    async with server.client() as client:
        full = {"application": "invert", "inputs": {"image": [hashlib.sha256(bytes(range(6))).hexdigest()]}}
        answer = await client.post("/v1/jobs", json=full)
        assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (429, "quota-exceeded", 3)
        large = b"z" * 1001
        answer = await client.put(f"/v1/blobs/{hashlib.sha256(large).hexdigest()}", content=large)
        assert (answer.status_code, answer.json()["limit"]) == (429, 1000)
    assert (await server.submit("grace"))["state"] == "queued"


async def test_pages_hold_every_job_once_newest_first(server: Any) -> None:
    for _ in range(3):
        await server.submit("ada")
    await server.submit("grace")
    seen: list[int] = []
    async with server.client() as client:
        cursor = ""
        while True:
            page = (await client.get(f"/v1/jobs?limit=2{cursor}")).json()
            seen += [job["id"] for job in page["jobs"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == [3, 2, 1]
        assert (await client.get("/v1/jobs?state=running")).json()["jobs"] == []
    async with server.client("operator") as client:
        assert [job["id"] for job in (await client.get("/v1/jobs")).json()["jobs"]] == [4, 3, 2, 1]
        assert [job["id"] for job in (await client.get("/v1/jobs?tenant=grace")).json()["jobs"]] == [4]


async def test_a_tenant_sees_nothing_of_another(server: Any) -> None:
    job = await server.submit("ada")
    record = server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    here = f"/v1/jobs/{job['id']}"
    async with server.client("grace") as client:
        for method, path in (
            ("GET", here),
            ("DELETE", here),
            ("GET", f"{here}/events"),
            ("GET", f"{here}/outputs/result"),
        ):
            assert (await client.request(method, path)).status_code == 404
        blob = hashlib.sha256(bytes(range(6))).hexdigest()
        assert (await client.head(f"/v1/blobs/{blob}")).status_code == 404
        stolen = {"application": "invert", "inputs": {"image": [blob]}}
        assert (await client.post("/v1/jobs", json=stolen)).status_code == 422
    async with server.client("operator") as client:
        assert (await client.get(here)).json()["tenant"] == record.tenant == "ada"
        assert (await client.get(f"{here}/outputs/result")).content == bytes(6)


async def test_outputs_come_whole_and_only_after_success(server: Any) -> None:
    job = await server.submit()
    here = f"/v1/jobs/{job['id']}"
    async with server.client() as client:
        early = await client.get(f"{here}/outputs/result")
        assert (early.status_code, early.json()["code"]) == (409, "conflict")
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=b"abcdef")
        done = (await client.get(here)).json()
        assert done["outputs"] == {"result": f"{here}/outputs/result"}
        answer = await client.get(done["outputs"]["result"])
        assert answer.content == b"abcdef"
        assert answer.headers["content-type"] == "application/octet-stream"
        wrong = await client.get(f"{here}/outputs/colour")
        assert (wrong.status_code, wrong.json()["allowed"]) == (404, ["result"])


async def test_a_failed_job_says_why(server: Any) -> None:
    job = await server.submit()
    record = server.store.jobs.get("ada", job["id"])
    changes = {"failed_task": 0, "failed_item": 0, "waiting_s": {"slot": 0.5}, "running_s": 0.25}
    server.hypervisor.move(record, JobState.FAILED, cause="time-limit", detail="invert, item 0", **changes)
    async with server.client() as client:
        shown = (await client.get(f"/v1/jobs/{job['id']}")).json()
    assert shown["error"] == {
        "code": "job-failed",
        "cause": "time-limit",
        "message": "invert, item 0",
        "task": 0,
        "item": 0,
    }
    assert (shown["waiting_s"], shown["running_s"], shown["response_s"]) == (0.5, 0.25, 0.0)


async def test_cancelling_twice_is_cancelling_and_after_success_a_conflict(server: Any) -> None:
    job = await server.submit()
    async with server.client() as client:
        for _ in range(2):
            answer = await client.delete(f"/v1/jobs/{job['id']}")
            assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
        done = await server.submit()
        server.hypervisor.finish(server.store.jobs.get("ada", done["id"]), result=bytes(6))
        assert (await client.delete(f"/v1/jobs/{done['id']}")).status_code == 409


async def until(holds: Callable[[], object]) -> None:
    with anyio.fail_after(180):
        while not holds():
            await anyio.sleep(0.001)


def parse(text: str) -> list[tuple[str, dict[str, Any], str | None]]:
    """(kind, data, id) of each event of a stream; heartbeats dropped."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            events.append((fields["event"], json.loads(fields["data"]), fields.get("id")))
    return events


async def test_events_stream_with_ids_heartbeats_and_an_end(server: Any) -> None:
    job = await server.submit()
    record = server.store.jobs.get("ada", job["id"])

    async def later() -> None:
        await until(lambda: server.hypervisor.followers.has_followers([record.id]))
        await anyio.sleep(0.1)  # a beat is due every 0.02 s
        server.hypervisor.finish(server.hypervisor.move(record, JobState.PLACED), result=bytes(6))

    async with anyio.create_task_group() as group, server.client() as client:
        group.start_soon(later)
        answer = await client.get(f"/v1/jobs/{job['id']}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.count(": still here") >= 1
    events = parse(answer.text)
    assert [kind for kind, _, _ in events] == ["submitted", "state", "state", "end"]
    assert [data.get("state") for _, data, _ in events] == [None, "placed", "succeeded", None]
    numbers = [int(number) for _, _, number in events[:-1] if number]
    assert numbers == sorted(numbers)
    async with server.client() as client:
        again = await client.get(f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": str(numbers[1])})
        assert [kind for kind, _, _ in parse(again.text)] == ["state", "end"]
        none = await client.get(f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": str(numbers[-1])})
        assert none.status_code == 204


async def test_blobs_are_stored_once_and_dropped(server: Any) -> None:
    name = hashlib.sha256(b"abc").hexdigest()
    async with server.client() as client:
        assert (await client.put(f"/v1/blobs/{name}", content=b"abc")).status_code == 201
        again = await client.put(f"/v1/blobs/{name}", content=b"abc")
        assert (again.status_code, again.json()) == (200, {"sha256": name, "bytes": 3})
        assert (await client.head(f"/v1/blobs/{name}")).status_code == 200
        assert (await client.delete(f"/v1/blobs/{name}")).status_code == 204
        assert (await client.head(f"/v1/blobs/{name}")).status_code == 404
        job = await server.submit()
        needed = server.store.jobs.request("ada", job["id"]).inputs["image"][0]
        assert (await client.delete(f"/v1/blobs/{needed}")).status_code == 409


async def test_an_added_application_is_offered_and_survives_a_restart(start: Any, package: dict[str, Any]) -> None:
    server = start()
    package["application"] = "invert_again"
    async with server.client("operator") as client:
        first = await client.post("/v1/apps", json=package)
        assert (first.status_code, first.headers["location"]) == (201, "/v1/apps/invert_again")
        assert (await client.post("/v1/apps", json=package)).status_code == 200
    async with start().client() as client:
        apps = (await client.get("/v1/apps")).json()["apps"]
        assert [app["name"] for app in apps] == ["invert", "invert_again"]
        shown = (await client.get("/v1/apps/invert_again")).json()
    assert shown == {**first.json()}
    assert shown["buffers"][0] == {
        "name": "image", "role": "input", "bytes": 6, "dtype": "u1", "shape": [2, 3], "shipped": False, "picture": False
    }  # fmt: skip


async def test_slots_hide_other_tenants(server: Any) -> None:
    server.hypervisor.statuses = (
        SlotStatus(1, "pipeline", "slot1", "inverter", "grace", 7, 0, 2, "running", 0.5),
        SlotStatus(0, "pipeline", "slot0", "inverter", "ada", 6, 0, None, "idle", 0.25),
    )
    async with server.client() as client:
        answer = (await client.get("/v1/slots")).json()
    assert [slot["slot"] for slot in answer["slots"]] == [0, 1]
    own, other = answer["slots"]
    assert (own["mine"], own["module"], own["job"]) == (True, "inverter", 6)
    assert (other["mine"], other["phase"]) == (False, "running")
    assert [other[name] for name in ("module", "tenant", "job", "task", "item")] == [None] * 5
    async with server.client("operator") as client:
        assert (await client.get("/v1/slots")).json()["slots"][1]["tenant"] == "grace"


async def test_a_new_tenant_gets_a_key_that_works_and_is_not_kept(server: Any) -> None:
    body = {"id": "edsger", "quota": {"max_jobs": 2}}
    async with server.client("operator") as client:
        created = await client.post("/v1/admin/tenants", json=body)
        assert created.status_code == 201
        key = created.json()["key"]
        assert (await client.post("/v1/admin/tenants", json=body)).status_code == 409
        listed = (await client.get("/v1/admin/tenants")).json()["tenants"]
    assert [tenant["id"] for tenant in listed] == ["ada", "edsger", "grace", "operator"]
    assert all("key" not in tenant for tenant in listed)
    assert key not in str(server.store.tenants.all())
    server.keys["edsger"] = key
    assert (await server.submit("edsger"))["tenant"] == "edsger"


async def test_health_readiness_and_a_hypervisor_that_stops(start: Any) -> None:
    server = start()
    server.hypervisor.up = False
    async with server.client(None) as client:
        assert (await client.get("/readyz")).json() == {"status": "starting", "detail": ""}
        async with server.client() as tenant:
            answer = await tenant.post("/v1/jobs", json={"application": "invert"})
            assert (answer.status_code, answer.json()["code"]) == (503, "board-unreachable")
        async with server.app.router.lifespan_context(server.app):
            server.hypervisor.up = True
            await until(lambda: server.app.state.context.ready)
            assert (await client.get("/readyz")).status_code == 200
            assert (await client.get("/healthz")).json()["status"] == "ok"
    broken = start()
    broken.hypervisor.crash = RuntimeError("the board is gone")
    async with broken.app.router.lifespan_context(broken.app):
        await until(lambda: broken.app.state.context.failure)
        async with broken.client() as client:
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
            answer = await client.post("/v1/jobs", json={"application": "invert"})
            assert (answer.status_code, answer.json()["code"]) == (503, "board-unreachable")
            assert answer.json()["detail"] == STOPPED
            async with broken.client("operator") as operator:
                told = (await operator.post("/v1/jobs", json={"application": "invert"})).json()["detail"]
            assert "the board is gone" in told
            assert (await client.get("/v1/jobs")).status_code == 200


async def test_a_board_that_is_away_shows_everywhere_and_jobs_are_kept_for_it(server: Any) -> None:
    server.hypervisor.lost = "The board is away: no boardd answers at /run/eddy.sock."
    async with server.client(None) as client:
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
        assert ready.json()["detail"] == AWAY
        async with server.client("ada") as ada, server.client("operator") as operator:
            assert (await ada.get("/v1/overview")).json()["detail"] == AWAY
            told = (await operator.get("/v1/overview")).json()["detail"]
            assert told == "The board is away: no boardd answers at /run/eddy.sock."
        async with server.client("operator") as operator:
            assert "\neddy_up 0.0" in (await operator.get("/metrics")).text
        assert (await client.get("/healthz")).status_code == 200
        assert (await server.submit())["state"] == "queued"
        server.hypervisor.lost = ""
        assert (await client.get("/readyz")).json() == {"status": "ok", "detail": ""}
        async with server.client("operator") as operator:
            assert "\neddy_up 1.0" in (await operator.get("/metrics")).text


async def test_metrics_count_jobs_slots_and_requests(server: Any) -> None:
    await server.submit()
    server.hypervisor.statuses = (SlotStatus(0, "pipeline", "slot0", phase="running"),)
    for who in (None, "ada"):
        async with server.client(who) as client:
            assert (await client.get("/metrics")).status_code == (403 if who else 401)
    async with server.client("operator") as client:
        text = (await client.get("/metrics")).text
    assert 'eddy_jobs{state="queued"} 1.0' in text
    assert 'eddy_slots{phase="running"} 1.0' in text
    assert 'eddy_http_requests_total{method="POST",route="/v1/jobs",status="202"} 1.0' in text
    assert "ada" not in text


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/1"])
async def test_reading_waits_for_the_disk_beside_the_event_loop(
    server: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    blob = await server.put(bytes(6))
    async with server.client() as client:
        await client.post("/v1/jobs", json={"application": "invert", "inputs": {"image": [blob]}})
        read, threads = server.store.database.fresh_rows, list[int]()

        def noted(query: str, *arguments: object) -> object:
            threads.append(threading.get_ident())
            return read(query, *arguments)

        monkeypatch.setattr(server.store.database, "fresh_rows", noted)
        monkeypatch.setattr(type(server.store.database), "settling", True)
        assert (await client.get(path)).status_code == 200
    assert threads
    assert threading.get_ident() not in threads


async def test_which_socket_nobody_answers_at_is_told_to_operators_alone(server: Any) -> None:
    async def unreachable(request: Any) -> Any:
        raise BoardUnreachable("no boardd answers at /run/eddy.sock (Connection refused)")

    server.hypervisor.submit = unreachable
    said = {}
    for who in ("ada", "operator"):
        async with server.client(who) as client:
            answer = await client.post("/v1/jobs", json={"application": "invert"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        said[who] = answer.text
    assert "/run/eddy.sock" in said["operator"]
    assert "/run/eddy.sock" not in said["ada"]
    assert "try again soon" in said["ada"]
