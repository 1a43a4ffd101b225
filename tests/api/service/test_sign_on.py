# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""People log in at a real OpenID Connect provider; one that lies, and browsers that are lured, get nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import pytest
from eddy.api.access.identity_provider import (
    IdentityProvider,
    OidcSettings,
    ProviderUnreachable,
    challenge_of,
    new_verifier,
)
from eddy.api.access.provider_calls import AT_ONCE, MAX_WAITING
from eddy.api.access.roles import Role, RoleRules
from eddy.api.access.sessions import COOKIE, HEADER
from eddy.api.access.sign_on_flows import CODE_LIFE_S, LIFE_S, MAX_KEPT, Granted, SignOnFlows
from eddy.api.http.problems import Forbidden
from eddy.core.errors import InvalidRequest, Unauthorized
from eddy.core.projects import Project
from eddy.core.tenants import KeyScope
from provider_kit import CLIENT, SECRET, Provider

pytestmark = pytest.mark.anyio
RULES = RoleRules.parse("groups", "admins", "lab=ada, class=grace", "guests", "vision-lab=vision")
HERE = "http://127.0.0.1"
SIGN_ON = "/v1/session/sign-on"


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider) -> Iterator[Provider]:
    before = dict(running.claims)
    yield running
    running.claims, running.lies, running.issuer_lie, running.algorithm = before, {}, "", "RS256"
    running.key = running.published[0]


@pytest.fixture
def server(start: Any, provider: Provider, tmp_path: Path) -> Any:
    (tmp_path / "secret").write_text(SECRET)
    return start(oidc=OidcSettings(provider.issuer, CLIENT, str(tmp_path / "secret"), public_url=HERE, rules=RULES))


def browser(server: Any) -> httpx.AsyncClient:
    """A browser without a key, at the server's public address."""
    transport = httpx.ASGITransport(app=server.app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=HERE)


async def at_provider(begun: httpx.Response) -> str:
    """Log in where the server sent the browser; answers where that sends it back to."""
    assert begun.status_code == 303, begun.text
    async with httpx.AsyncClient() as client:
        answer = await client.get(begun.headers["location"])
    return str(answer.headers["location"])


async def log_in(client: httpx.AsyncClient, query: str = "") -> httpx.Response:
    return await client.get(await at_provider(await client.get(f"{SIGN_ON}{query}")))


async def test_somebody_logs_in_with_a_browser_and_out_again(server: Any, provider: Provider) -> None:
    async with browser(server) as client:
        assert (await client.get(f"{SIGN_ON}/offer")).json() == {"provider": "127.0.0.1", "path": SIGN_ON}
        answer = await log_in(client)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        shown = (await client.get("/v1/session")).json()
        assert (shown["tenant"], shown["operator"]) == ("ada", False)
        (key,) = [key for key in server.store.keys.all("ada") if key.label.startswith("sign-on")]
        assert (key.label, key.scope) == ("sign-on: ada 42", KeyScope.TENANT)
        assert 0 < (key.expires_unix_s or 0) - time.time() <= 12 * 3600
        asked = provider.asked[-1]
        assert (asked["redirect_uri"], asked["scope"].split()[0]) == (f"{HERE}{SIGN_ON}/callback", "openid")
        assert (await client.delete("/v1/session", headers={HEADER: shown["csrf_token"]})).status_code == 204
        assert (await client.get("/v1/session")).status_code == 401
        assert server.store.keys.get(key.id).ended(time.time()) == "revoked"
    (entry,) = [entry for entry in server.store.audit.entries() if entry.action == "sign-on"]
    assert (entry.actor, entry.facts["who"]) == ("ada", "sign-on: ada 42")


async def test_groups_say_what_somebody_may_do(server: Any, provider: Provider) -> None:
    provider.claims["groups"] = ["admins", "class"]
    async with browser(server) as client:
        await log_in(client)
        assert (await client.get("/v1/session")).json()["operator"] is True
        await log_in(client, "?tenant=grace")
        assert (await client.get("/v1/session")).json()["tenant"] == "grace"
        assert (await log_in(client, "?tenant=ada")).status_code == 403
    provider.claims["groups"] = ["lab", "guests"]
    async with browser(server) as client:
        await log_in(client)
        token = (await client.get("/v1/session")).json()["csrf_token"]
        body = {"application": "invert"}
        assert (await client.post("/v1/jobs", json=body, headers={HEADER: token})).status_code == 403
    for groups in ([], ["others"], "none", None, {"lab": True}, [["lab"]]):
        provider.claims["groups"] = groups
        async with browser(server) as client:
            answer = await log_in(client)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), groups
            assert COOKIE not in client.cookies


