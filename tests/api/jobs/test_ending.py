# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The end of a server, as those who are still connected see it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from eddy.api.http.request_log import Metrics, RequestLogMiddleware
from prometheus_client import CollectorRegistry

pytestmark = pytest.mark.anyio
SCOPE = {"type": "http", "method": "GET", "path": "/v1/jobs", "query_string": b"", "headers": []}


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("ends", [False, True])
async def test_a_request_that_the_end_cancels_is_answered(started: bool, ends: bool) -> None:
    ending, sent = asyncio.Event(), []

    async def slow(_scope: Any, _receive: Any, send: Any) -> None:
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    app = RequestLogMiddleware(slow, Metrics(CollectorRegistry()), ending)
    task = asyncio.create_task(app({**SCOPE}, None, send))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    if ends:
        ending.set()
    task.cancel()
    if not ends:
        with pytest.raises(asyncio.CancelledError):
            await task
        return
    await task
    assert sent[0]["status"] == (200 if started else 503)
    if not started:
        assert b'"server-stopping"' in sent[1]["body"]
