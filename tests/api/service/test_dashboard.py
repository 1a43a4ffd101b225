# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page, the sessions of browsers, and the one answer they show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from eddy.api.access.sessions import COOKIE, HEADER
from eddy.api.answers.overview import ENDED, JOBS
from eddy.api.routes.overview import ENTRIES
from eddy.core.records import JobEvent, JobEventKind
from eddy.hypervisor.forecast.estimator import Expectation, JobEstimate
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio


async def test_a_browser_logs_in_once_and_out_again(server: Any) -> None:
    async with server.client(None) as browser:
        assert (await browser.get("/v1/overview")).status_code == 401
        assert (await browser.get("/v1/session")).status_code == 401
        answer = await browser.post("/v1/session", json={"key": server.keys["ada"]})
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert server.keys["ada"] not in cookie + answer.text
        token = answer.json()["csrf_token"]
        assert (await browser.get("/v1/session")).json() == {"tenant": "ada", "operator": False, "csrf_token": token}
        assert (await browser.get("/v1/overview")).json()["viewer"] == "ada"
        others = {"Authorization": f"Bearer {server.keys['grace']}"}  # a key decides; the token is not its owner's
        shown = (await browser.get("/v1/session", headers=others)).json()
        assert (shown["tenant"], shown["csrf_token"]) == ("grace", "")
        assert (await browser.delete("/v1/session")).status_code == 403
        assert (await browser.delete("/v1/session", headers={HEADER: token})).status_code == 204
        assert (await browser.get("/v1/overview")).status_code == 401


async def test_what_changes_something_needs_the_sessions_token(server: Any) -> None:
    job = await server.submit("ada")
    async with server.client(None) as browser:
        token = (await browser.post("/v1/session", json={"key": server.keys["ada"]})).json()["csrf_token"]
        for headers in ({}, {HEADER: "x" + token}, {HEADER: ""}):
            refused = await browser.delete(f"/v1/jobs/{job['id']}", headers=headers)
            assert refused.status_code == 403
            assert refused.json()["field"] == HEADER
        assert (await browser.get(f"/v1/jobs/{job['id']}")).json()["state"] == "queued"
        assert (await browser.delete(f"/v1/jobs/{job['id']}", headers={HEADER: token})).status_code == 202


async def test_a_session_of_one_is_not_anothers(server: Any) -> None:
    job = await server.submit("ada")
    async with server.client(None) as browser:
        await browser.post("/v1/session", json={"key": server.keys["grace"]})
        assert (await browser.get(f"/v1/jobs/{job['id']}")).status_code == 404
        seen = (await browser.get("/v1/overview")).json()
        assert seen["jobs"] == seen["tenants"] == []
        assert seen["counts"] == {}
    async with server.client(None) as browser:
        for wrong in ("", "x" * 43, "%00", "a" * 4000):
            assert (await browser.get("/v1/overview", headers={"Cookie": f"{COOKIE}={wrong}"})).status_code == 401
        assert (await browser.post("/v1/session", json={"key": "eddy_nobody"})).status_code == 401


async def test_the_overview_shows_a_tenant_its_own_and_the_operator_everything(server: Any) -> None:
    first, second = await server.submit("ada"), await server.submit("grace")
    events = [
        JobEvent(0, job["id"], who, 1.5, JobEventKind.ITEM_DONE, slot=place, task=0, item=0, started_s=1.25)
        for place, (job, who) in enumerate(((first, "ada"), (second, "grace")))
    ]
    server.store.commit(Commit(events=tuple(events)))
    seen = {}
    for who in ("ada", "operator"):
        async with server.client(who) as client:
            seen[who] = (await client.get("/v1/overview")).json()
    assert [job["id"] for job in seen["ada"]["jobs"]] == [first["id"]]
    assert seen["ada"]["counts"] == {"queued": 1}
    assert [(span["tenant"], span["slot"], span["start_s"]) for span in seen["ada"]["spans"]] == [("ada", 0, 1.25)]
    assert [job["id"] for job in seen["operator"]["jobs"]] == [first["id"], second["id"]]
    assert seen["operator"]["counts"] == {"queued": 2}
    assert seen["operator"]["tenants"] == [
        {"tenant": who, "display_name": "", "jobs": {"queued": 1}} for who in ("ada", "grace")
    ]
    assert {span["tenant"] for span in seen["operator"]["spans"]} == {"ada", "grace"}
    assert seen["operator"]["ready"]


