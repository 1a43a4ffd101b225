# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every route, asked wrongly in every way, answers a problem document that says what is wrong."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import httpx
import pytest
import structlog
from eddy.api.http.problems import KINDS

pytestmark = pytest.mark.anyio
SIGN_ON = "/v1/session/sign-on"
OPEN = {"/healthz", "/readyz", "/problems/{code}", SIGN_ON, f"{SIGN_ON}/offer", f"{SIGN_ON}/callback", f"{SIGN_ON}/key"}
"""Addresses that need no key; those of logging in have tests of their own."""
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")


def check(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is the problem document it should be."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["code"] == code
    assert body["status"] == status == KINDS[code].status
    assert body["type"] == f"/problems/{code}"
    assert body["title"] == KINDS[code].title
    assert body["detail"]
    assert body["instance"].startswith("/")
    return body


def operations(server: Any) -> list[tuple[str, str]]:
    """Every (method, path template) of the OpenAPI page."""
    paths = server.app.openapi()["paths"]
    return sorted((method.upper(), path) for path, methods in paths.items() for method in methods)


def fill(path: str) -> str:
    values = {
        "job": "999",
        "array": "999",
        "name": "nothing",
        "sha256": "0" * 64,
        "code": "nothing",
        "slot": "999",
        "tenant": "nobody",
        "key": "nothing",
    }
    return re.sub(r"{(\w+)}", lambda match: values.get(match.group(1), "nothing"), path)


async def test_the_page_knows_every_promised_route(server: Any) -> None:
    promised = """POST /v1/jobs;GET /v1/jobs;GET /v1/jobs/{job};DELETE /v1/jobs/{job};GET /v1/jobs/{job}/events;
    GET /v1/jobs/{job}/outputs/{name};PUT /v1/blobs/{sha256};GET /v1/apps;POST /v1/apps;GET /v1/slots;GET /healthz;
    GET /readyz;GET /metrics;GET /v1/admin/tenants;POST /v1/admin/tenants"""
    assert {tuple(entry.split()) for entry in promised.split(";")} <= set(operations(server))


async def test_the_interactive_page_needs_no_other_host(server: Any) -> None:
    async with server.client(None) as client:
        page = await client.get("/docs")
        assert page.status_code == 200
        sources = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert len(sources) >= 3
        for source in sources:
            assert source.startswith("/"), f"{source} is not served here"
            assert (await client.get(source)).status_code == 200


async def test_without_a_key_every_route_but_the_open_ones_is_closed(server: Any) -> None:
    for method, path in operations(server):
        if path in OPEN or (method, path) == ("POST", "/v1/session"):
            continue
        for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic abc"}):
            async with server.client(None) as client:
                answer = await client.request(method, fill(path), headers=headers)
            if method == "HEAD":
                assert answer.status_code == 401
                continue
            check(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"


async def test_what_is_the_operators_is_closed_to_tenants_before_anything_is_looked_at(server: Any) -> None:
    closed = [(method, path) for method, path in operations(server) if path.startswith("/v1/admin")]
    assert len(closed) >= 10
    details = set()
    async with server.client("ada") as client:
        for method, path in closed:
            for body in ({}, {"nonsense": 1}):
                details.add(check(await client.request(method, fill(path), json=body), 403, "forbidden")["detail"])
    assert len(details) == 1, "the answer tells whether a name is there"


async def test_what_is_not_there_is_not_found(server: Any) -> None:
    async with server.client("operator") as client:
        for method, path in operations(server):
            if "{" in path and method == "GET":
                check(await client.request(method, fill(path)), 404, "not-found")
        check(await client.delete("/v1/jobs/999"), 404, "not-found")
        check(await client.delete(f"/v1/blobs/{'0' * 64}"), 404, "not-found")
        check(await client.get("/v1/nothing"), 404, "not-found")
        check(await client.get("/nothing"), 404, "not-found")
        for path in ("/v1/jobs/", "/v1/blobs/", "/healthz/"):
            check(await client.get(path, headers={"Host": "elsewhere.example"}), 404, "not-found")


async def test_methods_that_do_not_fit(server: Any) -> None:
    known: dict[str, set[str]] = {}
    for method, path in operations(server):
        known.setdefault(path, set()).add(method)
    async with server.client() as client:
        for path, methods in known.items():
            for method in set(METHODS) - methods:
                answer = await client.request(method, fill(path))
                check(answer, 405, "method-not-allowed")
                assert methods <= set(answer.headers["allow"].split(", "))


async def test_options_and_head_fit_what_a_path_answers(server: Any) -> None:
    known: dict[str, set[str]] = {}
    for method, path in operations(server):
        known.setdefault(path, set()).add(method)
    async with server.client() as client:
        for path, methods in known.items():
            answer = await client.options(fill(path))
            assert answer.status_code == 204
            assert methods <= set(answer.headers["allow"].split(", "))
        for path in ("/healthz", "/metrics", "/v1/jobs", "/v1/apps", "/v1/slots", "/v1/jobs/999"):
            answer, whole = await client.head(path), await client.get(path)
            assert (answer.status_code, answer.content) == (whole.status_code, b"")
            assert answer.headers["content-type"] == whole.headers["content-type"]
        check(await client.options("/v1/nothing"), 404, "not-found")
        assert "HEAD" not in (await client.options("/v1/jobs/999/events")).headers["allow"]


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_does_not_say_it_is_json(server: Any, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    async with server.client() as client:
        answer = await client.post("/v1/jobs", content=b'{"application": "invert"}', headers=headers)
        assert check(answer, 415, "unsupported-media-type")["allowed"] == ["application/json"]
        accepted = {"Content-Type": "application/json; charset=utf-8"}
        answer = await client.post("/v1/jobs", content=b'{"application": "nothing"}', headers=accepted)
        check(answer, 422, "invalid-request")


async def test_bodies_that_are_not_json_objects(server: Any) -> None:
    paths = server.app.openapi()["paths"]
    bodies = {
        path: by["post"]["requestBody"] for path, by in sorted(paths.items()) if "requestBody" in by.get("post", {})
    }
    posts = [path for path, body in bodies.items() if "application/json" in body["content"]]
    assert len(posts) >= 10
    async with server.client("operator") as client:
        for path in posts:
            for content in (b"{", b"\xff\xfe", b'{"a": 1,}', b"{'a': 1}"):
                answer = await client.post(path, content=content, headers={"Content-Type": "application/json"})
                check(answer, 400, "malformed-json")
            for content in (b"[]", b"7", b"null", b'"text"', b""):
                answer = await client.post(path, content=content, headers={"Content-Type": "application/json"})
                check(answer, 422, "invalid-request")


async def test_bodies_too_large(server: Any) -> None:
    large = b'{"application": "' + b"x" * 5000 + b'"}'

    async def dribble() -> Any:
        for start in range(0, len(large), 500):
            yield large[start : start + 500]

    async with server.client("operator") as client:
        for path in ("/v1/jobs", "/v1/apps", "/v1/admin/tenants"):
            headers = {"Content-Type": "application/json"}
            declared = check(await client.post(path, content=large, headers=headers), 413, "payload-too-large")
            assert declared["limit"] == 4000
            assert declared["asked"] == len(large)
            streamed = check(await client.post(path, content=dribble(), headers=headers), 413, "payload-too-large")
            assert streamed["limit"] == 4000
        blob = b"y" * 2001
        answer = await client.put(f"/v1/blobs/{hashlib.sha256(blob).hexdigest()}", content=blob)
        assert check(answer, 413, "payload-too-large")["limit"] == 2000


SUBMISSIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"application": "unheard_of"}, "application", "invert"),
    ({}, "application", ""),
    ({"application": 7}, "application", ""),
    ({"application": "invert", "batch": 0}, "batch", "1"),
    ({"application": "invert", "batch": "2"}, "batch", ""),
    ({"application": "invert", "batch": 1.5}, "batch", ""),
    ({"application": "invert", "priority": 2}, "priority", "[1, 3, 9]"),
    ({"application": "invert", "deadline_s": -1}, "deadline_s", "0"),
    ({"application": "invert", "inputs": {"image": []}}, "inputs.image", "1"),
    ({"application": "invert", "inputs": {"image": ["zz"]}}, "inputs.image[0]", "0-9a-f"),
    ({"application": "invert", "inputs": {"image": ["1" * 64]}}, "inputs.image[0]", "blob"),
    ({"application": "invert"}, "inputs.image", "missing"),
    ({"application": "invert", "batch": 5}, "batch", "1..4"),
    ({"application": "invert", "inputs": {"imag": ["1" * 64]}}, "inputs.imag", "image"),
    (
        {"application": "invert", "inputs": {"image": ["1" * 64]}, "constants": {"table": "1" * 64}},
        "inputs.image[0]",
        "",
    ),
    ({"application": "invert", "colour": "red"}, "colour", "documented"),
]