async def test_who_is_refused_reads_why_in_the_browser_or_at_the_command_line(server: Any, provider: Provider) -> None:
    provider.claims["groups"] = ["guests"]  # of readers, and of no tenant
    async with browser(server) as client:
        back = await at_provider(await client.get(SIGN_ON))
        answer = await client.get(back, headers={"Accept": "text/html,*/*;q=0.8"})
        assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "none of your groups may do anything here" in answer.text
        answer = await client.get(f"{SIGN_ON}/callback?state=%3Cb%3E", headers={"Accept": "text/html"})
        assert (answer.status_code, "took too long" in answer.text, "<b>" in answer.text) == (401, True, False)
        verifier = new_verifier()
        answer = await log_in(client, f"?port=9&challenge={challenge_of(verifier)}")
        code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
        answer = await client.post(f"{SIGN_ON}/key", json={"code": code, "verifier": verifier})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert "none of your groups" in answer.json()["detail"]


@pytest.mark.parametrize(
    "lies",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"iat": int(time.time()) + 3600},
        {"sub": None},
    ],
)
async def test_a_token_that_is_not_right_opens_nothing(server: Any, provider: Provider, lies: dict[str, Any]) -> None:
    provider.lies = lies
    async with browser(server) as client:
        answer = await log_in(client)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert COOKIE not in client.cookies


async def test_a_signature_that_is_not_the_providers_opens_nothing(server: Any, provider: Provider) -> None:
    async with browser(server) as client:
        assert (await log_in(client)).status_code == 303
        provider.algorithm = "none"
        assert (await log_in(client)).status_code == 401
        provider.algorithm = "HS256"
        assert (await log_in(client)).status_code == 401
        provider.algorithm, published = "RS256", provider.published
        provider.rotate()
        provider.published = published
        assert (await log_in(client)).status_code == 401


