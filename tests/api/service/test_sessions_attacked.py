# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Browsers' sessions, attacked: by other pages, by other tenants, by whoever reads what is left lying about."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from eddy.api.access.sessions import COOKIE, HEADER, LIFE_S, MAX_OF_A_KEY, MAX_SESSIONS, Sessions
from eddy.core.leases import LeaseRecord
from eddy.core.notices import NoticeKind, Subscription
from eddy.core.records import JobEvent, JobEventKind, SlotStatus
from eddy.core.sessions import SessionRecord
from eddy.core.tenants import Quota, TenantRecord
from eddy.store.db.rows import Commit

pytestmark = pytest.mark.anyio
SECRET_NAMES = ("ada", "invert", "thesis")
"""What grace must not read anywhere: who else is there, what runs for it."""


async def test_no_tenant_ends_the_sessions_of_others(server: Any) -> None:
    async with server.client(None) as operator, server.client(None) as mallory:
        await operator.post("/v1/session", json={"key": server.keys["operator"]})
        for _ in range(MAX_OF_A_KEY + 5):
            mallory.cookies.clear()
            assert (await mallory.post("/v1/session", json={"key": server.keys["ada"]})).status_code == 200
        assert (await operator.get("/v1/session")).json()["tenant"] == "operator"


def test_sessions_of_a_key_are_bounded_and_all_are() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    first, _ = sessions.open("others", "others")
    mine = [sessions.open("mine", "me")[0] for _ in range(MAX_OF_A_KEY + 1)]
    assert sessions.of(mine[0]) is None
    assert None not in [sessions.of(cookie) for cookie in (first, *mine[1:])]
    many = [sessions.open(f"key {number}", "many")[0] for number in range(MAX_SESSIONS)]
    assert None not in [sessions.of(cookie) for cookie in (first, *mine[1:])], "who has most loses one"
    assert sessions.of(many[0]) is None
    assert sessions.of(many[-1]) is not None
    now[0] = LIFE_S
    assert sessions.of(many[-1]) is None
    sessions.close(many[-2])
    sessions.close("unknown")


async def test_a_cookie_planted_before_logging_in_is_worth_nothing_afterwards(server: Any) -> None:
    planted = "planted" * 6
    async with server.client(None) as browser:
        browser.cookies.set(COOKIE, planted, domain="eddy")
        answer = await browser.post("/v1/session", json={"key": server.keys["ada"]})
        given = answer.cookies[COOKIE]
        assert given != planted
        again = await browser.post("/v1/session", json={"key": server.keys["ada"]})
        assert again.cookies[COOKIE] not in (given, planted)
    async with server.client(None) as other:
        for worthless in (planted, given):
            answer = await other.get("/v1/overview", headers={"Cookie": f"{COOKIE}={worthless}"})
            assert answer.status_code == 401


