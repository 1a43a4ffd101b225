# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Clients: what they ask, over ASGI, and what they were answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

TENANTS = ("ada", "grace")
KEYS = {name: f"eddy_{name}" for name in (*TENANTS, "operator")}
MAX_TURNS = 20_000
"""Turns of the event loop after which a request is stuck."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)


@dataclass(slots=True)
class Wanted:
    """A job some client wants.

    Attributes:
        tenant: Whose.
        key: Its idempotency key.
        body: What is sent, every time.
        salt: What its inputs were made with.
        batch: Items.
        job: Its number, once it was told.
        final: The state it was told to have ended in.
        cancelled: Whether somebody asked for its end.
        cancel_accepted: Whether that was answered 202.
        tries: Requests sent.
        refused: Whether its last request was told that its tenant has too many jobs: then it is none.
    """

    tenant: str
    key: str
    body: bytes
    salt: int
    batch: int
    job: int | None = None
    final: str = ""
    cancelled: bool = False
    cancel_accepted: bool = False
    tries: int = 0
    refused: bool = False


@dataclass(slots=True)
class Clients:
    """All of them.

    Attributes:
        app: What they ask.
        loop: Where their requests run.
        dead: Whether the server died meanwhile: then they get no answer.
    """

    app: Any
    loop: asyncio.AbstractEventLoop
    dead: Callable[[], bool]
    wanted: list[Wanted] = field(default_factory=list)
    answers: int = 0
    requests: int = 0

    def together(self, requests: Sequence[Coroutine[Any, Any, Answer]]) -> list[Answer | None]:
        """Send requests at the same time; None for each that got no answer."""
        tasks = [self.loop.create_task(request) for request in requests]
        for _ in range(MAX_TURNS):
            if self.dead() or all(task.done() for task in tasks):
                break
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
        else:
            raise AssertionError("a request is never answered")
        found: list[Answer | None] = []
        for task in tasks:
            done = task.done() and not self.dead()
            found.append(task.result() if done else None)
        self.answers += sum(each is not None for each in found)
        if self.dead():
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
        return found

    def ask(self, who: str, method: str, path: str, body: bytes = b"", key: str = "") -> Answer | None:
        """Send one request."""
        return self.together([self.request(who, method, path, body, key)])[0]

    async def request(self, who: str, method: str, path: str, body: bytes = b"", key: str = "") -> Answer:
        """One request, as a server gives it to the application."""
        self.requests += 1
        path, _, query = path.partition("?")
        headers = [(b"host", b"eddy"), (b"authorization", f"Bearer {KEYS[who]}".encode())]
        headers += (
            [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())] if body else []
        )
        headers += [(b"idempotency-key", key.encode())] if key else []
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
            "state": {},
        }
        sent: list[Any] = []
        asked = asyncio.Event()

        async def receive() -> Any:
            if asked.is_set():
                await asyncio.Event().wait()  # this client stays until it is answered
            asked.set()
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Answer(sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]))
