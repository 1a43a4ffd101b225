# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head speaks the API of a board: what it does not is listed here, each with the reason."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import httpx
import pytest
from eddy.api.access.request_limits import TenantRateLimits, TokenBuckets
from eddy.api.service.app import routes
from eddy.core.errors import RateLimited
from eddy.pool.head import app as head
from eddy.pool.head.app import create_head
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.placement.leader import Leader
from eddy.pool.routes import jobs as job_routes
from eddy.pool.routes.context import TRIALS_PER_S, HeadParts
from fastapi import Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

SLOTS = "slots are a board's own; `GET /v1/pool` and `/v1/overview` tell of boards"
POLICIES = "what a board dispatches and prices by is set there; `eddy pool serve --policy` places"
BLOBS = "blobs of a pool come in one request"
SIGN_ON = "a pool's tenants log in with keys"
SESSIONS = "memory that stays is a board's own; a pool places jobs"
NOTICES = "boards send notices of their jobs; a pool's are followed by its event streams"
MAINTENANCE = "boards keep their windows; `eddy pool drain BOARD --because WHY` keeps jobs of the pool from one"
PROJECTS = "shares of projects are of a board; `eddy tenant set --weight` is what tenants of a pool have"
LEASES = "a slot is leased at its board; a pool places jobs"
KEPT = "outputs of a pool are not collected, so nothing needs to be held"
ABSENT: Mapping[str, str] = {
    "GET /v1/slots": SLOTS,
    "PUT /v1/admin/slots/{}": SLOTS,
    "GET /v1/admin/policy": POLICIES,
    "PUT /v1/admin/policy": POLICIES,
    "GET /v1/admin/price": POLICIES,
    "PUT /v1/admin/price": POLICIES,
    "GET /v1/market/history": "epochs are kept by the board whose market it is",
    "GET /v1/market/explain": "epochs are kept by the board whose market it is",
    "POST /v1/admin/purge": "`eddy pool serve --retention-age-s` removes records of jobs",
    "GET /v1/history": "slots, temperatures and prices are a board's; `GET /v1/pool/timeline` tells of boards",
    "POST /v1/apps": "packages are files beside each board and head, signed there",
    "GET /v1/jobs/{}/log": "what a kernel printed stays on the board that ran it",
    "GET /v1/jobs/{}/profile": "what cores counted is with the board's record of the job",
    "PUT /v1/jobs/{}/hold": KEPT,
    "DELETE /v1/jobs/{}/hold": KEPT,
    "HEAD /v1/blobs/{}/upload": BLOBS,
    "PATCH /v1/blobs/{}/upload": BLOBS,
    "DELETE /v1/blobs/{}/upload": BLOBS,
    "GET /v1/sessions": SESSIONS,
    "POST /v1/sessions": SESSIONS,
    "GET /v1/sessions/{}": SESSIONS,
    "DELETE /v1/sessions/{}": SESSIONS,
    "GET /v1/sessions/{}/profile": SESSIONS,
    "POST /v1/sessions/{}/commands": SESSIONS,
    "POST /v1/sessions/{}/programs": SESSIONS,
    "GET /v1/session/sign-on": SIGN_ON,
    "GET /v1/session/sign-on/callback": SIGN_ON,
    "GET /v1/session/sign-on/offer": SIGN_ON,
    "POST /v1/session/sign-on/key": SIGN_ON,
    "DELETE /v1/leases/{}": LEASES,
    "GET /v1/lease-calendar": LEASES,
    "GET /v1/leases": LEASES,
    "GET /v1/leases/{}": LEASES,
    "GET /v1/leases/{}/memory": LEASES,
    "POST /v1/leases": LEASES,
    "POST /v1/leases/{}/extend": LEASES,
    "POST /v1/leases/{}/image": LEASES,
    "POST /v1/leases/{}/interrupt": LEASES,
    "POST /v1/leases/{}/module": LEASES,
    "POST /v1/leases/{}/registers": LEASES,
    "PUT /v1/leases/{}/memory": LEASES,
    "GET /v1/subscriptions": NOTICES,
    "POST /v1/subscriptions": NOTICES,
    "GET /v1/subscriptions/{}": NOTICES,
    "DELETE /v1/subscriptions/{}": NOTICES,
    "GET /v1/subscriptions/{}/deliveries": NOTICES,
    "POST /v1/subscriptions/{}/deliveries/{}/redeliver": NOTICES,
    "POST /v1/subscriptions/{}/test": NOTICES,
    "GET /v1/maintenance": MAINTENANCE,
    "POST /v1/admin/maintenance": MAINTENANCE,
    "DELETE /v1/admin/maintenance/{}": MAINTENANCE,
    "GET /v1/projects": PROJECTS,
    "POST /v1/projects": PROJECTS,
    "PATCH /v1/projects/{}": PROJECTS,
    "DELETE /v1/projects/{}": PROJECTS,
    "GET /problems/{}": "a board answers it; codes are in docs/reference/http-api.md",
}
HEADS_OWN = {
    "GET /v1/pool",
    "GET /v1/pool/bytes",
    "GET /v1/pool/examination",
    "POST /v1/pool/rebalance",
    "PUT /v1/pool/boards/{}",
    "PUT /v1/pool/boards/{}/labels",
    "DELETE /v1/pool/boards/{}",
    "GET /v1/pool/jobs/{}/explain",
    "GET /v1/pool/timeline",
    "DELETE /v1/jobs/{}/outputs",
    "GET /v1/transfers/{}",
    "PUT /v1/transfers/{}",
}


