# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HTTP clients that cost little beside the servers they measure: kept connections, requests written beforehand."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Load:
    """What some clients met.

    Attributes:
        took_s: Wall time of each answer.
        wall_s: Wall time of it all.
    """

    took_s: list[float] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.took_s) / self.wall_s

    def quantile_s(self, part: float) -> float:
        """Wall time within which this part of the answers came."""
        return sorted(self.took_s)[min(int(part * len(self.took_s)), len(self.took_s) - 1)]


def request(method: str, path: str, key: str = "", body: bytes = b"", more: Mapping[str, str] | None = None) -> bytes:
    """A request as it stands on the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
    lines += [f"Authorization: Bearer {key}"] if key else []
    lines += [f"Content-Length: {len(body)}"] if body else []
    lines += [f"{name}: {value}" for name, value in (more or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """One kept connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> Connection:
        """Connect to a server on this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, wire: bytes) -> tuple[int, bytes]:
        """Send a request; answers status and body."""
        self._writer.write(wire)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, found, rest = head.partition(b"content-length:")
        body = await self._reader.readexactly(int(rest.split(b"\r\n", 1)[0])) if found else b""
        return int(head[9:12]), body

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def _one(
    port: int, make: Callable[[], bytes], expected: int, until_s: float, load: Load, left: Iterator[int]
) -> None:
    connection = await Connection.open(port)
    try:
        while (began_s := time.perf_counter()) < until_s and next(left, None) is not None:
            status, body = await connection.ask(make())
            if status != expected:
                raise SystemExit(f"the server answered {status}: {body[:300].decode(errors='replace')}")
            load.took_s.append(time.perf_counter() - began_s)
    finally:
        connection.close()


async def _all(
    port: int, make: Callable[[], bytes], clients: int, seconds: float, expected: int, most: int | None = None
) -> Load:
    load, began_s, left = Load(), time.perf_counter(), itertools.count() if most is None else iter(range(most))
    await asyncio.gather(*(_one(port, make, expected, began_s + seconds, load, left) for _ in range(clients)))
    load.wall_s = time.perf_counter() - began_s
    return load


def drive(port: int, make: Callable[[], bytes], clients: int, seconds: float, expected: int = 200) -> Load:
    """Let clients ask one request after the other for some seconds.

    Args:
        port: Of a server on this machine.
        clients: Kept connections, each with one request at a time.
        seconds: Wall time.
        expected: The status every answer has.

    Raises:
        SystemExit: An answer has another status.
    """
    return asyncio.run(_all(port, make, clients, seconds, expected))


def some(port: int, make: Callable[[], bytes], clients: int, most: int, expected: int = 200) -> Load:
    """The same for so many requests, however long they take."""
    return asyncio.run(_all(port, make, clients, float("inf"), expected, most))


def ask(port: int, wire: bytes) -> tuple[int, bytes]:
    """One request on a connection of its own; answers status and body."""

    async def asking() -> tuple[int, bytes]:
        connection = await Connection.open(port)
        try:
            return await connection.ask(wire)
        finally:
            connection.close()

    return asyncio.run(asking())