async def test_jobs_that_ended_are_shown_newest_first(server: Any) -> None:
    jobs = [await server.submit("ada") for _ in range(3)]
    for job in (jobs[2], jobs[0]):
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    async with server.client("ada") as client:
        seen = (await client.get("/v1/overview")).json()
    assert [job["id"] for job in seen["ended"]] == [jobs[2]["id"], jobs[0]["id"]]
    assert [job["id"] for job in seen["jobs"]] == [jobs[1]["id"]]


async def test_the_page_lets_a_browser_run_nothing_else(server: Any) -> None:
    async with server.client(None) as client:
        page = await client.get("/")
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        again = await client.get("/", headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        parts = re.findall(r'(?:src|href)="(/web/[^"]+)"', page.text)
        assert len(parts) >= 3
        total = len(page.content)
        for entry in files("eddy.web").joinpath("static").iterdir():
            if entry.name != "index.html":
                answer = await client.get(f"/web/{entry.name}")
                assert answer.content == entry.read_bytes()
                total += len(answer.content)
        for part in parts:
            assert (await client.get(part)).status_code == 200
        assert total < 300_000
        assert (await client.get("/web/nothing.js")).status_code == 404
        assert (await client.get("/web/../dashboard.py")).status_code == 404


async def test_a_page_with_all_it_shows_is_300_kb_at_most(start: Callable[..., Any]) -> None:
    """The files, and what they ask first, where there is as much to show as is ever shown; no byte is compressed."""
    server = start()
    tenant = server.store.tenants.get("ada")
    server.store.tenants.put(replace(tenant, quota=replace(tenant.quota, max_jobs=100)))
    for _ in range(ENDED):
        job = await server.submit(labels={"experiment": "x" * 60})
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    for _ in range(JOBS):
        job = await server.submit(labels={"experiment": "x" * 60})
        server.hypervisor.told[job["id"]] = JobEstimate(1.0, 7, 7, Expectation(1.1, 2.2), Expectation(3.3, 4.4), True)
    done = [
        JobEvent(0, job["id"], "ada", 1.0, JobEventKind.ITEM_DONE, slot=0, task=0, item=number, started_s=1 / 3)
        for number in range(ENTRIES)
    ]
    server.store.commit(Commit(events=tuple(done)))
    asked = ("/v1/session", "/v1/overview", "/v1/market", "/v1/quota", "/v1/usage", "/v1/admin/audit?last=20")
    async with server.client(None) as browser:
        page = await browser.get("/")
        sizes = {"/": len(page.content)}
        await browser.post("/v1/session", json={"key": server.keys["operator"]})
        for path in (*(f"/web/{entry.name}" for entry in files("eddy.web").joinpath("static").iterdir()), *asked):
            sizes[path] = len((await browser.get(path)).content)
        shown = (await browser.get("/v1/overview")).json()
    assert (len(shown["jobs"]), len(shown["ended"]), len(shown["spans"])) == (JOBS, ENDED, ENTRIES)
    assert sum(sizes.values()) <= 300_000, sizes


def test_nothing_of_the_page_comes_from_elsewhere_or_is_made_of_text() -> None:
    for entry in files("eddy.web").joinpath("static").iterdir():
        text = entry.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//cdn|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), (
            entry.name
        )
        assert not re.search(r"\son\w+=|\sstyle=", text) or entry.name.endswith(".js"), entry.name
