# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Values that are JSON to Python and to nobody else, in every place a request has: never a 500, nothing kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.strict_json import MAX_DEPTH, UnstorableValue, parse

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
KERNEL: dict[str, Any] = {
    "kernel": {
        "source": "kernel void k(float a) {}",
        "kernel": "k",
        "defines": {"N": "4"},
        "global_size": [4],
        "local_size": [1],
        "offset": [0],
        "arguments": [{"value": 2.5}],
    },
    "priority": 1,
    "deadline_s": 1.0,
    "time_limit_s": 1.0,
}
APPLICATION: dict[str, Any] = {
    "application": "invert",
    "batch": 1,
    "inputs": {"image": ["0" * 64]},
    "constants": {"table": "0" * 64},
}
TENANT: dict[str, Any] = {"id": "x", "admin": False, "quota": {"max_jobs": 1, "max_blob_bytes": 1}, "attributes": {}}

HOSTILE = (
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', "NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "-" + "9" * 400,
    "9" * 5000, "18446744073709551616", "9223372036854775808", "1e400", "-0.0", "[" * 500 + "]" * 500,
    '{"a":' * 500 + "1" + "}" * 500, '"' + "x" * 3000 + '"', '{"a": 1, "a": 2}', '{"\\ud800": 1}', '{"\\u0000": 1}',
    "null", "true", "[]", "{}", '""', '[{"\\udc00": []}]',
)  # fmt: skip
MARK = "\x01here\x01"


def spoiled(value: Any) -> Iterator[str]:
    """The value's JSON with each leaf, and each name, replaced by each hostile one."""
    for marked in _marked(value):
        text = json.dumps(marked)
        spot = json.dumps(MARK)
        for hostile in HOSTILE:
            if f"{spot}:" in text:
                if hostile.startswith('"'):
                    yield text.replace(spot, hostile)
            else:
                yield text.replace(spot, hostile)


def _marked(value: Any) -> Iterator[Any]:
    yield MARK
    if isinstance(value, dict):
        for name, entry in value.items():
            yield {**{k: v for k, v in value.items() if k != name}, MARK: entry}
            for inside in _marked(entry):
                yield {**value, name: inside}
        yield {**value, MARK: 1}
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            for inside in _marked(entry):
                yield [*value[:place], inside, *value[place + 1 :]]


async def swept(server: Any, path: str, value: Any) -> int:
    count = 0
    async with server.client("operator") as client:
        for body in spoiled(value):
            answer = await client.post(path, content=body.encode(), headers=JSON)
            assert answer.status_code < 500, (path, body[:300], answer.text)
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["status"] == answer.status_code
            count += 1
        for listing in ("/v1/jobs", "/v1/apps", "/v1/admin/tenants"):
            assert (await client.get(listing)).status_code == 200
    return count


@pytest.mark.parametrize(
    ("path", "value"), [("/v1/jobs", KERNEL), ("/v1/jobs", APPLICATION), ("/v1/admin/tenants", TENANT)]
)
async def test_no_value_anywhere_in_a_body_is_a_500(server: Any, path: str, value: Any) -> None:
    assert await swept(server, path, value) > 200


async def test_no_value_anywhere_in_a_package_is_a_500(server: Any, package: dict[str, Any]) -> None:
    package |= {"application": "other", "goals": {"1": 1}, "summary": "text", "edges": []}
    assert await swept(server, "/v1/apps", package) > 500


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"kernel": {"defines": {"\\ud800": "1"}}}', "kernel.defines.\\ud800"),
        ('{"inputs": {"\\udfff": []}}', "inputs.\\udfff"),
        ('{"application": "\\u0000"}', "application"),
        ('{"deadline_s": NaN}', "deadline_s"),
        ('{"arguments": [{"value": 99999999999999999999999}]}', "arguments[0].value"),
    ],
)
async def test_the_field_is_named_in_text_that_can_be_written(server: Any, body: str, field: str) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/jobs", content=body, headers=JSON)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["field"]) == (422, "invalid-request", field)
    assert problem["allowed"]


@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 2}', b'{"a": {"b": 1, "b": 1}}', b"\xff\xfe{}", '{"a": 1}'.encode("utf-16"), b"", b"{"]
)
def test_what_is_no_json_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse(body)


