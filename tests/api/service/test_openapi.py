# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The OpenAPI page: every property described, every status named, examples that its own schemas accept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from eddy.api.answers import overview, schemas
from eddy.api.http.problems import KINDS, MEDIA_TYPE
from eddy.api.request_bodies import applications as app_submissions
from eddy.api.request_bodies import examples
from eddy.api.request_bodies import jobs as submissions
from eddy.api.request_bodies import tenants as tenant_submissions
from pydantic import BaseModel

pytestmark = pytest.mark.anyio
METHODS = {"get", "put", "post", "delete", "head", "patch"}
SNAKE = re.compile(r"[a-z]+(_[a-z]+)*\Z")


@pytest.fixture
def page(server: Any) -> dict[str, Any]:
    found: dict[str, Any] = server.app.openapi()
    return found


def operations(page: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, by in page["paths"].items():
        for method, operation in by.items():
            if method in METHODS:
                yield f"{method} {path}", operation


def properties(value: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of every schema inside a value, with where it stands."""
    if isinstance(value, list):
        for place, entry in enumerate(value):
            yield from properties(entry, f"{where}[{place}]")
    elif isinstance(value, dict):
        inside = value.get("properties")
        if isinstance(inside, dict) and value.get("type") == "object":
            for name, entry in inside.items():
                yield f"{where}.{name}", entry
        for name, entry in value.items():
            if name not in ("example", "examples"):
                yield from properties(entry, f"{where}.{name}")


def test_every_property_and_parameter_is_described(page: dict[str, Any]) -> None:
    found = dict(properties(page, ""))
    assert len(found) > 130
    assert not [where for where, entry in found.items() if not entry.get("description")]
    bare = [
        f"{name}: {parameter['name']}"
        for name, operation in operations(page)
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]
    assert not bare


def test_every_operation_has_a_name_a_generator_likes(page: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(page)]
    assert len(set(names)) == len(names) >= 19
    assert not [name for name in names if not SNAKE.match(name)]
    assert {"submit_job", "list_jobs", "show_job", "cancel_job", "follow_job", "fetch_output", "put_blob"} <= set(names)
    assert all(operation["summary"] and operation["tags"] for _, operation in operations(page))


def test_every_status_is_named_and_none_is_a_catch_all(page: dict[str, Any]) -> None:
    for name, operation in operations(page):
        responses = operation["responses"]
        assert not {"default", "4XX", "5XX"} & set(responses), name
        assert {"400", "408", "413", "500", "503"} <= set(responses), name
        needs_key = bool(operation.get("security")) or name == "post /v1/session"
        assert ("401" in responses) == needs_key, name
        for status, answer in responses.items():
            assert answer["description"], (name, status)
            if int(status) < 400 or (name, status) == ("get /readyz", "503"):
                continue
            assert answer["content"] == {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
            assert int(status) in {kind.status for kind in KINDS.values()}


def test_headers_are_on_the_page(page: dict[str, Any]) -> None:
    submit = page["paths"]["/v1/jobs"]["post"]
    assert submit["responses"]["202"]["headers"]["Location"]["required"]
    assert "Retry-After" in submit["responses"]["503"]["headers"]
    assert "WWW-Authenticate" in submit["responses"]["401"]["headers"]
    assert [entry["name"] for entry in submit["parameters"]] == ["dry_run", "idempotency-key"]
    follow = page["paths"]["/v1/jobs/{job}/events"]["get"]
    assert "last-event-id" in [entry["name"] for entry in follow["parameters"]]
    assert page["components"]["securitySchemes"]["api_key"]["scheme"] == "bearer"
    assert all(re.match(r"[\w.-]+\Z", name) for part in page["components"].values() for name in part)


def test_no_parameter_may_be_null(page: dict[str, Any]) -> None:
    schemas = [entry["schema"] for _, operation in operations(page) for entry in operation.get("parameters", ())]
    assert len(schemas) > 10
    assert not [schema for schema in schemas if "null" in str(schema) or "anyOf" in schema]


def test_every_body_and_answer_has_an_example(page: dict[str, Any]) -> None:
    for name, operation in operations(page):
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [answer.get("content", {}) for status, answer in operation["responses"].items() if status < "300"]
        for media_type, shown in (pair for content in contents for pair in content.items()):
            if media_type == "application/json":
                referred = page["components"]["schemas"][shown["schema"]["$ref"].rpartition("/")[2]]
                assert referred.get("examples") or name == "get /problems/{code}", (name, shown)


@pytest.mark.parametrize(
    ("model", "example"),
    [
        (submissions.JobSubmission, examples.JOB_OF_APPLICATION),
        (submissions.JobSubmission, examples.JOB_OF_KERNEL),
        (app_submissions.AppSubmission, examples.APPLICATION),
        (tenant_submissions.TenantSubmission, examples.TENANT_SUBMISSION),
        (schemas.Job, examples.JOB),
        (schemas.App, examples.APP),
        (schemas.Slot, examples.SLOT),
        (schemas.Blob, examples.BLOB),
        (schemas.Tenant, examples.TENANT),
        (overview.Overview, examples.OVERVIEW),
    ],
)
def test_examples_fit_their_schemas(model: type[BaseModel], example: dict[str, Any]) -> None:
    model.model_validate(example)


async def test_the_events_of_a_stream_fit_their_schema(server: Any, page: dict[str, Any]) -> None:
    job = await server.submit()
    server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    answer = page["paths"]["/v1/jobs/{job}/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    async with server.client() as client:
        text = (await client.get(f"/v1/jobs/{job['id']}/events")).text
    events = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if "data" in block
    ]
    assert len(events) > 2
    for event in events:
        assert set(answer["schema"]["required"]) <= set(event) <= set(answer["schema"]["properties"])
        assert event["event"] in answer["schema"]["properties"]["event"]["enum"]
        known = answer["schema"]["properties"]["data"]["contentSchema"]["properties"]
        assert set(json.loads(event["data"])) <= set(known)
