# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Small jobs through a live pool: how busy they keep its boards, what a head does a second, and what memory it takes.

    make bench ARGS="pool_work --jobs 10000 --item-s 1.0"
    make bench ARGS="pool_work --jobs 1500 --item-s 0.1 --turns 2 --against ../before"

A NATS server, a head and the boards are processes of this machine; boards are agents as they are, behind which nothing
is computed (`service_bench.timed_boards`), so that this machine's processors are left to the head. Jobs of one item are
submitted over HTTP by `--clients` while boards work. `busy` is the time that items take over the time that boards had,
from the first submission to the last end. With `--against DIR` head and boards are in turns those of another checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eddy.pool.servers.nats_server import NatsServer
from service_bench.clients import ask, request, some
from service_bench.servers import RunningServer, python_path

from benches import AGAINST, in_turns
from benches.pool import cpu_s, head, memory_mb
from benches.service import prepare, submission

ENDED = re.compile(r'^eddy_pool_jobs_ended_total\{state="(\w+)"\} (\S+)$', re.MULTILINE)
PRESENT = re.compile(r"^eddy_pool_board_present\{.*\} 1(?:\.0)?$", re.MULTILINE)
LOOK_S = 1.0


def metrics(server: RunningServer) -> str:
    """What the head counts."""
    return ask(server.port, request("GET", "/metrics", server.key))[1].decode()


def ended(server: RunningServer) -> Mapping[str, int]:
    """Jobs that have ended, by state."""
    return {state: int(float(count)) for state, count in ENDED.findall(metrics(server))}


@contextmanager
def boards(nats: NatsServer, count: int, item_s: float, root: Path, output_bytes: int = 64) -> Iterator[None]:
    """So many, of a checkout, while the block runs."""
    files = [str(nats.admission.admit(f"b{number:02}")) for number in range(count)]
    command = [sys.executable, "-m", "service_bench.timed_boards", "--item-s", str(item_s)]
    command += ["--output-bytes", str(output_bytes), *files]
    environment = {**os.environ, "PYTHONPATH": python_path(root)}
    process = subprocess.Popen(command, cwd=root / "tools", stdout=subprocess.DEVNULL, env=environment)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measure(root: Path, jobs: int, count: int, item_s: float, clients: int) -> dict[str, float]:
    """Jobs from their submission to the last end, at a head and on boards of a checkout."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        nats = NatsServer(Path(name) / "nats")
        with nats.running(), head(Path(name), nats, root) as server, boards(nats, count, item_s, root):
            prepare(server)
            while len(PRESENT.findall(metrics(server))) < count:
                time.sleep(LOOK_S)
            before = {each: cpu_s(each) for each in (server.process, nats.process.pid)}
            began_s, took = time.monotonic(), list[float]()
            submitting = threading.Thread(
                target=lambda: took.append(some(server.port, submission(server.key), clients, jobs, 202).wall_s)
            )
            submitting.start()
            while sum(ended(server).values()) < jobs:
                time.sleep(LOOK_S)
            span_s = time.monotonic() - began_s
            submitting.join()
            spent = {each: cpu_s(each) - before[each] for each in before}
            return {
                "not succeeded": jobs - ended(server).get("succeeded", 0),
                "span_s": round(span_s, 1),
                "busy": round(jobs * item_s / (count * span_s), 4),
                "jobs_per_s": round(jobs / span_s, 1),
                "submissions_per_s": round(jobs / took[0], 1),
                "head_cpu_ms_a_job": round(1e3 * spent[server.process] / jobs, 2),
                "nats_cpu_ms_a_job": round(1e3 * spent[nats.process.pid] / jobs, 2),
                "head_mb": memory_mb(server),
                "nats_mb": memory_mb(nats.process),
            }


OPTIONS: dict[str, dict[str, Any]] = {
    "--jobs": {"type": int, "default": 1000},
    "--boards": {"type": int, "default": 20},
    "--item-s": {"type": float, "default": 0.5, "help": "wall seconds of a job"},
    "--clients": {"type": int, "default": 8},
    "--turns": {"type": int, "default": 1},
    "--against": AGAINST,
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over turns."""
    return in_turns(
        options.against,
        options.turns,
        lambda root: measure(root, options.jobs, options.boards, options.item_s, options.clients),
    )


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """Jobs that did not succeed."""
    return [
        f"{who}: {row['not succeeded']:g} jobs did not succeed" for who, row in found.items() if row["not succeeded"]
    ]