def test_what_fits_is_read_as_it_is() -> None:
    value = {"a": [1, -1.5, None, True, "ключ", {"ключ": (1 << 64) - 1, "b": -(1 << 63)}]}
    assert parse(json.dumps(value).encode()) == value
    assert parse(("[" * MAX_DEPTH + "]" * MAX_DEPTH).encode())
    with pytest.raises(json.JSONDecodeError, match="deep"):
        parse(("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)).encode())
    with pytest.raises(UnstorableValue):
        parse(str(1 << 64).encode())


LARGEST = (1 << 63) - 1


@pytest.mark.parametrize("who", ["ada", "operator"])
@pytest.mark.parametrize(
    "job", [LARGEST, LARGEST - 1, LARGEST + 1, 10**30, "9" * 5000, 0, -1, "1e3", "%00", "%ED%A0%80"]
)
async def test_no_job_number_is_a_500(server: Any, who: str, job: Any) -> None:
    async with server.client(who) as client:
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/log"), ("GET", "/outputs/x")):
            answer = await client.request(method, f"/v1/jobs/{job}{path}")
            assert answer.status_code in (404, 422), (method, path, answer.text)


@pytest.mark.parametrize("job", ["+1", "%2B1", "1%0a", "1_0", "%201", "1%20", "01", "1.0", "%d9%a1"])
async def test_a_job_number_is_digits_and_nothing_else(server: Any, job: str) -> None:
    async with server.client() as client:
        assert (await server.submit())["id"] == 1
        assert (await client.get("/v1/jobs/1")).status_code == 200
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/log"), ("GET", "/outputs/x")):
            answer = await client.request(method, f"/v1/jobs/{job}{path}")
            assert (answer.status_code, answer.json()["field"]) == (422, "job"), (method, path, answer.text)
        answer = await client.get(f"/v1/jobs?limit={job}")
        assert (answer.status_code, answer.json()["field"]) == (422, "limit")
        answer = await client.get("/v1/jobs/1/events", headers={"Last-Event-ID": "+1"})
        assert (answer.status_code, answer.json()["field"]) == (422, "last-event-id")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/1/events", "/healthz", "/v1/slots", "/v1/apps"])
async def test_a_line_feed_behind_an_address_makes_it_another(server: Any, path: str) -> None:
    await server.submit()
    async with server.client() as client:
        for method in ("GET", "POST", "OPTIONS", "HEAD"):
            assert (await client.request(method, f"{path}%0a")).status_code == 404


async def test_a_whole_number_may_be_written_with_a_fraction_of_nothing(server: Any) -> None:
    plain = {"application": "invert", "inputs": {"image": [await server.put(bytes(range(6)))]}}
    async with server.client() as client:
        key = {"Idempotency-Key": "k"}
        found = await client.post("/v1/jobs", json={**plain, "batch": 1.0, "priority": 3.0}, headers=key)
        again = await client.post("/v1/jobs", json={**plain, "batch": 1, "priority": 3}, headers=key)
        assert (found.status_code, again.status_code) == (202, 202), found.text
        assert found.json() == again.json(), "equal numbers make equal requests"
        assert (found.json()["batch"], found.json()["priority"]) == (1, 3)
        refused = await client.post("/v1/jobs", json={**plain, "batch": 1.5})
        assert (refused.status_code, refused.json()["field"]) == (422, "batch")


def test_the_whole_numbers_of_a_kernel_too() -> None:
    shape = {"buffer": "0" * 64, "dtype": "<f4", "shape": [2.0, 3]}
    given = [shape, {"local": 64.0}, {"argument": 0.0}, {"value": 2.0}, {"value": [-0.0]}]
    kernel = {"source": "x", "kernel": "k", "global_size": [4.0], "arguments": given}
    found = JobSubmission.model_validate({"kernel": kernel}).kernel
    assert found is not None
    assert json.dumps(found.global_size) == "[4]"
    assert json.dumps([{**shape, "shape": [2, 3]}, {"local": 64}, {"argument": 0}, *given[3:]]) == json.dumps(
        found.arguments
    )


@pytest.mark.parametrize("value", ["%00", "%ED%A0%80", "9" * 400, "NaN", "-1", "", "%FF", "x" * 5000, "é"])
async def test_no_query_or_header_is_a_500(server: Any, value: str) -> None:
    async with server.client("operator") as client:
        for name in ("state", "tenant", "limit", "cursor", "other"):
            answer = await client.get(f"/v1/jobs?{name}={value}")
            assert answer.status_code in (200, 422), (name, answer.text)
        raw = value.encode("latin-1")
        for header in ("Idempotency-Key", "Content-Type", "Last-Event-ID", "Authorization", "Accept", "Host"):
            for method, path in (("POST", "/v1/jobs"), ("GET", "/v1/jobs/1/events"), ("GET", "/v1/slots")):
                headers = {**client.headers, "content-type": "application/json", header: raw}
                answer = await client.request(method, path, headers=headers, content=b"{}")
                assert answer.status_code < 500, (header, method, path, answer.text)


async def test_a_name_the_server_cannot_put_into_a_header_is_refused(server: Any, package: dict[str, Any]) -> None:
    package["application"] = "ключ"
    async with server.client("operator") as client:
        answer = await client.post("/v1/apps", json=package)
    assert (answer.status_code, answer.json()["field"]) == (422, "application")


async def test_goals_cross_json_and_a_restart(start: Any, package: dict[str, Any]) -> None:
    package |= {"application": "other", "goals": {"1": 1, "4": 2}}
    async with start().client("operator") as client:
        assert (await client.post("/v1/apps", json=package)).status_code == 201
    assert start().app.state.context.catalogue.now.application("other").goals == ((1, 1), (4, 2))


@pytest.mark.parametrize("field", ["deadline_s", "time_limit_s", "kernel"])
async def test_null_is_as_good_as_left_out(server: Any, field: str) -> None:
    job = await server.submit(**{field: None})
    assert job["state"] == "queued"


def test_a_byte_order_mark_is_not_json() -> None:
    with pytest.raises(json.JSONDecodeError, match="BOM"):
        parse(b"\xef\xbb\xbf{}")