async def test_keys_that_were_rotated_are_asked_for_again(
    server: Any, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browser(server) as client:
        assert (await log_in(client)).status_code == 303
        provider.rotate()
        assert (await log_in(client)).status_code == 401  # not at once: who sends nonsense has nobody asked often
        monkeypatch.setattr("eddy.api.access.identity_provider.MIN_AGE_S", 0.0)
        assert (await log_in(client)).status_code == 303


async def test_a_log_in_that_another_browser_began_is_not_finished(server: Any, provider: Provider) -> None:
    async with browser(server) as mallory, browser(server) as ada:
        lure = await at_provider(await mallory.get(SIGN_ON))
        assert (await ada.get(lure)).status_code == 401
        assert COOKIE not in ada.cookies
        assert (await mallory.get(lure)).status_code == 303
        assert (await mallory.get(lure)).status_code == 401, "a state is good once"
        for query in ("", "?state=&code=x", "?state=nonsense&code=x", "?error=access_denied"):
            assert (await ada.get(f"{SIGN_ON}/callback{query}")).status_code == 401


async def test_a_provider_that_refuses_or_is_away_is_named(server: Any, provider: Provider) -> None:
    async with browser(server) as client:
        back = await at_provider(await client.get(SIGN_ON))
        state = parse_qs(urlsplit(back).query)["state"][0]
        refused = await client.get(f"{SIGN_ON}/callback?error=access_denied&error_description=no&state={state}")
        assert (refused.status_code, "access_denied" in refused.json()["detail"]) == (401, True)
    provider.issuer_lie = "https://another.example"
    server.app.state.context.provider._known = None
    async with browser(server) as client:
        answer = await client.get(SIGN_ON)
        assert (answer.status_code, answer.json()["code"]) == (503, "provider-unreachable")


async def test_a_provider_that_hangs_holds_up_log_ins_alone(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """More people want to log in than there are threads: keys are still made meanwhile."""
    asked, hangs = [], threading.Event()

    def ask(self: IdentityProvider, *_: object, **__: object) -> Any:
        asked.append(1)
        hangs.wait(300)
        raise ProviderUnreachable("It does not answer.")

    monkeypatch.setattr(IdentityProvider, "_ask", ask)
    server = start(oidc=OidcSettings("http://127.0.0.1:1", CLIENT, public_url=HERE, rules=RULES))
    async with browser(server) as client, anyio.create_task_group() as group:
        answers: list[httpx.Response] = []

        async def begin() -> None:
            answers.append(await client.get(SIGN_ON))

        for _ in range(AT_ONCE + MAX_WAITING + 5):
            group.start_soon(begin)
        while len(answers) < 5:
            await anyio.sleep(0.01)
        key = {"Authorization": f"Bearer {server.keys['ada']}"}
        assert (await client.post("/v1/keys", json={"label": "meanwhile"}, headers=key)).status_code == 201
        assert len(answers) == 5
        hangs.set()
    assert {answer.json()["code"] for answer in answers} == {"provider-unreachable"}
    assert len(asked) == 1, "those who came meanwhile were told the same"


async def test_a_command_line_gets_a_key_for_its_code_once(server: Any, provider: Provider) -> None:
    verifier = new_verifier()
    async with browser(server) as client:
        answer = await log_in(client, f"?port=49152&challenge={challenge_of(verifier)}")
        where = urlsplit(answer.headers["location"])
        assert (where.scheme, where.netloc, where.path) == ("http", "127.0.0.1:49152", "/")
        assert COOKIE not in client.cookies
        assert provider.asked[-1]["prompt"] == "login"
        code = parse_qs(where.query)["code"][0]
    async with browser(server) as client:
        stolen = {"code": code, "verifier": new_verifier()}
        assert (await client.post(f"{SIGN_ON}/key", json=stolen)).status_code == 401
        assert (await client.post(f"{SIGN_ON}/key", json={"code": code, "verifier": verifier})).status_code == 401
        answer = await log_in(client, f"?port=49152&challenge={challenge_of(verifier)}")
        code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
        made = (await client.post(f"{SIGN_ON}/key", json={"code": code, "verifier": verifier})).json()
        assert (made["tenant"], made["operator"]) == ("ada", False)
        again = await client.post(f"{SIGN_ON}/key", json={"code": code, "verifier": verifier})
        assert again.status_code == 401
        headers = {"Authorization": f"Bearer {made['key']}"}
        assert (await client.get("/v1/session", headers=headers)).json()["tenant"] == "ada"


async def test_a_tenant_that_is_not_there_is_named(start: Any, provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    rules = RoleRules.parse("groups", "", "lab=nobody-yet", "")
    server = start(oidc=OidcSettings(provider.issuer, CLIENT, str(tmp_path / "secret"), public_url=HERE, rules=rules))
    async with browser(server) as client:
        answer = await log_in(client)
        assert (answer.status_code, "nobody-yet" in answer.json()["detail"]) == (403, True)


async def test_groups_of_a_project_act_for_the_tenants_it_has_now(server: Any, provider: Provider) -> None:
    rules, members = RULES, server.store.projects.members
    for claims in ({"groups": ["vision-lab"]}, {"groups": ["vision-lab", "guests"]}):
        with pytest.raises(Forbidden):
            rules.role(claims, "", members)
    server.store.projects.put(Project("vision", 1.0, ("ada", "grace")))
    assert rules.role({"groups": ["vision-lab"]}, "", members) == Role("ada", KeyScope.TENANT)
    assert rules.role({"groups": ["vision-lab", "guests"]}, "grace", members) == Role("grace", KeyScope.READ)
    assert rules.role({"groups": ["class", "vision-lab"]}, "", members).tenant == "grace", "a tenant's own group first"
    provider.claims["groups"] = ["vision-lab"]
    async with browser(server) as client:
        await log_in(client, "?tenant=grace")
        assert (await client.get("/v1/session")).json()["tenant"] == "grace"
    server.store.projects.put(Project("vision", 1.0, ("ada",)))
    with pytest.raises(Forbidden):
        rules.role({"groups": ["vision-lab"]}, "grace", members)


async def test_many_log_ins_of_a_tenant_end_the_oldest_of_them(
    server: Any, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.api.routes.sign_on.MAX_KEYS", 3)
    async with browser(server) as client:
        for _ in range(4):
            assert (await log_in(client)).status_code == 303
    good = [key for key in server.store.keys.all("ada") if not key.ended(time.time())]
    assert [key.label for key in good] == ["first", "sign-on: ada 42", "sign-on: ada 42"]


async def test_without_a_provider_there_is_none(start: Any) -> None:
    async with browser(start()) as client:
        assert (await client.get(f"{SIGN_ON}/offer")).json() == {"provider": "", "path": ""}
        for path in ("", "/callback?state=x&code=x"):
            assert (await client.get(f"{SIGN_ON}{path}")).status_code == 404


@pytest.mark.filterwarnings("ignore")  # of that program's own
async def test_a_provider_of_others_vouches_too(start: Any, tmp_path: Path) -> None:
    """`oidc-provider-mock`, which stands on Authlib: another program, with other ways, than the one above."""
    from oidc_provider_mock import User, run_server_in_thread

    grace = User(sub="grace", claims={"groups": ["class"], "email": "grace@lab.example"})
    with run_server_in_thread(user_claims=[grace]) as running:
        issuer = f"http://localhost:{running.server_port}"
        (tmp_path / "secret").write_text(SECRET)
        server = start(oidc=OidcSettings(issuer, CLIENT, str(tmp_path / "secret"), "openid email", HERE, RULES))
        async with browser(server) as client, httpx.AsyncClient() as outside:
            begun = await client.get(SIGN_ON)
            answer = await outside.post(begun.headers["location"], data={"sub": "grace"})
            assert (await client.get(answer.headers["location"])).status_code == 303
            assert (await client.get("/v1/session")).json()["tenant"] == "grace"


def test_claims_may_lie_deep_and_one_group_is_a_group() -> None:
    rules = RoleRules.parse("realm_access.roles", "", "lab=ada", "")
    assert rules.role({"realm_access": {"roles": ["lab"]}}).tenant == "ada"
    assert RULES.role({"groups": "class"}).tenant == "grace"
    named = RoleRules.parse("https://lab.example/groups", "", "lab=ada", "")
    assert named.role({"https://lab.example/groups": ["lab"]}).tenant == "ada"
    with pytest.raises(Forbidden):
        rules.role({"realm_access": "lab"})


def test_log_ins_that_are_not_finished_are_bounded_and_end() -> None:
    now = [0.0]
    flows = SignOnFlows(lambda: now[0])
    state, flow = flows.begin("", 0, "")
    for _ in range(MAX_KEPT):
        flows.begin("", 0, "")
    with pytest.raises(Unauthorized):
        flows.take(state, flow.browser)
    state, flow = flows.begin("", 0, "")
    now[0] = LIFE_S
    with pytest.raises(Unauthorized):
        flows.take(state, flow.browser)
    verifier = new_verifier()
    code = flows.keep(Granted(RULES.role({"groups": "lab"}), "sign-on: x"), challenge_of(verifier))
    for _ in range(2 * MAX_KEPT):
        flows.keep(Unauthorized("no", field="state"), "")
    assert flows.fetch(code, verifier), "who is refused pushes out nobody's key"
    code = flows.keep(Granted(RULES.role({"groups": "lab"}), "sign-on: x"), challenge_of(verifier))
    now[0] += CODE_LIFE_S
    with pytest.raises(Unauthorized):
        flows.fetch(code, verifier)


def test_one_who_begins_many_log_ins_ends_nobody_elses() -> None:
    now = [0.0]
    flows = SignOnFlows(lambda: now[0])
    state, flow = flows.begin("", 0, "", "10.0.0.7")
    mine = [flows.begin("", 0, "", f"2001:db8::{number:x}") for number in range(2 * MAX_KEPT)]
    assert flows.take(state, flow.browser) is flow
    with pytest.raises(Unauthorized):
        flows.take(mine[0][0], mine[0][1].browser)
    assert flows.take(mine[-1][0], mine[-1][1].browser) is mine[-1][1]
    now[0] = LIFE_S
    flows.begin("", 0, "")
    assert len(flows._flows) == 1, "those that are too late are forgotten"


GOOD: dict[str, str] = {"issuer": "https://login.example", "client_id": "eddy", "public_url": "https://eddy.example"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"client_id": ""}, "oidc_client_id"),
        ({"public_url": ""}, "public_url"),
        ({"public_url": "http://eddy.example"}, "public_url"),
        ({"issuer": "http://login.example"}, "oidc_issuer"),
        ({"issuer": "login.example"}, "oidc_issuer"),
        ({"scopes": "profile"}, "oidc_scopes"),
        ({"secret_file": "/nowhere/secret"}, "oidc_secret_file"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changed: dict[str, str], field: str) -> None:
    OidcSettings(**GOOD).check()  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest) as refused:
        OidcSettings(**{**GOOD, **changed}).check()  # type: ignore[arg-type]
    assert refused.value.details["field"] == field


@pytest.mark.parametrize("told", ["lab", "=ada", "lab=", "lab=a b"])
def test_tenants_by_group_are_pairs(told: str) -> None:
    read: Callable[..., RoleRules] = RoleRules.parse
    with pytest.raises(InvalidRequest, match="--oidc-tenants"):
        read("groups", "", told, "")
