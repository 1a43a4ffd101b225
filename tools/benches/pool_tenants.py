# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What one tenant of a pool costs another, and what bytes cost a head.

    make bench ARGS="pool_tenants --turns 3 --against ../before"
    make bench ARGS="pool_tenants --s3"                            with bytes in an S3 server

A NATS server and a head are processes of this machine, without boards. `ada` submits jobs by one connection, one after
another, while `eve` has nothing open, 100 waits for a job, or stores blobs again and again though she keeps as many
bytes as she may. Then blobs of 16 kB are stored, each another, and 16 of 64 MB are fetched, and stored, at once, by
clients that read as fast as they can (a head takes half of those that are stored at once, and the others then): what
the head held of this machine's memory at most, more than before. With `--against DIR` the head is in turns that of
another checkout; what that cannot do is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from eddy.pool.servers.nats_server import NatsServer
from service_bench.servers import RunningServer

from benches import AGAINST, ROOT, in_turns
from benches.pool import head, memory_mb

sys.path.insert(0, str(ROOT / "tests"))

from s3_kit import BUCKET, S3Server

WAITS, LARGE, AT_ONCE, SMALL = 100, 64 << 20, 16, 16 << 10
JOB = {"application": "image_compression", "batch": 1}
PIECE = 1 << 20
MAX_MB = 50.0
"""What downloads may add to a head."""


class Refused(Exception):
    """A head of another checkout does not do it."""


def client(server: RunningServer, key: str) -> httpx.AsyncClient:
    """Somebody with many connections."""
    limits = httpx.Limits(max_connections=300, max_keepalive_connections=300)
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", headers=headers, limits=limits, timeout=300.0)


async def per_s(ask: Callable[[], Awaitable[httpx.Response]], expected: int, seconds: float) -> float:
    """Answers a second of one who asks again and again."""
    count, began_s = 0, time.perf_counter()
    while (took_s := time.perf_counter() - began_s) < seconds:
        answer = await ask()
        if answer.status_code != expected:
            raise SystemExit(f"the head answered {answer.status_code}: {answer.text[:300]}")
        count += 1
    return count / took_s


async def beside(others: Sequence[Awaitable[object]], what: Awaitable[float]) -> float:
    """Measure while others do something without end."""
    tasks = [asyncio.ensure_future(each) for each in others]
    await asyncio.sleep(1.0)
    try:
        return await what
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(1.0)


def blob(data: bytes) -> str:
    """Where a blob is."""
    return f"/v1/blobs/{hashlib.sha256(data).hexdigest()}"


async def tenants(server: RunningServer, seconds: float) -> dict[str, float]:
    """Submissions of one beside another."""
    async with client(server, server.key) as operator:
        keys = {}
        for name in ("ada", "eve"):
            made = await operator.post("/v1/admin/tenants", json={"id": name})
            keys[name] = made.json()["key"]
        async with client(server, keys["ada"]) as ada, client(server, keys["eve"]) as eve:
            job = (await eve.post("/v1/jobs", json=JOB)).json()["id"]

            async def submit() -> httpx.Response:
                return await ada.post("/v1/jobs", json=JOB)

            async def again(ask: Callable[[], Awaitable[httpx.Response]]) -> None:
                while True:
                    await ask()

            found = {"alone": await per_s(submit, 202, seconds)}
            waits = [eve.get(f"/v1/jobs/{job}", params={"wait": 60}) for _ in range(WAITS)]
            found[f"{WAITS} waits of another"] = await beside(waits, per_s(submit, 202, seconds))
            found["after them"] = await per_s(submit, 202, seconds)
            changed = await operator.patch("/v1/admin/tenants/eve", json={"quota": {"max_blob_bytes": 1 << 20}})
            if changed.status_code == 200:
                refused = 0
                while refused < 3:
                    refused += (await eve.put(blob(data := os.urandom(SMALL)), content=data)).status_code == 507
                found["another at her bound"] = await per_s(submit, 202, seconds)
                data = os.urandom(SMALL)
                storing = [again(lambda: eve.put(blob(data), content=data)) for _ in range(4)]
                found["who stores all the same"] = await beside(storing, per_s(submit, 202, seconds))
            return {f"submissions/s, {name}": rate for name, rate in found.items()}


