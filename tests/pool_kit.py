# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A whole pool for tests: a real NATS server, heads in threads, boards in processes that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import httpx
from eddy.cli.support.installed import bitstreams_folder
from eddy.client import Client
from eddy.pool.connection.credentials import PoolUnreachable
from eddy.pool.head.head_server import Head, HeadSettings
from eddy.pool.routes.context import HeadParts
from eddy.pool.servers.admission import PoolAdmission
from eddy.pool.servers.nats_server import NatsServer
from forks_kit import Fork, forks

HELD = Path(__file__).parent / "held_board.py"
WAIT_S = 180.0
"""Most wall seconds anything may take that a test waits for: a machine with twenty things to do at once is slow."""


class RetryingClient(httpx.HTTPTransport):
    """Asks again where a head says that the pool's servers do not answer, as clients do."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        deadline = time.monotonic() + WAIT_S
        while True:
            response = super().handle_request(request)
            if response.status_code != 503 or time.monotonic() > deadline:
                return response
            if b"pool-unreachable" not in response.read():
                return response
            response.close()
            time.sleep(0.2)


def asking(url: str, key: str = "") -> httpx.Client:
    """Requests to a head without a client's meaning: what is asked is asked, and what is answered is seen."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=url, headers=headers, timeout=WAIT_S, transport=RetryingClient())


class Servers(Protocol):
    """What a pool needs of its NATS servers."""

    admission: PoolAdmission

    def running(self) -> contextlib.AbstractContextManager[Any]: ...

    def kill(self) -> None: ...

    def start(self) -> None: ...


class Pool:
    """What a test has of a pool.

    Args:
        folder: For everything that is kept.
        nats: Servers that are not to be one in this folder.
    """

    def __init__(self, folder: Path, nats: Servers | None = None) -> None:
        self.folder = folder
        self.nats = nats or NatsServer(folder / "nats")
        self.boards: dict[str, Fork] = {}
        self.heads: list[tuple[Head, threading.Thread]] = []
        self.failures: list[BaseException] = []
        self.clients: list[Client] = []
        self.keys: dict[str, str] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator[Pool]:
        with self.nats.running():
            try:
                yield self
            finally:
                for client in self.clients:
                    client.close()
                for head, thread in self.heads:
                    head.stop()
                    thread.join(180)
                for process in self.boards.values():
                    process.kill()
                    process.wait()

    @property
    def head_file(self) -> Path:
        return self.nats.admission.head_file

    @property
    def key(self) -> str:
        return (self.folder / "operator.key").read_text().strip()

    def head(self, name: str, **more: Any) -> Head:
        """A head in a thread, serving when this returns; `more` are further fields of `HeadSettings`."""
        # Boards stand still here for as long as a test is slow.
        more = {"patience_s": 10 * WAIT_S, "folder": self.folder / "heads", **more}
        deadline = time.monotonic() + WAIT_S
        while True:
            key_file, failures = self.folder / "operator.key", len(self.failures)
            settings = HeadSettings(str(self.head_file), bitstreams_folder(""), key_file, name, port=0, **more)
            head, ready = Head(settings), threading.Event()
            thread = threading.Thread(target=self._run, args=(head, ready.set), name=f"head-{name}", daemon=True)
            thread.start()
            while not ready.wait(0.05) and thread.is_alive():
                assert time.monotonic() < deadline, "no head begins"
            if ready.is_set():
                self.heads.append((head, thread))
                return head
            # A server that stands still for as long as a head that starts is patient.
            assert isinstance(self.failures[failures], PoolUnreachable), self.failures
            assert time.monotonic() < deadline, self.failures
            self.failures.pop()

    def _run(self, head: Head, ready: Callable[[], None]) -> None:
        try:
            head.run(ready)
        except BaseException as failure:
            self.failures.append(failure)

    def board(
        self,
        name: str,
        pace: float = 0.0,
        width: int = 2,
        wrapped: Sequence[str] = (),
        profile: str = "kv260",
    ) -> None:
        """A model board that computes, in a process; its agent joins in the background.

        `wrapped` are a script that runs the module named after it, and its argument; left out, the board can be held.
        """
        data, admission = self.folder / name, self.nats.admission
        file = admission.board_file(name) if name in admission.boards else admission.admit(name)
        wrapped = wrapped or (str(HELD), str(self._hold(name)))
        command = [*wrapped, "eddy.cli.demo.demo_pool_board", "--pool", str(file), "--name", name]
        command += ["--data", str(data), "--pace", str(pace), "--width", str(width)]
        command += ["--profile", profile]
        self.boards[name] = forks().start(command, self.folder / f"{name}.log")

    def hold(self, name: str, items: int = 0) -> None:
        """Let no time pass on a board once so many more items have ended there; before or after it is started."""
        new = self.folder / f"{name}.new"
        new.write_text(str(items))
        new.rename(self._hold(name))

    def release(self, name: str) -> None:
        """Let time pass again."""
        self._hold(name).unlink()

    def _hold(self, name: str) -> Path:
        return self.folder / f"{name}.hold"

    def kill(self, name: str) -> None:
        """End a board at once."""
        self.boards[name].kill()
        self.boards.pop(name).wait()

    @staticmethod
    @contextlib.contextmanager
    def patient() -> Iterator[None]:
        """Heads wait ten minutes for a board: one that is there stays, however long its process stands still."""
        with patch("eddy.pool.mirror.mirror.LEASE_S", 600.0):
            yield

    def operator(self, head: Head) -> Client:
        return self.client(head, self.key)

    def client(self, head: Head, key: str) -> Client:
        """A client that is closed at the end."""
        return self.client_at(head.url, key)

    def client_at(self, url: str, key: str) -> Client:
        self.clients.append(Client(url, key))
        return self.clients[-1]

    def tenant(self, head: Head, name: str = "ada") -> Client:
        """A new tenant's client."""
        self.keys[name] = str(self.operator(head).add_tenant(name, max_priority=9)["key"])
        return self.client(head, self.keys[name])

    def present(self, client: Client) -> set[str]:
        """Boards whose lease holds."""
        return {board["name"] for board in client.transport.json("GET", "/v1/pool")["boards"] if board["present"]}

    def drained(self, client: Client) -> set[str]:
        """Boards that get nothing more."""
        return {board["name"] for board in client.transport.json("GET", "/v1/pool")["boards"] if board["drained"]}


def until(done: Callable[[], object], timeout_s: float = WAIT_S, saw: Callable[[], object] | None = None) -> None:
    """Wait until something holds, which then stays so: a slow machine looks late.

    Args:
        timeout_s: Wall seconds to wait at most.
        saw: What there is, for the message if it does not come to hold; what `done` returned last, if left out.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := done()):
        if time.monotonic() >= deadline:
            seen = found if saw is None else saw()
            raise AssertionError(f"it did not happen in {timeout_s:g} s; last seen: {seen!r}")
        time.sleep(0.05)


def parts_of(head: Head) -> HeadParts:
    """The parts of a head that runs in this process."""
    assert head._uvicorn is not None
    app: Any = head._uvicorn.config.app
    parts = app.state.parts
    assert isinstance(parts, HeadParts)
    return parts


def in_its_loop(head: Head, what: Callable[[HeadParts], Awaitable[Any]]) -> Any:
    """Do something in the loop of a head that runs in a thread."""
    parts = parts_of(head)

    async def do() -> Any:
        return await what(parts)

    return asyncio.run_coroutine_threadsafe(do(), parts.link.nats._reading_task.get_loop()).result(WAIT_S)  # type: ignore[union-attr]
