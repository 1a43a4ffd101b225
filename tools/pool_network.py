# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Three NATS servers, and a network between them, boards and heads that can be cut and slowed; all in this process.

Whoever connects has an address of its own for every server, so that one way can be broken and the others left.
What is cut is not closed: bytes wait, as on a network that is cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from eddy.pool.connection.credentials import PoolAccess
from eddy.pool.servers.admission import PoolAdmission
from eddy.pool.servers.nats_server import NatsServer, free_port

SERVERS = ("n1", "n2", "n3")
PIECE_BYTES = 16384
DISK_MB = 96
"""Of each server, where this user may mount a file system."""


class Way:
    """From one address to another.

    Attributes:
        cut: Whether nothing passes.
        bps: Bits per second that pass, in each direction of a connection; 0 for no bound.
        delay_s: What passes is held up for so long.
    """

    def __init__(self, to: int) -> None:
        self.to, self.port = to, free_port("127.0.0.1")
        self.cut, self.bps, self.delay_s = False, 0.0, 0.0

    async def serve(self) -> None:
        """Pass on until cancelled."""
        server = await asyncio.start_server(self._joined, "127.0.0.1", self.port)
        async with server:
            await server.serve_forever()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):  # it is cancelled at the end of the network alone
            while self.cut:
                await asyncio.sleep(0.1)
            there, back = await asyncio.open_connection("127.0.0.1", self.to)
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer), return_exceptions=True)
        writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(PIECE_BYTES):
                if self.delay_s or self.bps:
                    await asyncio.sleep(self.delay_s + (8 * len(data) / self.bps if self.bps else 0.0))
                while self.cut:
                    await asyncio.sleep(0.1)
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()


class Cluster:
    """Three servers and every way to them.

    Args:
        folder: For what they keep.
        who: Names of boards and heads, which all have ways of their own.
    """

    def __init__(self, folder: Path, who: tuple[str, ...]) -> None:
        self.admission, self.folder = PoolAdmission(folder / "admission"), folder
        inner = {name: free_port("127.0.0.1") for name in SERVERS}
        self._ways: dict[tuple[str, str], Way] = {}
        for one in SERVERS:
            for other in SERVERS:
                if one != other:
                    self._ways[one, other] = Way(inner[other])
        self.disks = [mounted_disk(folder / name, DISK_MB) for name in SERVERS]
        self.servers = {
            name: NatsServer(
                folder / name, admission=self.admission, cluster_port=inner[name],
                routes=tuple(f"127.0.0.1:{self._ways[name, other].port}" for other in SERVERS if other != name),
            )
            for name in SERVERS
        }  # fmt: skip
        for name in who:
            for server in SERVERS:
                self._ways[name, server] = Way(self.servers[server].port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)

    def file(self, name: str, board: bool) -> Path:
        """What a board or head is given, with its own addresses of the servers."""
        source = self.admission.admit(name) if board else self.admission.head_file
        urls = ",".join(f"tls://127.0.0.1:{self._ways[name, server].port}" for server in SERVERS)
        path = self.admission.board_file(name) if board else self.folder / f"{name}.json"
        replace(PoolAccess.named(str(source)), urls=urls).write(path)
        return path

    def ways(self, name: str) -> list[Way]:
        """Every way from or to somebody."""
        return [way for pair, way in self._ways.items() if name in pair]

    def between(self, server: str) -> list[Way]:
        """Every way from or to a server's fellows."""
        return [way for pair, way in self._ways.items() if server in pair and {*pair} <= {*SERVERS}]

    def kill(self) -> None:
        """End all servers."""
        for server in self.servers.values():
            server.kill()

    def start(self) -> None:
        """Start all servers."""
        for server in self.servers.values():
            server.start()

    @contextlib.contextmanager
    def running(self) -> Iterator[Cluster]:
        """Servers and network, while the block runs."""
        self._thread.start()
        for way in self._ways.values():
            asyncio.run_coroutine_threadsafe(way.serve(), self._loop)
        try:
            self.start()
            yield self
        finally:
            for server in self.servers.values():
                server.stop()
            self._loop.call_soon_threadsafe(self._ended)
            self._thread.join(10)
            self._loop.close()
            for name, mounted in zip(SERVERS, self.disks, strict=True):
                if mounted:
                    unmounted(self.folder / name)

    def _ended(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_later(0.2, self._loop.stop)

    def fill(self, name: str) -> Path:
        """Leave a server's disk no room; answers the file that takes it."""
        filler = self.folder / name / "filler"
        # Unbuffered, as what is left in a buffer would be written, and fail, where the file is closed.
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        return filler


def mounted_disk(folder: Path, size_mb: int) -> bool:
    """A small disk of its own as a new folder; False, and a folder of this disk, where that is not allowed."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def unmounted(folder: Path) -> None:
    """Let such a disk go."""
    subprocess.run(["umount", "-l", str(folder)], capture_output=True)


def restore_all(ways: Iterable[Way]) -> None:
    """Let everything pass again, at once."""
    for way in ways:
        way.cut, way.bps, way.delay_s = False, 0.0, 0.0
