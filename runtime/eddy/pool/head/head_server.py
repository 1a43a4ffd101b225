# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool serve`: a head on a socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from eddy.api.http.connections import ConnectionLimits, guard_connections, proxy_options
from eddy.api.service import descriptors
from eddy.api.service.listen_socket import listen
from eddy.core.errors import InvalidRequest
from eddy.host.files import write_private
from eddy.packages.catalogue import load_catalogue
from eddy.policy.place import METHODS
from eddy.pool.connection.connection import steadily
from eddy.pool.connection.credentials import PoolReplaced
from eddy.pool.connection.tasks import ended
from eddy.pool.head.app import create_head
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.jetstream.naming import identity, load_pool_numbers
from eddy.pool.jetstream.tenant_keys import new_secret
from eddy.pool.jetstream.tenants import PoolTenants
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.placement import LINK_BPS
from eddy.pool.placement.replanning import ReplanSettings
from eddy.pool.placement.stall_timeout import MIN_S
from eddy.store.db.bounds import JobBounds

STOPS_S = 0.1
"""Wall seconds after which a head that starts has heard that it is to end."""
LOOK_S, LOOKS = 1.0, 3
"""Wall seconds between two looks whether the servers have kept what they had, and looks before they have not."""


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """What `eddy pool serve` is told.

    Attributes:
        pool: URL, or the file it is in.
        bitstreams: Directory of applications, as boards have it.
        key_file: Where the operator's key is written by the first head of a pool.
        policy: A name of `policy.place.METHODS`.
        egress_bps: What the pool's store may send in all, bits per second.
        host: Address to listen on.
        port: TCP port; 0 for a free one.
        replicas: Servers that keep each bucket, where this head makes it; 0 for as many as there are, up to three.
        replan: When it plans again what boards have.
        patience_s: Seconds that a board is given to commit something of what it runs, beside what that should take.
        creds: A credentials file of NATS, where neither URL nor file says who connects.
        connections: Bounds on connections, as a board's server has them.
        retention: What is kept of jobs that have ended.
        folder: Where what this head reads of jobs is kept, and blobs on their way to S3; None for memory, and where the
            system has files that do not stay.
        bytes: Where tenants' bytes lie: a folder, or `s3://bucket/prefix`; beside the file of the pool if empty.
        url: Where boards reach this head; by the host and port it listens on if empty.
    """

    pool: str
    bitstreams: Path
    key_file: Path
    name: str
    policy: str = "prompt"
    egress_bps: float = LINK_BPS
    host: str = "127.0.0.1"
    port: int = 8000
    replicas: int = 0
    replan: ReplanSettings = field(default_factory=ReplanSettings)
    patience_s: float = MIN_S
    creds: str = ""
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    retention: JobBounds = field(default_factory=JobBounds)
    folder: Path | None = None
    bytes: str = ""
    url: str = ""


def configuration(app: Any, limits: ConnectionLimits) -> uvicorn.Config:
    """How uvicorn serves a head: its connections are bounded as those of a board's server are."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        backlog=descriptors.AT_ONCE,
        http=guard_connections(limits),  # type: ignore[arg-type]
        **proxy_options(limits),
    )


class Head:
    """A head that is put together but not yet running.

    Args:
        settings: What to serve, and where.

    Raises:
        InvalidRequest: There is no such policy, or the host is no address of this machine.
        Conflict: The address is taken.
    """

    def __init__(self, settings: HeadSettings) -> None:
        if settings.policy not in METHODS:
            message = f"There is no policy {settings.policy!r} that places."
            raise InvalidRequest(message, field="policy", allowed=sorted(METHODS))
        self.settings = settings
        self._limits = descriptors.fit_connection_limits(settings.connections)
        self._socket = listen(settings.host, settings.port)
        self.url = f"http://{settings.host}:{self._socket.getsockname()[1]}"
        self._uvicorn: uvicorn.Server | None = None
        self._told = False

    def _reached(self) -> str:
        """The address it listens on; by the machine's name where that is every one."""
        every = self.settings.host in ("0.0.0.0", "::", "")
        host = socket.gethostname() if every else self.settings.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._socket.getsockname()[1]}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; `ready` is called once jobs are taken.

        Raises:
            PoolUnreachable: No server of the pool answers.
            PoolReplaced: They came back without what they kept.
        """
        with contextlib.closing(self._socket):
            asyncio.run(self._until_told(ready))

    async def _until_told(self, ready: Callable[[], None]) -> None:
        """Serve; one that is told to end before it does need not wait for the pool."""
        serving = asyncio.ensure_future(self._serve(ready))
        while self._uvicorn is None and not serving.done():
            await asyncio.wait([serving], timeout=STOPS_S)
            if self._told and self._uvicorn is None:
                await ended([serving])
                return
        await serving

    def stop(self) -> None:
        """End; safe in a signal handler and from another thread."""
        self._told = True
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

    async def _serve(self, ready: Callable[[], None]) -> None:
        it = self.settings
        async with open_pool(
            it.pool, f"head {it.name}", replicas=it.replicas, creds=it.creds, bytes_at=it.bytes, folder=it.folder
        ) as link:
            await self._see_to_operator(link)
            # A server may end between any two calls; a head that gave up for that would have to start again.
            numbers = await steadily(lambda: load_pool_numbers(link))
            catalogue = load_catalogue(it.bitstreams)
            lead = Leader(link, it.name, it.policy, it.egress_bps, it.replan, it.patience_s, it.folder)

            async def begun() -> None:
                ready()

            app = create_head(
                link, lead, catalogue, numbers, beside=begun, connections=self._limits, retention=it.retention,
                url=it.url.rstrip("/") or self._reached(),
            )  # fmt: skip
            self._uvicorn = _Quiet(configuration(app, self._limits), app.state.parts.ending)
            self._uvicorn.should_exit = self._told
            watching = asyncio.ensure_future(self._until_replaced(link))
            await self._uvicorn.serve(sockets=[self._socket])
            if watching.done():
                raise PoolReplaced("The pool's servers came back without what they kept. Start the head again.")
            watching.cancel()

    async def _until_replaced(self, link: Link) -> None:
        """Stop once the servers keep another pool than this head began with: what it knows is of no use then."""
        looked, began_with = link.reconnects, await steadily(lambda: identity(link))
        while True:
            await asyncio.sleep(LOOK_S)
            if looked == link.reconnects:
                continue
            looked = link.reconnects
            # One server of a cluster may lag; the others have it.
            for _ in range(LOOKS):
                if await steadily(lambda: identity(link)) == began_with:
                    break
                await asyncio.sleep(LOOK_S)
            else:
                return self.stop()

    async def _see_to_operator(self, link: Link) -> None:
        """The first head of a pool makes the operator's key; the others find it made. Where none is good, as of a head
        that was killed while it made one, the next makes another."""
        tenants, secret = PoolTenants(link), new_secret()

        async def made() -> None:
            if not await tenants.operated():
                # First of all: what nobody could read any more would be of no use.
                write_private(self.settings.key_file, f"{secret}\n".encode())
                await tenants.operate(secret)

        await steadily(made)


class _Quiet(uvicorn.Server):
    """uvicorn's loop, with the signals left to `eddy.host.signals`.

    Args:
        ending: Set before connections are waited for.
    """

    def __init__(self, config: uvicorn.Config, ending: asyncio.Event) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams and waits, then connections."""
        self._ending.set()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        """Leave the signals alone."""
        yield
