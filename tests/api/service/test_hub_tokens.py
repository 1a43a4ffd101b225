# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tokens of a JupyterHub beside keys. The hub here answers `/hub/api/user` as release 6.1 was seen to; see
docs/how-to/jupyterhub.md."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import httpx
import pytest
from eddy.api.access import hub_tokens
from eddy.api.access.hub_tokens import ASKED_PER_S, KEPT_S, REFUSED_S, UNCONFIRMED_S, HubSettings, HubTokens, JupyterHub
from eddy.api.access.identity_provider import ProviderUnreachable
from eddy.core.errors import InvalidRequest, NotFound
from eddy.core.tenants import TenantRecord

pytestmark = pytest.mark.anyio
SCOPE = "access:services!service=eddy"
SAID: Mapping[str, Any] = {"hub_service": "eddy", "hub_users": "kim=grace, root=operator", "hub_groups": "students=ada"}


class Hub:
    """A hub's API, as far as it says whose a token is."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.status, self.version, self.open = 200, "6.1.1", threading.Event()
        self.open.set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.open.wait(20)
                token = self.headers["Authorization"].removeprefix("token ")
                hub.asked.append(token)
                found = hub.users.get(token) if self.path == "/hub/api/user" else None
                status = hub.status if hub.status != 200 else 200 if found else 403
                body = json.dumps(found or {"status": 403, "message": None}).encode()
                self.send_response(status)
                if hub.version:
                    self.send_header("X-JupyterHub-Version", hub.version)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.api = f"http://127.0.0.1:{self.server.server_port}/hub/api"

    def add(self, token: str, name: str, *groups: str, scopes: tuple[str, ...] = (SCOPE,), kind: str = "user") -> str:
        self.users[token] = {"kind": kind, "name": name, "groups": list(groups), "scopes": list(scopes)}
        return token

    def close(self) -> None:
        self.open.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()
    yield made
    made.close()


@pytest.fixture
def server(start: Any, hub: Hub) -> Any:
    return start(hub=HubSettings.read({**SAID, "hub_api": hub.api}))


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def clocked(server: Any) -> Clock:
    """Let time stand still for what is known of tokens."""
    clock, tokens = Clock(), server.app.state.context.hub
    tokens._clock = tokens._hub._clock = clock
    return clock


def having(server: Any, token: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=server.app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=transport, base_url="http://eddy", headers=headers)


async def get(server: Any, token: str, path: str = "/v1/quota") -> tuple[int, Any]:
    async with having(server, token) as client:
        answer = await client.get(path)
    return answer.status_code, answer.json()


async def test_a_token_acts_for_the_tenant_of_its_user_or_group(server: Any, hub: Hub) -> None:
    found = {
        hub.add("t1", "kim", "students"): "grace",
        hub.add("t2", "joe", "staff", "students"): "ada",
        hub.add("t3", "joe", "students", scopes=("access:services",)): "ada",
    }
    for token, tenant in found.items():
        status, answer = await get(server, token)
        assert (status, answer.get("tenant")) == (200, tenant), answer
    async with having(server, "t1") as client:
        assert (await client.get("/v1/session")).json() == {"tenant": "grace", "operator": False, "csrf_token": ""}
        assert (await client.put("/v1/blobs/" + "0" * 64, content=b"x")).status_code == 422, "it may write"


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"name": "kim", "scopes": ("read:users!user=kim",)}, SCOPE),
        ({"name": "kim", "scopes": ("access:services!service=other",)}, SCOPE),
        ({"name": "kim", "kind": "service"}, SCOPE),
        ({"name": "nobody-here"}, "--hub-users"),
    ],
)
async def test_a_token_that_is_good_for_something_else_opens_nothing(
    server: Any, hub: Hub, user: dict[str, Any], says: str
) -> None:
    status, answer = await get(server, hub.add("t1", **user))
    assert (status, answer["code"]) == (403, "forbidden")
    assert says in answer["detail"]


async def test_a_tenant_that_is_not_there_is_named(start: Any, hub: Hub) -> None:
    server = start(hub=HubSettings(hub.api, users=(("kim", "chips"),)))
    status, answer = await get(server, hub.add("t1", "kim"))
    assert (status, "tenant chips" in answer["detail"]) == (403, True)
    server.store.tenants.put(TenantRecord("chips"))
    assert (await get(server, "t1"))[1]["tenant"] == "chips"


async def test_nobody_is_an_operator_by_the_hub_and_no_key_is_made_or_ended(server: Any, hub: Hub) -> None:
    async with having(server, hub.add("t1", "root")) as client:
        assert (await client.get("/v1/quota")).json()["tenant"] == "operator"
        assert (await client.get("/v1/admin/tenants")).status_code == 403
        assert (await client.post("/v1/keys", json={})).status_code == 403
        (key,) = server.store.keys.all("operator")
        assert (await client.delete(f"/v1/keys/{key.id}")).status_code == 403
        assert (await client.post("/v1/session", json={"key": "t1"})).status_code == 401


async def test_the_hub_is_told_of_no_key_of_ours_and_of_nothing_that_is_no_token(server: Any, hub: Hub) -> None:
    assert (await get(server, server.keys["ada"]))[0] == 200
    for sent in ("eddy_that-was-revoked-and-forgotten", "t" * 513):
        assert (await get(server, sent))[0] == 401
    assert hub.asked == []


async def test_a_yes_holds_for_a_minute_and_a_no_for_a_moment(server: Any, hub: Hub) -> None:
    clock = clocked(server)
    hub.add("t1", "kim")
    for _ in range(5):
        assert (await get(server, "t1"))[0] == 200
        assert (await get(server, "t2"))[0] == 401
    assert sorted(hub.asked) == ["t1", "t2"]
    hub.add("t2", "kim")
    clock.now_s += REFUSED_S
    assert (await get(server, "t2"))[0] == 200
    del hub.users["t1"]
    assert (await get(server, "t1"))[0] == 200
    clock.now_s += KEPT_S
    assert (await get(server, "t1"))[0] == 401


@pytest.mark.parametrize("trouble", ["away", "500", "404", "a proxy's no", "no hub"])
async def test_a_hub_that_cannot_be_asked_is_no_no(server: Any, hub: Hub, trouble: str) -> None:
    clock = clocked(server)
    assert (await get(server, hub.add("t1", "kim")))[0] == 200
    if trouble == "away":
        hub.close()
    elif trouble == "a proxy's no":
        hub.status, hub.version = 403, ""
    elif trouble == "no hub":
        hub.users["t2"] = {"hello": "world"}
    else:
        hub.status = int(trouble)
    status, answer = await get(server, "t2")
    assert (status, answer["code"]) == (503, "provider-unreachable")
    assert (await get(server, "t1"))[0] == 200, "what it said a moment ago holds"
    assert (await get(server, server.keys["ada"]))[0] == 200
    asked = len(hub.asked)
    assert (await get(server, "t3"))[0] == 503
    assert len(hub.asked) == asked, "told so at once"
    clock.now_s += KEPT_S
    assert (await get(server, "t1"))[0] == (200 if trouble == "no hub" else 503)


async def test_a_hub_that_hangs_holds_up_nobody_else(server: Any, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_tokens, "TIMEOUT_S", 60.0)
    hub.open.clear()
    hub.add("t1", "kim")
    found: list[int] = []

    async def ask() -> None:
        found.append((await get(server, "t1"))[0])

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(ask)
        await anyio.sleep(0.05)
        for _ in range(20):
            assert (await get(server, server.keys["ada"]))[0] == 200
        assert found == []
        hub.open.set()
    assert found == [200] * 8


async def test_tokens_that_nobody_knows_are_bounded_by_address(server: Any, hub: Hub) -> None:
    clock = clocked(server)
    assert (await get(server, hub.add("t1", "kim")))[0] == 200
    clock.now_s += 1
    found = [(await get(server, f"guess{number}"))[0] for number in range(ASKED_PER_S + 5)]
    assert found == [401] * ASKED_PER_S + [429] * 5
    assert len(hub.asked) == ASKED_PER_S + 1
    assert (await get(server, "t1"))[0] == 200
    clock.now_s += 1
    assert (await get(server, "guess-again"))[0] == 401


async def test_streams_end_once_the_hub_says_no_and_stay_while_it_cannot_be_asked(hub: Hub) -> None:
    clock = Clock()
    tokens = HubTokens(JupyterHub(HubSettings(hub.api, users=(("kim", "grace"),)), clock), clock)
    key = await tokens.key(hub.add("t1", "kim"), "")
    assert (tokens.get(key.id), key.tenant, key.label, "t1" in key.id) == (key, "grace", "kim", False)
    clock.now_s += KEPT_S
    await tokens.confirm([key.id, "k1"])
    assert len(hub.asked) == 2
    hub.status = 500
    for _ in range(3):
        clock.now_s += KEPT_S
        await tokens.confirm([key.id])
        assert tokens.get(key.id).id == key.id
    clock.now_s += UNCONFIRMED_S
    with pytest.raises(NotFound):
        tokens.get(key.id)
    hub.status = 200
    await tokens.confirm([key.id])
    assert tokens.get(key.id).id == key.id
    del hub.users["t1"]
    clock.now_s += KEPT_S
    await tokens.confirm([key.id])
    with pytest.raises(NotFound):
        tokens.get(key.id)


async def test_a_feed_of_a_token_ends_with_it(server: Any, hub: Hub) -> None:
    clock, streams = clocked(server), server.app.state.context.open_streams
    tokens = server.app.state.context.hub
    key = await tokens.key(hub.add("t1", "kim"), "")
    credential = type("C", (), {"key": key.id, "cookie": ""})
    assert streams.is_authorized(credential)
    clock.now_s += UNCONFIRMED_S
    assert not streams.is_authorized(credential)


def test_many_good_tokens_push_out_the_one_that_was_used_longest_ago(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_tokens, "MOST", 3)
    tokens = HubTokens(JupyterHub(HubSettings(hub.api, users=(("kim", "grace"),))))

    async def come() -> list[str]:
        return [(await tokens.key(hub.add(f"t{number}", "kim"), "")).id for number in range(5)]

    names = anyio.run(come)
    assert set(tokens._names) == set(names[2:])


@pytest.mark.parametrize("told", ["hub.lab/hub/api", "http://hub.lab/hub/api", "ftp://127.0.0.1/hub"])
def test_a_hub_elsewhere_is_spoken_to_over_tls(told: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        HubSettings.read({**SAID, "hub_api": told})
    assert refused.value.details["field"] == "hub_api"
    assert HubSettings.read({**SAID, "hub_api": "https://hub.lab/hub/api/"}).api == "https://hub.lab/hub/api"


def test_a_hub_that_failed_is_asked_again_after_some_seconds(hub: Hub) -> None:
    clock = Clock()
    asked = JupyterHub(HubSettings(hub.api), clock)
    hub.status = 503
    for _ in range(3):
        with pytest.raises(ProviderUnreachable):
            asked.user("t1")
    assert len(hub.asked) == 1
    hub.status, clock.now_s = 200, clock.now_s + hub_tokens.FAILED_S
    hub.add("t1", "kim")
    assert asked.user("t1")[0] == "kim"