@pytest.mark.parametrize(("body", "field", "hint"), SUBMISSIONS, ids=lambda value: str(value)[:40])
async def test_a_wrong_submission_names_field_and_allowed_values(
    server: Any, body: dict[str, Any], field: str, hint: str
) -> None:
    async with server.client() as client:
        answer = check(await client.post("/v1/jobs", json=body), 422, "invalid-request")
    assert answer["field"] == field
    assert hint in f"{answer['detail']} {answer.get('allowed', '')}"
    assert not server.store.lists.page(None), "nothing may be half done"


async def test_wrong_parameters(server: Any) -> None:
    cases = [
        ("/v1/jobs?state=asleep", "state"),
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=many", "limit"),
        ("/v1/jobs?cursor=abc", "cursor"),
        ("/v1/jobs?colour=red", "colour"),
        ("/v1/jobs?tenant=grace", "tenant"),
        ("/v1/jobs/abc", "job"),
        ("/v1/jobs/0", "job"),
        (f"/v1/jobs/{1 << 64}", "job"),
    ]
    async with server.client() as client:
        for path, field in cases:
            assert check(await client.get(path), 422, "invalid-request")["field"] == field
        job = await server.submit()
        answer = await client.get(f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": "soon"})
        assert check(answer, 422, "invalid-request")["field"].lower() == "last-event-id"
        answer = await client.post("/v1/jobs", json={"application": "invert"}, headers={"Idempotency-Key": "a b"})
        assert check(answer, 422, "invalid-request")["field"].lower() == "idempotency-key"


async def test_a_blob_under_another_hash_is_refused_and_not_kept(server: Any) -> None:
    async with server.client() as client:
        answer = check(await client.put(f"/v1/blobs/{'0' * 64}", content=b"abc"), 422, "invalid-request")
        assert answer["field"] == "sha256"
        assert answer["allowed"] == hashlib.sha256(b"abc").hexdigest()
        assert check(await client.put("/v1/blobs/ABC", content=b"abc"), 422, "invalid-request")["field"] == "sha256"
        assert (await client.head(f"/v1/blobs/{'0' * 64}")).status_code == 404


async def test_wrong_packages(server: Any, package: dict[str, Any]) -> None:
    cases = [
        ({**package, "application": "not a name"}, "application"),
        ({**package, "application": "other", "colour": 1}, "colour"),
        ({**package, "application": "other", "edges": [["invert", "invert"]]}, "edges[0]"),
        (
            {**package, "application": "other", "tasks": [{**package["tasks"][0], "module": "gone"}]},
            "tasks.invert.module",
        ),
    ]
    async with server.client("operator") as client:
        for body, field in cases:
            answer = await client.post("/v1/apps", json=body)
            assert check(answer, 422, "invalid-request")["field"] == field
        check(await client.post("/v1/apps", json={**package, "max_batch": 9}), 409, "conflict")


async def test_tenants_may_not_do_the_operators_part(server: Any) -> None:
    async with server.client() as client:
        check(await client.get("/v1/admin/tenants"), 403, "forbidden")
        check(await client.post("/v1/admin/tenants", json={"id": "x"}), 403, "forbidden")
        check(await client.post("/v1/apps", json={}), 403, "forbidden")


async def test_a_failure_inside_is_one_line_of_log_and_a_problem_without_the_inside(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(server.store.lists, "find_page", broken)
    # What leaves the application, the web server logs once more: nothing may.
    transport = httpx.ASGITransport(app=server.app, raise_app_exceptions=True)
    headers = {"Authorization": f"Bearer {server.keys['ada']}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://eddy", headers=headers) as client:
        with structlog.testing.capture_logs() as lines:
            answer = await client.get("/v1/jobs")
    body = check(answer, 500, "internal-error")
    assert "secret" not in answer.text
    (line,) = lines
    assert (line["event"], line["request_id"], line["path"]) == ("unhandled", body["request_id"], "/v1/jobs")
    assert str(line["exc_info"]) == "secret inside"


async def test_every_code_has_its_page(server: Any) -> None:
    async with server.client(None) as client:
        for code, kind in KINDS.items():
            page = (await client.get(f"/problems/{code}")).json()
            assert page == {"code": code, "status": kind.status, "title": kind.title, "advice": kind.advice}


async def test_every_error_class_has_a_status() -> None:
    from eddy.core.errors import EddyError

    def below(base: type[EddyError]) -> list[type[EddyError]]:
        return [base, *(found for child in base.__subclasses__() for found in below(child))]

    of_the_core = [kind for kind in below(EddyError) if kind.__module__ == "eddy.core.errors"]
    assert len(of_the_core) > 10
    assert {kind.code for kind in of_the_core} <= set(KINDS)
