# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The least that telling many costs here: an event loop that writes the same bytes to all who are connected.

A line from anybody is written to everyone, and nothing else happens: no HTTP, no log, no tenants. What followers of
`eddy serve` wait beyond that is Eddy's; the rest is the machine, and whoever else uses it.
"""

from __future__ import annotations

import asyncio
import json

_all: set[asyncio.Transport] = set()


class BareProtocol(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Tell it from now on."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        _all.add(transport)

    def data_received(self, data: bytes) -> None:
        """Tell all."""
        for each in _all:
            each.write(data)

    def connection_lost(self, reason: Exception | None) -> None:
        """Tell it no more."""
        _all.discard(self.transport)


async def main() -> None:
    """Serve on a port of this machine, which is printed, until killed."""
    server = await asyncio.get_running_loop().create_server(BareProtocol, "127.0.0.1", 0, backlog=1024)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