def by_name(routes: Iterable[APIRoute]) -> dict[str, APIRoute]:
    return {
        f"{method} {re.sub('{[^}]*}', '{}', route.path)}": route for route in routes for method in route.methods or ()
    }


def asked(dependant: Dependant) -> set[str]:
    """Names of query parameters and headers, those of models and of dependencies too."""
    names = set()
    for parameter in (*dependant.query_params, *dependant.header_params):
        fields = getattr(parameter.field_info.annotation, "model_fields", None)
        names |= {field.alias or name for name, field in fields.items()} if fields else {parameter.alias}
    return names.union(*(asked(each) for each in dependant.dependencies))


BOARD = by_name(routes())
HEAD = by_name(head.routes())


def test_a_head_answers_what_a_board_does() -> None:
    assert BOARD.keys() - HEAD.keys() == ABSENT.keys()
    assert HEAD.keys() - BOARD.keys() == HEADS_OWN


def test_a_head_passes_nothing_over_that_changes_an_answer() -> None:
    """A parameter nobody reads is ignored in silence: a trial that a head does not know of would be a job."""
    differ = {name: asked(BOARD[name].dependant) - asked(HEAD[name].dependant) for name in BOARD.keys() & HEAD.keys()}
    assert {name: missing for name, missing in differ.items() if missing} == {}


def test_dry_runs_of_a_tenant_are_bounded_and_those_of_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a head tens of milliseconds where thousands of jobs wait."""

    async def requests(*_: object) -> list[dict[str, Any]]:
        return [{}]

    async def tried(*_: object) -> Any:
        return SimpleNamespace(model_dump=lambda mode: {})

    monkeypatch.setattr(job_routes, "requests_of", requests)
    monkeypatch.setattr(job_routes, "_tried", tried)
    rate_limits = TenantRateLimits(TokenBuckets(lambda: 0.0), forecasts_per_s=TRIALS_PER_S)
    parts: Any = SimpleNamespace(rate_limits=rate_limits, tenants=AsyncMock())
    body: Any = None

    def ask(caller: PoolTenant) -> None:
        asyncio.run(job_routes.submit(body, Response(), parts, caller, None, dry_run=True))

    ada = PoolTenant("ada")
    for _ in range(int(TRIALS_PER_S)):
        ask(ada)
    with pytest.raises(RateLimited):
        ask(ada)
    ask(PoolTenant("grace"))
    for _ in range(10):
        ask(PoolTenant("operator", admin=True))


def test_a_parameter_that_a_head_does_not_have_is_refused_on_every_route() -> None:
    """`?dryrun=true` submitted the job."""
    app = create_head(MagicMock(), Leader(MagicMock(), "head"), MagicMock(), MagicMock())
    key = {"Authorization": "Bearer eddy_x"}

    async def answers(method: str, path: str, query: str, headers: Mapping[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://head") as client:
            return await client.request(method, f"{path}?{query}", headers=headers)

    assert len(HEAD) > 30
    for route in HEAD:
        method, path = route.replace("{}", "1").split()
        found = asyncio.run(answers(method, path, "dryrun=true", key))
        assert found.status_code == 422, route
        if method != "HEAD":
            assert (found.json()["code"], found.json()["field"]) == ("invalid-request", "dryrun")
    twice = asyncio.run(answers("POST", "/v1/jobs", "dry_run=true&dry_run=false", key))
    assert (twice.status_code, twice.json()["field"]) == (422, "dry_run")
    stranger = asyncio.run(answers("GET", "/v1/jobs", "dryrun=true", {}))
    assert stranger.status_code == 401, "who has no key is told that"


def test_who_looks_back_at_events_or_lists_many_jobs_is_bounded_as_at_a_board() -> None:
    looks = HeadParts.__dataclass_fields__["rate_limits"].default_factory()  # type: ignore[operator]
    ada, operator = PoolTenant("ada"), PoolTenant("operator", admin=True)
    for take, most, few, said in (
        (looks.admit_history, 4, 0, "look back 4 times at events a second"),
        (looks.admit_page, 8, 100, "8 pages of more than 100 jobs"),
        (looks.admit_resumed_stream, 20, 100, "20 streams more than 100 events behind"),
    ):
        for _ in range(most):
            take(ada, few + 1)
        with pytest.raises(RateLimited, match=said):
            take(ada, few + 1_000)
        for _ in range(most):
            take(ada, few)
            take(operator, 1_000)
