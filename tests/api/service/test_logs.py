# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The log: every answer and every line about it have the request's name; no line has a key, no tenant a path."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from eddy.api.service.log_lines import configure
from eddy.core.errors import StorageDamaged, StorageFull
from eddy.host import logs

pytestmark = pytest.mark.anyio

SECRETS = ("eddy_ada", "eddy_operator")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave logging as other tests expect it."""
    root = logging.getLogger()
    level, form = root.level, logs._form
    yield
    root.setLevel(level)
    logs._form = form
    for handler in [each for each in root.handlers if isinstance(each, logs._Lines)]:
        root.removeHandler(handler)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was logged, each line an object of JSON; the test's own client logs too, which is left out."""
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    return [line for line in found if line["logger"] != "httpx"]


async def test_a_submission_can_be_followed_by_its_name(server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    blob = await server.put(bytes(range(6)))
    capsys.readouterr()
    async with server.client() as client:
        body = {"application": "invert", "inputs": {"image": [blob]}}
        answer = await client.post("/v1/jobs", json=body, headers={"X-Request-ID": "order-17"})
    assert answer.headers["X-Request-ID"] == "order-17"
    server.hypervisor.finish(server.store.jobs.get("ada", answer.json()["id"]), result=bytes(6))
    access, ended = lines(capsys)
    key = server.store.keys.all("ada")[0].id
    facts = ("event", "status", "tenant", "key", "job", "request_id")
    assert [access[name] for name in facts] == ["POST /v1/jobs", 202, "ada", key, answer.json()["id"], "order-17"]
    assert (ended["job"], ended["tenant"], ended["state"]) == (answer.json()["id"], "ada", "succeeded")
    assert "request_id" not in ended, "nobody asked for the end"
    assert {"timestamp", "level", "logger"} < set(access)


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\tb", "ä", '"}'])
async def test_an_unfit_name_is_replaced(server: Any, given: str) -> None:
    async with server.client() as client:
        answers = [await client.get("/v1/slots", headers=[(b"X-Request-ID", given.encode())]) for _ in range(2)]
    names = [answer.headers["X-Request-ID"] for answer in answers]
    assert given not in names
    assert len(set(names)) == 2
    assert all(len(name) == 16 for name in names)


async def test_refusals_and_failures_have_a_name_too(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server.client(None) as client:
        for path in ("/v1/jobs", "/nowhere", "/healthz", "/"):
            assert (await client.get(path, headers={"X-Request-ID": "n1"})).headers["X-Request-ID"] == "n1"
    configure("error", "json")  # structlog's own way draws a picture of the traceback, which takes seconds
    monkeypatch.setattr(server.store.jobs, "under_way", lambda *_, **__: 1 // 0)
    async with server.client() as client:
        answer = await client.get("/v1/overview", headers={"X-Request-ID": "n2"})
    assert (answer.status_code, answer.headers["X-Request-ID"], answer.json()["request_id"]) == (500, "n2", "n2")


async def test_the_access_log_is_short(server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configure("info", "json")
    async with server.client() as client:
        for path in ("/healthz", "/readyz", "/metrics"):
            await client.get(path)
        assert lines(capsys) == [], "what is asked for again and again"
        await client.get("/v1/jobs?limit=3")
    (line,) = lines(capsys)
    assert (line["logger"], line["event"]) == ("eddy.access", "GET /v1/jobs")
    configure("warning", "json")
    async with server.client() as client:
        await client.get("/v1/jobs")
    assert lines(capsys) == []


@pytest.mark.parametrize("form", ["text", "json"])
async def test_no_line_has_a_key_in_it(server: Any, capsys: pytest.CaptureFixture[str], form: str) -> None:
    configure("debug", form)
    logger = logging.getLogger("eddy.test")
    async with server.client("operator") as client:
        added = (await client.post("/v1/admin/tenants", json={"id": "eve"})).json()["key"]
        made = (await client.post("/v1/keys", json={"tenant": "eve"})).json()["key"]
        await client.post("/v1/session", json={"key": added})
        await client.get(f"/v1/jobs?key={made}")
    logger.warning("somebody sent %s", added, extra={"header": f"Authorization: Bearer {made}"})
    try:
        raise ValueError(f"Bearer {made}")
    except ValueError:
        logger.exception("failed")
    structlog.get_logger("eddy.test").warning("again", header=f"bearer {added}")
    said = capsys.readouterr().err
    assert "somebody sent eddy_***" in said
    assert "ValueError" in said
    assert not [key for key in (added, made, *SECRETS) if key in said]


def test_a_line_is_one_line_and_says_when(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    logging.getLogger("x").warning("two\nlines %d", 3, extra={"job": 7})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("Z warning two\\nlines 3 job=7")
    logs.configure("info", "json")  # again: not a second handler
    logging.getLogger("x").warning("once", extra={"odd": Path("x")})
    assert [(line["event"], line["odd"]) for line in lines(capsys)] == [("once", "x")]


@pytest.mark.parametrize("error", [StorageDamaged("{} is damaged", path="{}"), StorageFull("the disk of {} is full")])
async def test_tenants_are_told_a_code_and_a_name_and_operators_the_path(
    server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Any
) -> None:
    where = str(tmp_path / "eddy.sqlite3")
    error.message = error.message.format(where)

    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(server.store.jobs, "under_way", broken)
    with structlog.testing.capture_logs() as said:
        async with server.client() as client:
            answer = await client.get("/v1/overview")
    body = answer.json()
    assert body["code"] == error.code
    assert str(tmp_path) not in answer.text
    assert body["request_id"] == answer.headers["X-Request-ID"]
    assert body["request_id"] in body["detail"]
    assert [line["cause"] for line in said] == [error.message]
    async with server.client("operator") as client:
        assert where in (await client.get("/v1/overview")).json()["detail"]


async def test_nobody_is_told_where_files_lie_that_are_damaged_or_cannot_be_written(
    server: Any, tmp_path: Path
) -> None:
    job = await server.submit()
    server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    (path,) = server.store.outputs.folder.iterdir()
    path.write_bytes(b"short")
    server.store.failed(StorageFull(f"the disk of {path} is full"))
    look: Callable[[str], bool] = lambda text: str(path.parent) in text or str(tmp_path) in text  # noqa: E731
    for who in ("ada", None):
        async with server.client(who) as client:
            for address in (f"/v1/jobs/{job['id']}/outputs/result", "/readyz", "/v1/overview", "/metrics"):
                answer = await client.get(address)
                assert not look(answer.text), address
    async with server.client("operator") as client:
        answer = await client.get(f"/v1/jobs/{job['id']}/outputs/result")
    assert (answer.json()["code"], answer.json()["path"]) == ("file-damaged", str(path))
