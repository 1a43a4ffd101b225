# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head's start and reconnection cost with many ended jobs in its pool, or many that wait.

    make bench ARGS="pool_history --jobs 10000 100000"
    make bench ARGS="pool_history --jobs 10000 --waiting 100000"
    make bench ARGS="pool_history --jobs 10000 --against ../before"

A NATS server, so many records of ended jobs in it, and a head in a process of its own. `first` is a head that never saw
this pool, `again` the same one started once more with what it left on its disk, `back` its reconnection after the
server was killed and started. Each lasts until the head has listed jobs, and, for processor and memory, until it has
been quiet for a while. `again` and `back` are to cost as much with many ended jobs as with few. Jobs that wait are in
memory, since there is no board that could have them; with them a head is to start within `START_S` seconds of processor
time, which is what a start takes where nothing else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eddy.pool.jetstream.link import open_pool
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import JobPart, PoolJob
from eddy.pool.servers.nats_server import NatsServer
from service_bench.clients import ask, request
from service_bench.servers import RunningServer

from benches import AGAINST, in_turns
from benches.pool import cpu_s, head, memory_mb

PATIENCE_S, QUIET_S, LOOK_S = 3600.0, 3.0, 0.05
TENANTS, AT_ONCE, GREW, START_S = 8, 1000, 1.5, 10.0
SHA = "0123456789abcdef" * 4


def job_of(number: int, is_ended: bool) -> PoolJob:
    """One of a tenant's of an hour ago, which succeeded, or waits."""
    at_s = time.time() - 3600.0
    request = {"application": "image_compression", "inputs": {"image": [SHA]}, "labels": {"run": str(number % 100)}}
    job = PoolJob(number, f"t{number % TENANTS}", request, at_s)
    if not is_ended:
        return job
    job = job.place_on(f"b{number % 50:02}", 1e9, {"policy": "prompt", "makespan_s": 1.0, "bound_s": 1.0})
    return job.commit_part(JobPart(0, 1, {"compressed": SHA}, job.board, job.token, at_s, at_s + 1.0))


async def fill(pool: str, jobs: int, waiting: int) -> None:
    """Put records of ended jobs into a pool, and then of jobs that wait."""
    last = jobs + waiting
    async with open_pool(pool, "bench", PATIENCE_S) as link:
        for begin in range(1, last + 1, AT_ONCE):
            for number in range(begin, min(begin + AT_ONCE, last + 1)):
                await link.nats.publish(f"$KV.eddy_jobs.{number}", to_json(job_of(number, number <= jobs)))
            while int((await link.js.stream_info("KV_eddy_jobs")).state.messages) < min(begin + AT_ONCE - 1, last):
                await asyncio.sleep(0.02)


def listed(server: RunningServer) -> bool:
    """Whether the head knows all jobs."""
    try:
        return ask(server.port, request("GET", "/v1/jobs?limit=1", server.key))[0] == 200
    except OSError:
        return False


def until(done: Callable[[], bool]) -> float:
    """Wall seconds until it holds."""
    began_s = time.monotonic()
    while not done():
        if time.monotonic() - began_s > PATIENCE_S:
            raise SystemExit("the head does not list its jobs")
        time.sleep(LOOK_S)
    return time.monotonic() - began_s


def cost(server: RunningServer, name: str, began_s: float, before_s: float) -> dict[str, float]:
    """What it took until the head listed jobs, and was quiet."""
    until(lambda: listed(server))
    took_s = time.monotonic() - began_s
    until(lambda: _is_quiet(server.process))
    return {
        f"{name}_s": round(took_s, 2),
        f"{name}_cpu_s": round(cpu_s(server.process) - before_s, 2),
        f"{name}_mb": memory_mb(server),
    }


def _is_quiet(process: int) -> bool:
    before_s = cpu_s(process)
    time.sleep(QUIET_S)
    return cpu_s(process) - before_s < 0.25 * QUIET_S


def measure(root: Path, jobs: int, waiting: int) -> dict[str, float]:
    """A pool with so many, and heads of a checkout."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        nats = NatsServer(Path(name) / "nats")
        with nats.running():
            asyncio.run(fill(str(nats.admission.head_file), jobs, waiting))
            for which in ("first", "again"):
                began_s = time.monotonic()
                with head(Path(name), nats, root) as server:
                    found |= cost(server, which, began_s, 0.0)
                    if which == "again":
                        before_s = cpu_s(server.process)
                        nats.kill()
                        nats.start()
                        found |= cost(server, "back", time.monotonic(), before_s)
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "--jobs": {"type": int, "nargs": "+", "default": [10_000], "help": "ended jobs, from few to many"},
    "--waiting": {"type": int, "default": 0, "help": "jobs that wait, beside them"},
    "--turns": {"type": int, "default": 1},
    "--against": AGAINST,
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over turns, by number of jobs."""
    found: dict[str, Any] = {}
    for jobs in options.jobs:
        runs = in_turns(options.against, options.turns, lambda root, jobs=jobs: measure(root, jobs, options.waiting))  # type: ignore[misc]
        found |= {f"{who} {jobs}": row for who, row in runs.items()}
    return found


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """Starts and reconnections that cost more with more jobs."""
    own = [row for who, row in found.items() if who.startswith("head ")]
    slow = [f"a start took {row['again_cpu_s']:g} s" for row in own if row["again_cpu_s"] > START_S]
    return slow + [
        f"{figure}: {own[0][figure]:g} grew to {own[-1][figure]:g}"
        for figure in ("again_s", "again_cpu_s", "again_mb", "back_s", "back_cpu_s")
        if own[-1][figure] > GREW * own[0][figure]
    ]
