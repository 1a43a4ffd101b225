# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tokens of a JupyterHub beside keys. The hub here answers `/hub/api/user` as release 6.1 was seen to; see
docs/how-to/jupyterhub.md."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import httpx
import pytest
from eddy.api.access import hub_tokens
from eddy.api.access.hub_tokens import (
    ASKED_AT_ONCE,
    FAILED_S,
    KEPT_S,
    MAX_OF_USER,
    REFUSED_S,
    UNCONFIRMED_S,
    HubSettings,
    HubTokens,
    JupyterHub,
)
from eddy.api.access.identity_provider import ProviderUnreachable
from eddy.api.access.open_streams import Credential
from eddy.core.errors import EddyError, InvalidRequest, NotFound, RateLimited, Unauthorized
from eddy.core.tenants import TenantRecord

pytestmark = pytest.mark.anyio
SCOPE = "access:services!service=eddy"
SAID: Mapping[str, Any] = {"hub_service": "eddy", "hub_users": "kim=grace, root=operator", "hub_groups": "students=ada"}


class Hub:
    """A hub's API, as far as it says whose a token is."""

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.cookies: list[str | None] = []
        self.busy = self.most_busy = 0
        """Requests that are being answered."""
        self.status, self.version, self.open = 200, "6.1.1", threading.Event()
        self.open.set()
        self.lock = threading.Lock()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                token = self.headers["Authorization"].removeprefix("token ")
                hub.asked.append(token)
                hub.cookies.append(self.headers["Cookie"])
                with hub.lock:
                    hub.busy += 1
                    hub.most_busy = max(hub.most_busy, hub.busy)
                hub.open.wait(20)
                with hub.lock:
                    hub.busy -= 1
                found = hub.users.get(token) if self.path == "/hub/api/user" else None
                status = hub.status if hub.status != 200 else 200 if found else 403
                body = json.dumps(found or {"status": 403, "message": None}).encode()
                self.send_response(status)
                if hub.version:
                    self.send_header("X-JupyterHub-Version", hub.version)
                if status == 302:
                    self.send_header("Location", f"{hub.api}/user")
                self.send_header("Set-Cookie", "jupyterhub-session-id=ada; Path=/")
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


@pytest.mark.parametrize("trouble", ["away", "502", "503", "504", "500", "404", "429", "a proxy's no", "no hub"])
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
        hub.status, hub.version = int(trouble), ""
    asked = len(hub.asked)
    for _ in range(2):
        status, answer = await get(server, "t2")
        assert (status, answer["code"]) == (503, "provider-unreachable")
        assert len(hub.asked) == asked + (trouble != "away"), "told so at once"
    assert (await get(server, "t1"))[0] == 200, "what it said a moment ago holds"
    assert (await get(server, server.keys["ada"]))[0] == 200
    asked = len(hub.asked)
    if trouble in ("away", "502", "503", "504"):
        assert (await get(server, "t3"))[0] == 503
        assert len(hub.asked) == asked, "nobody asks a hub that is away"
        clock.now_s += KEPT_S
        assert (await get(server, "t1"))[0] == 503
    else:
        hub.status, hub.version = 200, "6.1.1"
        assert (await get(server, hub.add("t3", "kim")))[0] == 200, "an odd answer is that one token's"
        clock.now_s += FAILED_S
        assert (await get(server, hub.add("t2", "kim")))[0] == 200


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


def tokens_of(hub: Hub, clock: Clock) -> HubTokens:
    return HubTokens(JupyterHub(HubSettings(hub.api, groups=(("all", "grace"),)), clock), clock)


