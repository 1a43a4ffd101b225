# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is larger than servers or boards take is refused when it comes, and holds nobody up if it is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.api.http.problems import BodyTooLarge
from eddy.core.errors import EddyError
from eddy.pool.head.board_requests import BoardRequestHandler
from eddy.pool.jetstream.jobs import MAX_RECORD_BYTES, PoolJobs
from eddy.pool.mirror.flood_guard import FloodGuard
from eddy.pool.routes.open_transfers import OpenTransfers
from nats.errors import MaxPayloadError


def request(inputs: int) -> dict[str, object]:
    return {"application": "a", "batch": inputs, "inputs": {"x": [64 * "0"] * inputs}}


@pytest.mark.parametrize(
    "submit",
    [
        lambda table: table.submit("ada", request(MAX_RECORD_BYTES // 60), "key"),
        lambda table: table.submit_array("ada", [request(1), request(MAX_RECORD_BYTES // 60)], "key"),
    ],
)
def test_a_submission_that_is_too_large_is_refused_before_anything_is_kept(
    submit: Callable[[PoolJobs], Awaitable[Any]],
) -> None:
    nothing: Any = SimpleNamespace()  # what asked the servers would fail otherwise
    with pytest.raises(BodyTooLarge) as refused:
        asyncio.run(submit(PoolJobs(nothing)))  # type: ignore[arg-type]
    assert (refused.value.status_code, refused.value.extra["limit"]) == (413, MAX_RECORD_BYTES)


def test_an_answer_that_is_too_large_is_answered_with_an_error() -> None:
    """A board would ask again for ever, as it does where no head answers."""
    answers: list[bytes] = []

    class Message:
        reply = "_INBOX.b1.x"

        async def respond(self, data: bytes) -> None:
            if len(data) > 1000:
                raise MaxPayloadError
            answers.append(data)

    async def nothing(_: str) -> Any:
        return []

    link: Any = SimpleNamespace()
    gate = BoardRequestHandler(link, nothing, nothing, FloodGuard(), OpenTransfers(""))
    asyncio.run(gate._respond(Message(), {"ok": "x" * 2000}))  # type: ignore[arg-type]
    asyncio.run(gate._respond(Message(), {"ok": "x"}))  # type: ignore[arg-type]
    refused, answered = (json.loads(each) for each in answers)
    assert refused["error"]["code"] == EddyError.code
    assert answered == {"ok": "x"}
