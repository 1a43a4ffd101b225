# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a thousand followers cost: server-sent events of a whole feed, about an event a second, on the model board.

`eddy serve` with an operator's feed on every connection. First nobody follows, and a job comes each second to a board
that is drained; then a thousand do. The server's processor time over that of the same without followers is theirs; the
lag of an event is from the moment its job's submission was sent, so it includes keeping the job, to each follower that
has it. In turns with it, an event loop that does nothing else writes as many bytes to as many connections: its lag is
what the machine gives anyone at that time, and the client's part of both is the same.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service_bench.clients import Connection, ask, request
from service_bench.memory import spent_s
from service_bench.servers import RunningServer, bare, eddy

from benches.service import prepare, submission

FOLLOWERS = 1000
WORD = b"id: " + b"." * 150 + b"\n"
"""As long as an event."""
MOST = {"processor of followers, cores": 0.05, "lag p99 ms": 100.0}
"""Goals, of a quiet machine."""


class Follower(asyncio.Protocol):
    """Reads one feed, at as little cost as there can be: a thousand of them share this process.

    Args:
        wire: What it sends first.
        mark: Begins an event.
        came_s: Takes when each one came.
    """

    def __init__(self, wire: bytes, mark: bytes, came_s: list[float]) -> None:
        self._wire, self._mark, self._came_s = wire, mark, came_s
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the feed."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._wire)

    def data_received(self, data: bytes) -> None:
        """Note the events; the few bytes of one come at once."""
        now_s = time.perf_counter()
        self._came_s += [now_s] * data.count(self._mark)


async def follow(port: int, wire: bytes, mark: bytes, followers: int) -> tuple[list[Follower], list[float]]:
    """Connect so many; answers them, and what notes when events came."""
    loop, came_s = asyncio.get_running_loop(), list[float]()
    made = [
        (await loop.create_connection(lambda: Follower(wire, mark, came_s), "127.0.0.1", port))[1]
        for _ in range(followers)
    ]
    return made, came_s


async def happen(port: int, key: str, seconds: float, between: Callable[[], None] = lambda: None) -> list[float]:
    """About an event a second: a job comes, on a board whose slots are all drained.

    Args:
        key: The operator's.
        between: Called between two of them.

    Returns:
        When each was sent.
    """
    connection, make, sent_s = await Connection.open(port), submission(key), list[float]()
    try:
        for _ in range(round(seconds)):
            sent_s.append(time.perf_counter())
            await connection.ask(make())
            await asyncio.sleep(0.5)
            between()
            await asyncio.sleep(0.5)
    finally:
        connection.close()
    return sent_s


def drain(server: RunningServer, drained: bool = True) -> None:
    """Nothing is placed any more; or again."""
    body = json.dumps({"drained": drained, "because": "measured" if drained else ""}).encode()
    slots = json.loads(ask(server.port, request("GET", "/v1/slots", server.key))[1])["slots"]
    for slot in slots:
        path, headers = f"/v1/admin/slots/{slot['slot']}", {"Content-Type": "application/json"}
        status, said = ask(server.port, request("PUT", path, server.key, body, headers))
        if status != 200:
            raise SystemExit(f"slot {slot['slot']} was not drained: {status} {said!r}")


async def measure(server: RunningServer, beside: RunningServer, followers: int, seconds: float) -> dict[str, float]:
    """Processor time alone and with followers, and how late they are told; in turns with a bare event loop."""
    began_s = spent_s(server.process)
    await happen(server.port, server.key, seconds)
    alone_s = spent_s(server.process) - began_s
    wire = request("GET", "/v1/events", server.key, more={"Accept": "text/event-stream"})
    feeds, came_s = await follow(server.port, wire, b"id: ", followers)
    others, told_s = await follow(beside.port, b"", WORD, followers)
    await asyncio.sleep(6)
    came_s.clear()
    asked_s = list[float]()

    def ask_bare() -> None:
        asked_s.append(time.perf_counter())
        others[0].transport.write(WORD)

    began_s = spent_s(server.process)
    sent_s = await happen(server.port, server.key, seconds, ask_bare)
    with_s = spent_s(server.process) - began_s
    for each in (*feeds, *others):
        each.transport.close()
    lags, bare = late(sent_s, came_s), late(asked_s, told_s)
    count = len(lags)
    return {
        "followers": float(followers),
        "told": float(count),
        "told each a second": count / followers / seconds,
        "told / due": count / followers / len(sent_s),
        "processor of followers, cores": (with_s - alone_s) / seconds,
        "processor us an event told": (with_s - alone_s) / max(1, count) * 1e6,
        "lag p50 ms": _quantile(lags, 0.5) * 1e3,
        "lag p99 ms": _quantile(lags, 0.99) * 1e3,
        "a bare event loop's lag p50 ms": _quantile(bare, 0.5) * 1e3,
        "a bare event loop's lag p99 ms": _quantile(bare, 0.99) * 1e3,
        "lag p99 / a bare event loop's": _quantile(lags, 0.99) / _quantile(bare, 0.99),
    }


def late(caused_s: list[float], came_s: list[float]) -> list[float]:
    """Seconds from what caused each to when it came; causes are in order, and far apart."""
    return [at_s - caused_s[bisect.bisect(caused_s, at_s) - 1] for at_s in came_s]


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[int(part * len(values))] if values else float("nan")


OPTIONS: dict[str, dict[str, Any]] = {
    "--followers": {"type": int, "default": FOLLOWERS},
    "--seconds": {"type": float, "default": 12.0, "help": "of following"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """What followers cost, and how late they are told."""
    most = str(options.followers + 50)
    more = ("--max-connections", most, "--max-connections-per-client", most)
    with (
        tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder,
        eddy(Path(folder), more=more) as server,
        bare() as beside,
    ):
        prepare(server)
        drain(server)
        return asyncio.run(measure(server, beside, options.followers, options.seconds))