async def test_a_session_ends_with_its_key(server: Any) -> None:
    async with server.client(None) as browser:
        await browser.post("/v1/session", json={"key": server.keys["ada"]})
        server.store.tenants.put(TenantRecord("ada", "another hash", False, Quota()))
        assert (await browser.get("/v1/overview")).status_code == 401


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_a_form_of_another_page_does_nothing(server: Any, media_type: str) -> None:
    """What a page may send elsewhere without asking first is no JSON; what it must ask for it is not allowed."""
    body = json.dumps({"key": server.keys["ada"]})
    foreign = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    async with server.client(None) as browser:
        answer = await browser.post("/v1/session", content=body, headers={**foreign, "Content-Type": media_type})
        assert answer.status_code == 415
        assert "set-cookie" not in answer.headers
        asking = {**foreign, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": HEADER}
        for answer in (await browser.options("/v1/jobs", headers=asking), await browser.get("/", headers=foreign)):
            assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_cookies_of_an_encrypted_server_stay_on_encrypted_lines(server: Any) -> None:
    async with server.client(None) as browser:
        for address, secure in (("https://eddy/v1/session", True), ("http://eddy/v1/session", False)):
            cookie = (await browser.post(address, json={"key": server.keys["ada"]})).headers["set-cookie"]
            assert ("Secure" in cookie, "HttpOnly" in cookie, "SameSite=strict" in cookie) == (secure, True, True)
            assert "Domain" not in cookie


@pytest.mark.parametrize("where", ["key", "api_key", "access_token", "authorization", COOKIE])
async def test_no_key_is_taken_from_an_address(server: Any, where: str) -> None:
    async with server.client(None) as stranger:
        for path in ("/v1/overview", "/v1/market", "/v1/session", "/"):
            answer = await stranger.get(path, params={where: server.keys["ada"]})
            assert answer.status_code == (200 if path == "/" else 401)
            assert server.keys["ada"] not in answer.text


async def test_keys_and_cookies_are_in_no_log_and_no_refusal(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = server.keys["ada"]
    texts = []
    async with server.client(None) as browser:
        for body in ({"key": key, "more": 1}, {"key": [key]}, {"key": key * 30}, {"kye": key}, {"key": key + "x"}):
            refused = await browser.post("/v1/session", json=body)
            assert refused.status_code in (401, 422)
            texts.append(refused.text)
        logged_in = await browser.post("/v1/session", json={"key": key})
        secrets = (key, logged_in.cookies[COOKIE], logged_in.json()["csrf_token"])
        texts += [(await browser.get(path)).text for path in ("/v1/overview", "/metrics", "/readyz")]
        texts.append((await browser.delete("/v1/session", headers={HEADER: "wrong"})).text)
    texts += [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert not [secret for secret in secrets for text in texts if secret in text]


async def test_what_is_answered_to_somebody_is_kept_by_no_cache(server: Any) -> None:
    async with server.client() as client:
        for path in ("/v1/overview", "/v1/jobs", "/v1/session", "/v1/slots", "/v1/apps"):
            assert (await client.get(path)).headers["cache-control"] == "no-store"


def _paths(server: Any) -> Iterator[str]:
    """What can be read, but for applications, which are everybody's, and the feed of events, which has no end."""
    for path, operations in server.app.openapi()["paths"].items():
        if "get" in operations and not path.startswith("/v1/apps") and path != "/v1/events":
            yield path


async def test_in_a_session_nothing_of_another_tenant_is_read_anywhere(server: Any) -> None:
    """Every address that can be read, with the job, the blob and the output of somebody else where it takes one."""
    job = await server.submit("ada")
    blob = await server.put(b"thesis")
    async with server.client("ada") as client:
        wanted = {"job": {"application": "invert"}, "each": [{"inputs": {"image": [await server.put(bytes(6))]}}]}
        array = (await client.post("/v1/arrays", json=wanted)).json()["id"]
    number = job["id"]
    event = JobEvent(0, number, "ada", 1.5, JobEventKind.ITEM_DONE, slot=0, task=0, item=0, started_s=1.25)
    server.store.commit(Commit(events=(event,)))
    server.hypervisor.statuses = (
        SlotStatus(0, "pipeline", "slot0", "invert", "ada", number, 0, 0, phase="running", since_s=1.0),
    )
    server.hypervisor.made[number] = "thesis"
    told = server.store.notices.add(Subscription("n1", "ada", "https://invert.example", (NoticeKind.TEST,)))
    values = {
        "job": str(number),
        "array": str(array),
        "sha256": blob,
        "name": "result",
        "slot": "0",
        "tenant": "operator",
        "subscription": told.id,
        "session": server.store.sessions.add(lambda name: SessionRecord(0, name, "ada")).id,
        "lease": server.store.leases.add(lambda name: LeaseRecord(0, name, "ada"), 1).id,
        "code": "not-found",
    }
    asked = 0
    async with server.client(None) as browser:
        await browser.post("/v1/session", json={"key": server.keys["grace"]})
        for path in _paths(server):
            answer = await browser.get(path.format_map(values))
            asked += 1
            shown = answer.text.replace(answer.request.url.path, "")
            assert answer.status_code in (200, 401, 403, 404, 503), path
            assert not [name for name in SECRET_NAMES if f'"{name}"' in shown], path
            assert f'"job":{number}' not in shown.replace(" ", ""), path
    assert asked >= 15
