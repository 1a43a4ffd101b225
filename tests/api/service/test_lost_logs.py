# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where the log cannot be written, every answer is as it is where it can."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from eddy.api.http.problems import KINDS
from eddy.api.service import log_lines
from eddy.core import errors
from eddy.core.errors import EddyError
from eddy.host import logs


def tree(kind: type[EddyError]) -> Iterator[type[EddyError]]:
    """An error and all kinds of it."""
    yield kind
    for each in kind.__subclasses__():
        yield from tree(each)


OURS = sorted({each for each in tree(EddyError) if each.__module__ == errors.__name__}, key=lambda each: each.code)
FAILURES = [*(each("What went wrong.") for each in OURS), ValueError("nobody foresaw it"), OSError(28, "No space")]


class FullFile(io.StringIO):
    """Standard error on a full disk."""

    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.fixture
def _as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


async def answers(server: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception) -> list[tuple[int, Any]]:
    """What each caller is answered where the store fails so, but for the names of the requests."""

    def failing(*_: Any, **__: Any) -> Any:
        raise failure

    found = []
    with monkeypatch.context() as patch:
        for part in ("under_way", "get", "owner"):
            patch.setattr(server.store.jobs, part, failing)
        patch.setattr(server.store.lists, "find_page", failing)
        server.hypervisor.broken = failure
        for who in ("ada", "operator", None):
            async with server.client(who) as client:
                headers = {"X-Request-ID": "n1"}
                for path in ("/v1/overview", "/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/outputs/result", "/nowhere"):
                    answer = await client.get(path, headers=headers)
                    found.append((answer.status_code, answer.json()))
                answer = await client.post("/v1/jobs", json={"application": "invert"}, headers=headers)
                found.append((answer.status_code, answer.json()))
        server.hypervisor.broken = None
    return found


@pytest.mark.anyio
@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: getattr(each, "code", type(each).__name__))
async def test_answers_do_not_depend_on_the_log(
    server: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    log_lines.configure("info", logs.JSON)
    expected = await answers(server, monkeypatch, failure)
    assert any(status == KINDS[body["code"]].status >= 400 for status, body in expected)
    before = logs.count_lost_lines()
    monkeypatch.setattr(sys, "stderr", FullFile())
    assert await answers(server, monkeypatch, failure) == expected
    assert logs.count_lost_lines() >= before + len(expected), "each answer has its line"
    monkeypatch.undo()
    async with server.client("operator") as client:
        text = (await client.get("/metrics")).text
    (line,) = [each for each in text.splitlines() if each.startswith("eddy_log_lines_lost_total")]
    assert float(line.split()[1]) == logs.count_lost_lines()
