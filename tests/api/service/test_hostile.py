# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Requests nobody means well: each ends as a problem document, never as a 500, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from eddy.api.request_bodies.strict_json import UnstorableValue, parse

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
GOOD = b'{"application": "invert"}'


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"[" * 3900, JSON),
        (b'{"application": "invert", "deadline_s": NaN}', JSON),
        (b'{"application": "invert", "deadline_s": 1e999}', JSON),
        (b'{"application": "invert", "batch": 1' + b"0" * 3000 + b"}", JSON),
        (b'{"application": "\\ud800"}', JSON),
        (b'{"application": "in\\u0000vert"}', JSON),
        (b'{"application": "invert", "inputs": {"\\u0000": []}}', JSON),
        (GOOD, {"Content-Type": "text/plain"}),
        (GOOD, {"Content-Type": "multipart/form-data; boundary=x"}),
        (GOOD, {}),
        (GOOD, {**JSON, "Idempotency-Key": ""}),
        (GOOD, {**JSON, "Idempotency-Key": "k" * 129}),
    ],
    ids=range(12),
)
async def test_submissions(server: Any, content: bytes, headers: dict[str, str]) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", content=content, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    assert not server.store.lists.page(None)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/v1/jobs", b'{"application": "invert", "inputs": {"in": [' + b"1," * 1500 + b"1]}}"),
        ("/v1/arrays", b'{"job": {"application": "invert"}, "each": [' + b"{}," * 900 + b'{"inputs": {"in": [1]}}]}'),
        ("/v1/arrays", b'{"job": {"application": "invert"}, "each": [' + b'{"x": 1, "y": 1},' * 200 + b"{}]}"),
        ("/v1/jobs", b'{"application": "invert", ' + b", ".join(b'"%x": 1' % number for number in range(400)) + b"}"),
        ("/v1/session", b"{" + b", ".join(b'"%x": 1' % number for number in range(400)) + b"}"),
    ],
    ids=range(5),
)
async def test_much_that_is_wrong_is_answered_briefly(server: Any, path: str, content: bytes) -> None:
    async with server.client() as client:
        answer = await client.post(path, content=content, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert 1 <= len(answer.json()["errors"]) <= 32
    assert len(answer.content) < len(content) + 6000


async def test_an_object_of_many_names_is_refused_as_a_whole() -> None:
    names = ", ".join(f'"{number}": 1' for number in range(1025))
    with pytest.raises(UnstorableValue, match="inputs: the object has 1025 names"):
        parse(f'{{"inputs": {{{names}}}}}'.encode())
    assert len(parse(f"{{{names[:-11]}}}".encode())) == 1024


@pytest.mark.parametrize(
    "content",
    [
        b'{"id": "x", "attributes": {"plan": NaN}}',
        b'{"id": "x", "attributes": {"plan": "\\ud800"}}',
        b'{"id": "../x"}',
        b'{"id": "x", "quota": {"max_jobs": true}}',
        b'{"id": "x", "admin": "yes"}',
    ],
)
async def test_tenants(server: Any, content: bytes) -> None:
    before = server.store.tenants.all()
    async with server.client("operator") as client:
        answer = await client.post("/v1/admin/tenants", content=content, headers=JSON)
        assert (await client.get("/v1/admin/tenants")).status_code == 200
    assert answer.status_code == 422, answer.text
    assert server.store.tenants.all() == before


async def test_packages(server: Any, package: dict[str, Any]) -> None:
    task = package["tasks"][0]
    buffer = package["buffers"]["image"]
    cases: list[dict[str, Any]] = [
        {"application": "../../etc"},
        {"buffers": []},
        {"buffers": {"image": {**buffer, "shape": [1 << 60, 1 << 60]}}},
        {"buffers": {"image": {**buffer, "dtype": ["u1"]}}},
        {"buffers": {"image": {**buffer, "role": {}}}},
        {"tasks": [{**task, "module": ["inverter"]}]},
        {"tasks": [{**task, "estimate_us": 1e308 * 10}]},
        {"tasks": [task] * 2},
        {"tasks": "invert"},
        {"edges": [[{}, {}]]},
        {"max_batch": -1},
    ]
    import json

    async with server.client("operator") as client:
        for case in cases:
            body = json.dumps({**package, "application": "other", **case})
            answer = await client.post("/v1/apps", content=body, headers=JSON)
            assert answer.status_code == 422, (case, answer.text)
        assert [app["name"] for app in (await client.get("/v1/apps")).json()["apps"]] == ["invert"]


@pytest.mark.parametrize("path", ["/v1/apps/%00", "/v1/apps/..%2f..", "/v1/jobs/1%00", "/v1/jobs/%C3%28", "/v1/jobs/-1",
                                  "/v1/jobs/1/outputs/%00", "/problems/%00", "//v1/jobs", "/v1/jobs/"])  # fmt: skip
async def test_addresses(server: Any, path: str) -> None:
    async with server.client() as client:
        answer = await client.get(path)
    assert answer.status_code in (307, 404, 422), answer.text


@pytest.mark.parametrize("text", ["\x1b[2J", "a\nb", "\x9b", "\u202eb"])
async def test_what_operators_read_in_a_terminal_cannot_steer_it(server: Any, text: str) -> None:
    async with server.client() as client:
        key = await client.post("/v1/keys", json={"label": text})
    async with server.client("operator") as client:
        slot = await client.put("/v1/admin/slots/0", json={"drained": True, "because": text})
    assert [(answer.status_code, answer.json()["field"]) for answer in (key, slot)] == [
        (422, "label"),
        (422, "because"),
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("POST", "/v1/admin/tenants", {"id": "a b"}, "id: 'a b' must begin with a letter, and have up to 64 letters"),
        ("GET", "/v1/usage?from=x", None, "from: must be a day, as 2026-11-22"),
        ("GET", "/v1/jobs?label=x", None, "label[0]: must read NAME=VALUE"),
        ("GET", "/v1/blobs/zz", None, "sha256: must be a sha256, 64 lower-case hex digits"),
        ("POST", "/v1/keys", {"label": "a\tb"}, "label: must be one line, without characters that steer a terminal"),
    ],
)
async def test_the_form_of_a_text_is_said_in_words(server: Any, method: str, path: str, body: Any, words: str) -> None:
    async with server.client("operator") as client:
        answer = await client.request(method, path, json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(words)
    allowed = answer.json()["allowed"]
    assert allowed == "NAME=VALUE" if "label[0]" in words else allowed["pattern"]


@pytest.mark.parametrize("entry", ["18446744073709551616", "-9223372036854775809", '"\\u0000"', '"\\ud800"', "1e999"])
def test_what_cannot_be_kept_is_found_in_a_long_list_too(entry: str) -> None:
    with pytest.raises(UnstorableValue, match=r"^422: x\[2000\]: "):
        parse(f'{{"x": [{"1, " * 1000}{chr(34)}a{chr(34)}, {"0, " * 999}{entry}]}}'.encode())
