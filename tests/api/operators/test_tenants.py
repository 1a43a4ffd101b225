# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Keys with scopes, ends and rotation; weights and bounds changed while tenants work; requests a second."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from eddy.api.access.request_limits import TokenBuckets
from eddy.core.errors import RateLimited
from eddy.core.tenants import KeyScope
from eddy.store.account_tables.tenants import KEPT_ENDED, MAX_KEYS, Keys

pytestmark = pytest.mark.anyio


def using(server: Any, key: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=server.app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://eddy", headers={"Authorization": f"Bearer {key}"})


async def made(server: Any, who: str, **fields: Any) -> dict[str, Any]:
    async with server.client(who) as client:
        answer = await client.post("/v1/keys", json=fields)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    found: dict[str, Any] = answer.json()
    return found


async def test_a_tenant_has_several_keys_and_each_ends_by_itself(server: Any) -> None:
    first, second = await made(server, "ada", label="ci"), await made(server, "ada", label="laptop")
    assert first["key"] != second["key"]
    assert first["key"] not in str(server.store.keys.all())
    async with server.client("ada") as client:
        listed = (await client.get("/v1/keys")).json()["keys"]
        assert [key["label"] for key in listed] == ["first", "ci", "laptop"]
        assert all("key" not in key and "key_hash" not in key for key in listed)
        assert (await client.delete(f"/v1/keys/{first['id']}")).status_code == 204
        assert (await client.delete(f"/v1/keys/{first['id']}")).status_code == 204
    async with using(server, first["key"]) as client:
        refused = await client.get("/v1/jobs")
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        assert "revoked" in refused.json()["detail"]
    async with using(server, second["key"]) as client:
        assert (await client.get("/v1/jobs")).status_code == 200


async def test_a_key_that_reads_changes_nothing_and_logs_a_browser_in_and_out(server: Any) -> None:
    job = await server.submit("ada")
    key = (await made(server, "ada", scope="read"))["key"]
    async with using(server, key) as client:
        assert (await client.get(f"/v1/jobs/{job['id']}")).status_code == 200
        for method, path, body in (
            ("DELETE", f"/v1/jobs/{job['id']}", None),
            ("POST", "/v1/jobs", {"application": "invert"}),
            ("POST", "/v1/keys", {}),
            ("DELETE", f"/v1/blobs/{'0' * 64}", None),
        ):
            assert (await client.request(method, path, json=body)).status_code == 403
    async with server.client(None) as browser:
        token = (await browser.post("/v1/session", json={"key": key})).json()["csrf_token"]
        headers = {"X-CSRF-Token": token}
        assert (await browser.get("/v1/overview")).json()["viewer"] == "ada"
        assert (await browser.delete(f"/v1/jobs/{job['id']}", headers=headers)).status_code == 403
        assert (await browser.delete("/v1/session", headers=headers)).status_code == 204


async def test_scopes_of_an_operators_keys(server: Any) -> None:
    looks = (await made(server, "operator", scope="read"))["key"]
    works = (await made(server, "operator", scope="tenant"))["key"]
    async with using(server, looks) as client:
        assert (await client.get("/v1/admin/tenants")).status_code == 200
        assert (await client.put("/v1/admin/policy", json={"policy": "fcfs"})).status_code == 403
    async with using(server, works) as client:
        assert (await client.get("/v1/admin/tenants")).status_code == 403
        assert (await client.post("/v1/keys", json={"scope": "operator"})).status_code == 422
        ids = [key.id for key in server.store.keys.all("operator") if key.scope is KeyScope.OPERATOR]
        assert (await client.delete(f"/v1/keys/{ids[0]}")).status_code == 404
    async with server.client("ada") as client:
        assert (await client.post("/v1/keys", json={"scope": "operator"})).status_code == 422
    async with server.client("operator") as client:
        refused = await client.post("/v1/keys", json={"tenant": "ada", "scope": "operator"})
        assert (refused.status_code, refused.json()["allowed"]) == (422, ["tenant", "read"])


async def test_nobody_sees_makes_or_revokes_anothers_keys(server: Any) -> None:
    (hers,) = [key.id for key in server.store.keys.all("grace")]
    async with server.client("ada") as client:
        assert (await client.get("/v1/keys?tenant=grace")).status_code == 403
        assert {key["tenant"] for key in (await client.get("/v1/keys")).json()["keys"]} == {"ada"}
        there, not_there = await client.delete(f"/v1/keys/{hers}"), await client.delete("/v1/keys/k0")
        assert (there.status_code, there.json()["code"]) == (not_there.status_code, not_there.json()["code"])
        assert there.json()["detail"].replace(hers, "k0") == not_there.json()["detail"]
        assert (await client.post("/v1/keys", json={"tenant": "grace"})).status_code == 403
        assert (await client.post("/v1/keys", json={"replaces": hers})).status_code == 404
    async with server.client("operator") as client:
        every = {key["tenant"] for key in (await client.get("/v1/keys")).json()["keys"]}
        assert every == {"ada", "grace", "operator"}
        assert (await client.delete(f"/v1/keys/{hers}")).status_code == 204
    async with server.client("grace") as client:
        assert (await client.get("/v1/jobs")).status_code == 401


async def test_keys_expire_and_are_rotated_with_a_grace(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    short = await made(server, "ada", expires_in_s=100, label="short", scope="read")
    fresh = await made(server, "ada", replaces=short["id"], grace_s=50)
    assert (fresh["scope"], fresh["label"], fresh["expires_unix_s"]) == ("read", "short", None)
    start = fresh["created_unix_s"]
    for later, ends in ((49, ""), (51, "revoked")):
        monkeypatch.setattr(time, "time", lambda at=start + later: at)
        async with using(server, short["key"]) as client:
            answer = await client.get("/v1/jobs")
            assert answer.status_code == (401 if ends else 200)
            assert ends in answer.text
    other = await made(server, "ada", expires_in_s=10)
    monkeypatch.setattr(time, "time", lambda: start + 100)
    async with using(server, other["key"]) as client:
        assert "expired" in (await client.get("/v1/jobs")).json()["detail"]


async def test_a_key_in_its_grace_makes_none_that_outlives_it_and_ends_no_other(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await made(server, "ada", label="leaked")
    new = await made(server, "ada", replaces=old["id"], grace_s=50)
    start = new["created_unix_s"]
    async with using(server, old["key"]) as thief:
        mine = (await thief.post("/v1/keys", json={"label": "mine"})).json()
        assert start < mine["expires_unix_s"] <= start + 60
        ended = await thief.delete(f"/v1/keys/{new['id']}")
        assert (ended.status_code, ended.json()["code"]) == (403, "forbidden")
        assert (await thief.post("/v1/keys", json={"replaces": new["id"]})).status_code == 403
        assert (await thief.delete(f"/v1/keys/{old['id']}")).status_code == 204, "it may end itself"
    monkeypatch.setattr(time, "time", lambda: start + 1000)
    for key, status in ((old, 401), (mine, 401), (new, 200)):
        async with using(server, key["key"]) as client:
            assert (await client.get("/v1/jobs")).status_code == status


async def test_an_operators_key_in_its_grace_makes_none_that_outlives_it_whosever_it_is(server: Any) -> None:
    """It made another operator's key without an end, and added an operator that had one."""
    async with server.client("operator") as operator:
        leaked = (await operator.post("/v1/keys", json={"scope": "operator"})).json()
        await operator.post("/v1/admin/tenants", json={"id": "root", "admin": True})
        assert (await operator.post("/v1/keys", json={"replaces": leaked["id"], "grace_s": 50})).status_code == 201
        ends = server.store.keys.get(leaked["id"]).revoked_unix_s
        async with using(server, leaked["key"]) as thief:
            made_for = (await thief.post("/v1/keys", json={"tenant": "root", "scope": "operator"})).json()
            assert made_for["expires_unix_s"] == ends
            refused = await thief.post("/v1/admin/tenants", json={"id": "eve", "admin": True})
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
            assert "use the one that replaced it" in refused.json()["detail"]
            assert (await thief.post("/v1/admin/tenants", json={"id": "bob"})).status_code == 201
        (bobs,) = server.store.keys.all("bob")
        assert bobs.expires_unix_s == ends


async def test_the_last_operators_key_is_not_replaced_by_one_that_ends(server: Any) -> None:
    async with server.client("operator") as operator:
        (own,) = [key.id for key in server.store.keys.all("operator")]
        refused = await operator.post("/v1/keys", json={"replaces": own, "expires_in_s": 0.5})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert (await operator.post("/v1/keys", json={"expires_in_s": 3600})).status_code == 201
        assert (await operator.post("/v1/keys", json={"replaces": own})).status_code == 201


async def test_a_revoked_key_stays_so_where_the_clock_goes_back(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    revoked, rotated = await made(server, "ada"), await made(server, "ada")
    async with server.client("ada") as client:
        assert (await client.delete(f"/v1/keys/{revoked['id']}")).status_code == 204
        assert (await client.post("/v1/keys", json={"replaces": rotated["id"]})).status_code == 201
    now = time.time()
    for keys in (server.store.keys, Keys(server.store.database)):
        monkeypatch.setattr(server.store, "keys", keys)  # also after a restart
        for back_s in (0, 3600, now - 1000):
            monkeypatch.setattr(time, "time", lambda at=now - back_s: at)
            for key in (revoked["key"], rotated["key"]):
                async with using(server, key) as client:
                    answer = await client.get("/v1/jobs")
                    assert (answer.status_code, "revoked" in answer.text) == (401, True)


async def test_keys_that_ended_are_forgotten_in_the_end(server: Any) -> None:
    """Whoever makes and revokes keys without end fills neither memory nor disk."""
    first = await made(server, "ada")
    async with server.client("ada") as client:
        assert (await client.delete(f"/v1/keys/{first['id']}")).status_code == 204
        for _ in range(KEPT_ENDED + 5):
            other = (await client.post("/v1/keys", json={})).json()
            assert (await client.delete(f"/v1/keys/{other['id']}")).status_code == 204
        shown = [key["id"] for key in (await client.get("/v1/keys")).json()["keys"]]
    assert len(shown) == KEPT_ENDED + 1
    assert first["id"] not in shown
    assert other["id"] in shown
    assert len(Keys(server.store.database).all("ada")) == KEPT_ENDED + 1
    async with using(server, first["key"]) as client:
        assert (await client.get("/v1/jobs")).status_code == 401


async def test_the_last_operators_key_stays(server: Any) -> None:
    (own,) = [key.id for key in server.store.keys.all("operator")]
    async with server.client("operator") as client:
        refused = await client.delete(f"/v1/keys/{own}")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        other = await client.post("/v1/keys", json={"scope": "operator", "replaces": own})
        assert other.status_code == 201
        assert (await client.get("/v1/jobs")).status_code == 401
    async with using(server, other.json()["key"]) as client:
        assert (await client.get("/v1/admin/tenants")).status_code == 200
        temporary = {"scope": "operator", "expires_in_s": 1, "replaces": other.json()["id"], "grace_s": 5}
        assert (await client.post("/v1/keys", json=temporary)).status_code == 409


async def test_keys_are_bounded(server: Any) -> None:
    async with server.client("ada") as client:
        for _ in range(MAX_KEYS - 1):
            assert (await client.post("/v1/keys", json={})).status_code == 201
        refused = await client.post("/v1/keys", json={})
        assert (refused.status_code, refused.json()["limit"]) == (429, MAX_KEYS)


async def test_bounds_and_weight_change_while_a_tenant_works(server: Any) -> None:
    for _ in range(3):
        await server.submit("ada")
    async with server.client("operator") as client, server.client("ada") as ada:
        body = {"application": "invert", "inputs": {"image": [await server.put(bytes(range(6)))]}}
        assert (await ada.post("/v1/jobs", json=body)).status_code == 429
        changed = await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_jobs": 4}, "weight": 2.5})
        assert changed.status_code == 200
        assert changed.json()["quota"]["max_blob_bytes"] == 1000, "what is left out stays"
        assert server.store.tenants.weight("ada") == 2.5
        assert (await ada.post("/v1/jobs", json=body)).status_code == 202
        await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_jobs": 9, "max_priority": 3}})
        refused = await ada.post("/v1/jobs", json={**body, "priority": 9})
        assert (refused.status_code, refused.json()["allowed"]) == (422, [1, 3])
        await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_priority": 1}})
        taken = await ada.post("/v1/jobs", json={**body, "priority": 3})
        assert (taken.status_code, taken.json()["priority"]) == (202, 1), "one priority, as its record says"
        shown = (await client.get("/v1/admin/tenants/ada")).json()
        assert (shown["quota"]["max_priority"], shown["attributes"]["weight"]) == (1, 2.5)
        assert (await client.patch("/v1/admin/tenants/nobody", json={})).status_code == 404
        assert (await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_jobs": 0}})).status_code == 422
        assert (await ada.patch("/v1/admin/tenants/ada", json={"weight": 9})).status_code == 403
        kept = await client.patch("/v1/admin/tenants/ada", json={"attributes": {"plan": "gold"}})
        assert kept.json()["attributes"] == {"plan": "gold"}


async def test_too_many_requests_are_told_when_to_come_again_and_others_are_not(server: Any) -> None:
    now = [0.0]
    server.app.state.context.rates = TokenBuckets(lambda: now[0])
    async with server.client("operator") as client, server.client("ada") as ada, server.client("grace") as grace:
        await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_requests_per_s": 0.5}})
        assert (await ada.get("/v1/jobs")).status_code == 200
        for _ in range(3):
            refused = await ada.get("/v1/jobs")
            assert (refused.status_code, refused.json()["code"]) == (429, "rate-limited")
            assert refused.headers["retry-after"] == "2"
        assert (await grace.get("/v1/jobs")).status_code == 200
        now[0] += 2.0
        assert (await ada.get("/v1/jobs")).status_code == 200
        await client.patch("/v1/admin/tenants/ada", json={"quota": {"max_requests_per_s": None}})
        for _ in range(5):
            assert (await ada.get("/v1/jobs")).status_code == 200


def test_over_any_time_no_more_pass_than_the_rate_and_a_second_more() -> None:
    now = [0.0]
    rates, passed = TokenBuckets(lambda: now[0]), 0
    for step in range(1000):
        now[0] = step * 0.01
        try:
            rates.spend_token("ada", 20.0)
            passed += 1
        except RateLimited:
            pass
    assert 20 * 10 <= passed <= 20 * 10 + 20


@pytest.mark.parametrize("weight", [-1, 0, 1e-7, 1e7, "4", None, True])
async def test_a_weight_that_would_not_count_is_refused_with_its_range(server: Any, weight: object) -> None:
    async with server.client("operator") as client:
        body = {"id": "edsger", "attributes": {"weight": weight}}
        created = await client.post("/v1/admin/tenants", json=body)
        changed = await client.patch("/v1/admin/tenants/ada", json={"attributes": {"weight": weight}})
        for answer in (created, changed):
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
            assert answer.json()["field"] == "attributes"
            assert "must be a number from 1e-06 to 1e+06" in answer.json()["detail"]
        assert (await client.get("/v1/admin/tenants/edsger")).status_code == 404
    assert server.store.tenants.weight("ada") == 1.0


@pytest.mark.parametrize("weight", [1e-6, 1e6, 4])
async def test_the_largest_and_the_least_weight_count(server: Any, weight: float) -> None:
    async with server.client("operator") as client:
        body = {"id": "edsger", "attributes": {"weight": weight, "desk": "by the window"}}
        assert (await client.post("/v1/admin/tenants", json=body)).status_code == 201
    assert server.store.tenants.weight("edsger") == weight