async def until(done: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not done():
            await anyio.sleep(0.01)


class ConcurrentTokens:
    """Tokens that come at the same time, and what becomes of them."""

    def __init__(self, tokens: HubTokens) -> None:
        self.tokens, self.found = tokens, dict[str, type | str]()

    async def come(self, token: str, address: str = "10.0.0.7") -> None:
        try:
            self.found[token] = (await self.tokens.key(token, address)).label
        except EddyError as failure:
            self.found[token] = type(failure)


async def test_all_who_wait_for_one_token_share_a_question_and_its_answer(hub: Hub) -> None:
    clock, found = Clock(), list[str]()
    tokens = tokens_of(hub, clock)
    for token, told in ((hub.add("t1", "kim", "all"), "kim"), ("t2", "Unauthorized")):

        async def come(token: str = token) -> None:
            try:
                found.append((await tokens.key(token, "10.0.0.7")).label)
            except Unauthorized:
                found.append("Unauthorized")

        for stale in (False, True):
            asked = len(hub.asked)
            hub.open.clear()
            async with anyio.create_task_group() as group:
                with anyio.CancelScope() as gone:
                    async with anyio.create_task_group() as first:
                        first.start_soon(come)
                        await until(lambda asked=asked: len(hub.asked) > asked)  # type: ignore[misc]
                        gone.cancel()
                for _ in range(300):
                    group.start_soon(come)
                await anyio.sleep(0.05)
                hub.open.set()
            assert (hub.asked[asked:], found) == ([token], [told] * 300), (stale, "though the first one went away")
            found.clear()
            clock.now_s += KEPT_S
    assert not tokens._pending
    assert not tokens._places


async def test_few_of_an_address_are_asked_at_once_and_hold_up_nobody_else(hub: Hub) -> None:
    """Guesses, and many tokens of one user, of which those that are not fresh are asked about again."""
    clock = Clock()
    tokens = tokens_of(hub, clock)
    mine = [hub.add(f"mine{number}", "eve", "all") for number in range(MAX_OF_USER)]
    hub.add("old", "ada", "all")
    asking = ConcurrentTokens(tokens)
    for token in (*mine, "old"):
        await asking.come(token)
    clock.now_s += KEPT_S
    asking.found.clear()
    for flood, others in ((mine, ("old", "spawned")), ([f"guess{number}" for number in range(30)], ("old",))):
        hub.open.clear()
        asked = len(hub.asked)
        async with anyio.create_task_group() as group:
            for number, token in enumerate(flood):
                group.start_soon(asking.come, token, f"2001:db8::{number:x}")
            await until(lambda asked=asked: len(hub.asked) == asked + ASKED_AT_ONCE)  # type: ignore[misc]
            for token in others:
                group.start_soon(asking.come, hub.add(token, "ada", "all"), "2001:db8::ada")
            await until(lambda: all(token in hub.asked[asked:] for token in others))  # noqa: B023
            assert len(hub.asked) == asked + ASKED_AT_ONCE + len(others)
            hub.open.set()
        assert [asking.found.pop(token) for token in others] == ["ada"] * len(others)
        assert set(asking.found.values()) == ({"eve"} if flood is mine else {Unauthorized}), "none is refused"
        asking.found.clear()
        clock.now_s += KEPT_S


async def test_guesses_beside_a_notebook_that_begins_do_not_have_it_refused(server: Any, hub: Hub) -> None:
    clocked(server)
    found = [(await get(server, f"guess{number}"))[0] for number in range(30)]
    assert found == [401] * 30
    assert (await get(server, hub.add("t1", "kim")))[0] == 200


@pytest.mark.parametrize(("wait_s", "most_waiting"), [(0.5, 100), (600.0, 0)])
async def test_who_waits_too_long_or_behind_too_many_is_told_when_to_come_again(
    hub: Hub, wait_s: float, most_waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_tokens, "WAIT_S", wait_s)
    monkeypatch.setattr(hub_tokens, "MAX_WAITING", most_waiting)
    tokens = tokens_of(hub, Clock())
    asking = ConcurrentTokens(tokens)
    hub.open.clear()
    async with anyio.create_task_group() as group:
        for number in range(ASKED_AT_ONCE):
            group.start_soon(asking.come, f"guess{number}")
        await until(lambda: len(hub.asked) == ASKED_AT_ONCE)
        with anyio.fail_after(20), pytest.raises(RateLimited) as refused:
            await tokens.key(hub.add("t1", "kim", "all"), "10.0.0.7")
        assert refused.value.details["retry_after_s"] == 1
        hub.open.set()
    assert set(asking.found.values()) == {Unauthorized}
    await asking.come("t1")
    assert (asking.found["t1"], tokens._places) == ("kim", {})


async def test_a_token_that_is_revoked_ends_its_stream_though_guesses_fill_every_place(hub: Hub) -> None:
    clock = Clock()
    tokens = tokens_of(hub, clock)
    key = await tokens.key(hub.add("t1", "kim", "all"), "")
    del hub.users["t1"]
    clock.now_s += KEPT_S
    asking = ConcurrentTokens(tokens)
    hub.open.clear()
    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(asking.come, f"guess{number}", f"10.0.0.{number}")
        await until(lambda: len(hub.asked) == 5)
        group.start_soon(tokens.confirm, [key.id])
        await until(lambda: len(hub.asked) == 6)
        assert (hub.asked[-1], hub.most_busy) == ("t1", 5)
        hub.open.set()
    with pytest.raises(NotFound):
        tokens.get(key.id)


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
    credential = Credential(key.id)
    with streams.track_stream(credential):
        for number in range(2 * MAX_OF_USER):
            await tokens.key(hub.add(f"more{number}", "kim"), "")
        assert streams.is_authorized(credential), "whatever else its user has"
    clock.now_s += UNCONFIRMED_S
    assert not streams.is_authorized(credential)


async def test_a_user_s_many_tokens_push_out_that_user_s_oldest_and_none_of_a_stream(hub: Hub) -> None:
    clock = Clock()
    tokens = tokens_of(hub, clock)
    ada = await tokens.key(hub.add("t1", "ada", "all"), "")
    mine = [(await tokens.key(hub.add("first", "eve", "all"), "")).id]
    tokens.in_use = lambda: [mine[0]]
    mine += [(await tokens.key(hub.add(f"mine{number}", "eve", "all"), "")).id for number in range(3 * MAX_OF_USER)]
    assert set(tokens._names) == {ada.id, mine[0], *mine[-MAX_OF_USER:]}
    clock.now_s += UNCONFIRMED_S
    latest = await tokens.key(hub.add("t2", "joe", "all"), "")
    assert set(tokens._names) == {mine[0], latest.id}, "what no stream may go on with is kept for nobody"


async def test_what_is_kept_of_a_no_leads_to_no_request(hub: Hub) -> None:
    tokens = tokens_of(hub, Clock())
    for _ in range(2):
        with pytest.raises(Unauthorized) as refused:
            await tokens.key("t1", "")
        assert (refused.value.message, refused.value.details) == (hub_tokens.UNKNOWN, {"field": "Authorization"})
    (kept,) = tokens._refused.values()
    assert not any(isinstance(each, BaseException) for each in gc.get_referents(kept))


async def test_the_environment_sends_no_token_to_a_proxy_and_no_cookie_goes_along(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Hub()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.api.removesuffix("/hub/api"))
    tokens = tokens_of(hub, Clock())
    for token in ("t1", "t2"):
        assert (await tokens.key(hub.add(token, "kim", "all"), "")).label == "kim"
    proxy.close()
    assert (proxy.asked, hub.asked, hub.cookies) == ([], ["t1", "t2"], [None, None])


async def test_a_hub_that_sends_elsewhere_is_not_followed(hub: Hub) -> None:
    hub.status = 302
    with pytest.raises(ProviderUnreachable):
        await tokens_of(hub, Clock()).key("t1", "")
    assert hub.asked == ["t1"]


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


async def test_streams_are_asked_about_while_the_server_runs_and_the_hub_s_connections_end_with_it(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_tokens, "WATCH_S", 0.01)
    clock = Clock()
    tokens = tokens_of(hub, clock)
    key = await tokens.key(hub.add("t1", "kim", "all"), "")
    tokens.in_use = lambda: [key.id]
    async with anyio.create_task_group() as group:
        group.start_soon(tokens.watch)
        clock.now_s += KEPT_S
        await until(lambda: hub.asked == ["t1", "t1"])
        group.cancel_scope.cancel()
    assert tokens._hub._client.is_closed
