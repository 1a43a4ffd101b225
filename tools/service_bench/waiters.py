# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Many who wait for one job, in a process of their own: what they cost is then the server's, and not their client's.

    python -m service_bench.waiters PORT KEY PATH COUNT

Each asks again as soon as it is answered. An object says that all have asked; a refusal ends the process.
"""

from __future__ import annotations

import asyncio
import json
import sys

from service_bench.clients import Connection, request


async def wait(port: int, wire: bytes, asked: asyncio.Semaphore) -> None:
    """One of them, without end."""
    connection = await Connection.open(port)
    while True:
        asked.release()
        status, body = await connection.ask(wire)
        if status != 200:
            raise SystemExit(f"a waiter was answered {status}: {body[:300].decode(errors='replace')}")


async def main(port: int, key: str, path: str, count: int) -> None:
    """All of them."""
    asked, wire = asyncio.Semaphore(0), request("GET", path, key)
    tasks = [asyncio.create_task(wait(port, wire, asked)) for _ in range(count)]
    for _ in range(count):
        await asked.acquire()
    print(json.dumps({"waiters": str(count)}), flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
