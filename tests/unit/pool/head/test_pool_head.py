# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head takes part in deciding from its start to its end, however it ends."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import MagicMock

import pytest
from eddy.api.http.request_checks import DRAIN_BYTES
from eddy.core.numbering import Numbering
from eddy.pool.head import app as head
from eddy.pool.head.app import MAX_BODY_BYTES, create_head
from eddy.pool.placement.leader import Leader
from eddy.store.db.numbers import Numbers


class RunningLead:
    """What decides; says when it runs, and that it was ended."""

    def __init__(self, said: list[str], name: str) -> None:
        self._said, self._name = said, name

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self._said.append(f"{self._name} ended")


class FakeLeader(RunningLead):
    """A lead with a lease."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(said, "lead")
        self.name = "a"
        self.mirror, self.pool_view, self.lease = MagicMock(), MagicMock(), self

    async def release(self) -> None:
        self._said.append("lease given up")


@pytest.mark.parametrize("fails", [False, True], ids=["its end", "its start fails"])
def test_what_decides_ends_and_the_lease_is_given_up(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(head, "BoardRequestHandler", lambda *_: RunningLead(said, "gate"))

    async def beside() -> None:
        await asyncio.sleep(0)
        said.append("started")
        if fails:
            raise OSError("nobody reads what it says")

    async def run(lead: Any) -> None:
        app = create_head(MagicMock(), lead, MagicMock(), MagicMock(), beside=beside)
        async with app.router.lifespan_context(app):
            said.append("serves")

    if fails:
        with pytest.raises(OSError, match="nobody reads"):
            asyncio.run(run(FakeLeader(said)))
    else:
        asyncio.run(run(FakeLeader(said)))
    assert sorted(said[:-1]) == sorted(["started", *(["serves"] if not fails else []), "gate ended", "lead ended"])
    assert (said[0], said[-1]) == ("started", "lease given up")


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/session", "/v1/arrays"])
def test_a_head_reads_so_much_of_a_body_and_no_more_before_it_knows_whose_it_is(path: str) -> None:
    """It read two hundred megabytes from anybody, into memory."""
    link, numbers = MagicMock(), Numbering(b"k" * 32, 12)
    app = create_head(link, Leader(link, "head"), MagicMock(), Numbers(numbers, numbers))
    offered, taken, answered = 64 << 20, 0, list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1 << 20
        return {"type": "http.request", "body": b" " * (1 << 20), "more_body": taken < offered}

    async def send(message: Any) -> None:
        answered.append(message)

    scope = {
        **{"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""},
        **{"headers": [(b"content-type", b"application/json")], "http_version": "1.1", "scheme": "http"},
        **{"server": ("head", 1), "client": ("client", 1), "asgi": {"version": "3.0"}},
    }
    asyncio.run(app(scope, receive, send))
    assert answered[0]["status"] == 413
    assert taken <= MAX_BODY_BYTES + DRAIN_BYTES + (1 << 20)


def test_a_head_refuses_what_a_board_refuses_before_any_route() -> None:
    """It took a request whose head can be read in two ways, and did not know OPTIONS."""
    link, numbers = MagicMock(), Numbering(b"k" * 32, 12)
    app = create_head(link, Leader(link, "head"), MagicMock(), Numbers(numbers, numbers))

    async def ask(method: str, path: str, *headers: tuple[bytes, bytes]) -> tuple[int, dict[str, str]]:
        answered: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message: Any) -> None:
            answered.append(message)

        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": [*headers]}
        await app({**scope, "raw_path": path.encode(), "root_path": "", "client": ("127.0.0.1", 1)}, receive, send)
        return answered[0]["status"], {name.decode(): value.decode() for name, value in answered[0]["headers"]}

    json, length = (b"content-type", b"application/json"), (b"content-length", b"2")
    assert asyncio.run(ask("POST", "/v1/jobs", json, length, (b"transfer-encoding", b"chunked")))[0] == 400
    assert asyncio.run(ask("POST", "/v1/jobs", (b"content-type", b"text/plain"), length))[0] == 415
    assert asyncio.run(ask("POST", "/v1/jobs", json, length, (b"content-encoding", b"gzip")))[0] == 415
    status, headers = asyncio.run(ask("OPTIONS", "/v1/jobs"))
    assert (status, headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
