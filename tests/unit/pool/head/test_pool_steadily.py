# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A call to the pool is tried again while its servers are away, and not where it would be the same for ever."""

from __future__ import annotations

import asyncio

import pytest
from eddy.core.errors import EddyError
from eddy.pool.connection import connection
from eddy.pool.connection.connection import steadily
from nats.errors import MaxPayloadError, NoRespondersError
from structlog.testing import capture_logs


def test_what_would_be_the_same_for_ever_is_an_error() -> None:
    tried = []

    async def call() -> None:
        tried.append(1)
        raise MaxPayloadError

    with pytest.raises(EddyError, match="cannot accept this"):
        asyncio.run(asyncio.wait_for(steadily(call), 180.0))
    assert tried == [1]


def test_servers_that_are_away_for_long_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    async def call() -> int:
        tried.append(1)
        if len(tried) < 4:
            raise NoRespondersError
        return 7

    with capture_logs() as quiet:
        assert asyncio.run(steadily(call)) == 7
    assert not [entry for entry in quiet if entry["log_level"] == "warning"]
    tried.clear()
    monkeypatch.setattr(connection, "SILENT_S", -1.0)
    with capture_logs() as logs:
        assert asyncio.run(steadily(call)) == 7
    assert [entry["log_level"] for entry in logs] == 3 * ["warning"]
