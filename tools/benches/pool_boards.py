# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head pays for its boards where nothing is to do: each renews its lease every second, and each head reads it.

    make bench ARGS="pool_boards --boards 100 1000 4000"

A NATS server, a head in a process of its own, and leases as boards write them, from here. Processor time is of the head
and of the server; a head has one processor for its loop, so what it pays a second for so many boards is what it has not
for jobs. `tools/pool_scale.py day` takes the figure.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from eddy.pool.connection.streams import RENEW_S
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import PoolBoard
from eddy.pool.servers.nats_server import NatsServer

from benches.pool import cpu_s, head, memory_mb

PATIENCE_S, KINDS, WORKS = 600.0, 5, tuple(f"work-{number}" for number in range(12))
SPREAD = 20
"""Parts of a second, each with its part of the boards."""


def boards_of(count: int) -> list[PoolBoard]:
    """Boards of five kinds."""
    return [
        PoolBoard(f"b{number:05}", f"kind-{number % KINDS}", 4, 4, WORKS, False, f"s{number}", link_bps=1e9)
        for number in range(count)
    ]


async def renew(link: Link, boards: list[PoolBoard], seconds: float) -> int:
    """Renew each lease every second; how many renewals that were."""
    renewals, begin_s = 0, time.monotonic()
    for turn in range(int(seconds / RENEW_S * SPREAD)):
        for board in boards[turn % SPREAD :: SPREAD]:
            await link.nats.publish(f"$KV.eddy_leases.{board.name}", to_json(board))
            renewals += 1
        await link.nats.flush(PATIENCE_S)  # type: ignore[arg-type]
        await asyncio.sleep(max(0.0, begin_s + (turn + 1) * RENEW_S / SPREAD - time.monotonic()))
    return renewals


async def measure(count: int, seconds: float) -> dict[str, float]:
    """So many boards, for so long."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        nats = NatsServer(Path(name) / "nats")
        with nats.running(), head(Path(name), nats) as server:
            async with open_pool(str(nats.admission.head_file), "bench", PATIENCE_S) as link:
                boards = boards_of(count)
                await renew(link, boards, 3.0)
                processes = {"head": server.process, "nats": nats.process.pid}
                before = {who: cpu_s(process) for who, process in processes.items()}
                renewals = await renew(link, boards, seconds)
                await asyncio.sleep(2.0)  # what is on its way
                used = {who: cpu_s(process) - before[who] for who, process in processes.items()}
            return {
                "renewals": renewals,
                "head_us_a_renewal": round(1e6 * used["head"] / renewals, 1),
                "nats_us_a_renewal": round(1e6 * used["nats"] / renewals, 1),
                "head_busy_at_one_a_second": round(used["head"] / renewals * count / RENEW_S, 4),
                "head_mb": memory_mb(server),
            }


OPTIONS: dict[str, dict[str, Any]] = {
    "--boards": {"type": int, "nargs": "+", "default": [100, 1000, 4000]},
    "--seconds": {"type": float, "default": 20.0, "help": "for which each number of boards is heard"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """By number of boards."""
    return {str(count): asyncio.run(measure(count, options.seconds)) for count in options.boards}