async def bytes_of(server: RunningServer, seconds: float) -> dict[str, float]:
    """Blobs through a head, and the memory they take."""
    async with client(server, server.key) as operator:

        async def store() -> httpx.Response:
            data = os.urandom(SMALL)
            return await operator.put(blob(data), content=data)

        found = {"stored blobs of 16 kB/s": await per_s(store, 201, seconds)}
        piece = os.urandom(PIECE)
        await operator.patch("/v1/admin/tenants/operator", json={"quota": {"max_blob_bytes": 1 << 40}})

        def large(place: int) -> list[bytes]:
            return [place.to_bytes(4, "little") + piece[4:], *[piece] * (LARGE // PIECE - 1)]

        def place_of(place: int) -> str:
            digest = hashlib.sha256()
            for each in large(place):
                digest.update(each)
            return f"/v1/blobs/{digest.hexdigest()}"

        async def stored(place: int, path: str) -> None:
            async def body() -> AsyncIterator[bytes]:
                for each in large(place):
                    yield each

            while (answer := await operator.put(path, content=body())).status_code == 503:
                if answer.json()["code"] != "too-many-uploads":
                    break
                await asyncio.sleep(0.2)
            if answer.status_code not in (200, 201):
                raise Refused(f"the head answered {answer.status_code}: {answer.text[:300]}")

        async def fetched(path: str) -> None:
            size = 0
            async with operator.stream("GET", path) as answer:
                async for chunk in answer.aiter_raw():
                    size += len(chunk)
            if size != LARGE:
                raise SystemExit(f"{size} bytes came")

        async def more_mb(name: str, what: Awaitable[object]) -> None:
            before, began_s = begun(server), time.perf_counter()
            await what
            took_s = time.perf_counter() - began_s
            found[f"{name}, more memory in MB"] = most_mb(server) - before
            found[f"{name}, MB/s in all"] = AT_ONCE * LARGE / 1e6 / took_s

        paths = [place_of(place) for place in range(AT_ONCE + 1)]
        await stored(0, paths[0])
        await more_mb(f"{AT_ONCE} fetches of 64 MB", asyncio.gather(*(fetched(paths[0]) for _ in range(AT_ONCE))))
        storing = [stored(place, path) for place, path in enumerate(paths) if place]
        try:
            await more_mb(f"{AT_ONCE} blobs of 64 MB stored", asyncio.gather(*storing))
        except Refused as refused:
            print(refused, file=sys.stderr)
        return found


def begun(server: RunningServer) -> float:
    """What a process holds now, MB; what it held at most counts from here on."""
    Path(f"/proc/{server.process}/clear_refs").write_text("5")
    return memory_mb(server)


def most_mb(server: RunningServer) -> float:
    """What it held at most since."""
    status = Path(f"/proc/{server.process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def measure(root: Path, seconds: float, s3: bool) -> dict[str, float]:
    """All of it at a head of a checkout."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name, contextlib.ExitStack() as stack:
        nats, more = NatsServer(Path(name) / "nats"), list[str]()
        if s3:
            stack.enter_context(S3Server(Path(name) / "s3").running())
            more = ["--bytes", f"s3://{BUCKET}/pool"]
        with nats.running(), head(Path(name), nats, root, more) as server:
            found |= asyncio.run(tenants(server, seconds))
            found |= asyncio.run(bytes_of(server, seconds))
    return {each: round(value, 1) for each, value in found.items()}


OPTIONS: dict[str, dict[str, Any]] = {
    "--seconds": {"type": float, "default": 5.0, "help": "of each rate"},
    "--turns": {"type": int, "default": 1},
    "--s3": {"action": "store_true", "help": "have bytes lie in an S3 server"},
    "--against": AGAINST,
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over turns."""
    return in_turns(options.against, options.turns, lambda root: measure(root, options.seconds, options.s3))


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """Downloads that take memory of a head."""
    return [
        f"{who}: {name} is {value:g}"
        for who, row in found.items()
        for name, value in row.items()
        if "fetches" in name and "memory" in name and value > MAX_MB
    ]
