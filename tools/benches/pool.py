# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Submissions a second that a pool's head takes, beside a board alone in the same run, and what memory it costs.

A head over one NATS server in a process of its own, and no boards, so that it only takes jobs; `eddy serve` on the
`model` board, which runs its jobs meanwhile. Each is asked in turns by one client and by `--clients`. What is answered
is on a disk. Processor time a submission is of the process that answers, its server's beside it; the board's has the
running of the job in it, which a head leaves to others. It depends little on what else a machine does, as rates do.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eddy.pool.servers.nats_server import NatsServer
from service_bench.clients import drive
from service_bench.servers import ROOT, RunningServer, eddy, python_path, served

from benches.service import prepare, submission

MANY = 16


@contextmanager
def head(folder: Path, nats: NatsServer, root: Path = ROOT, more: Sequence[str] = ()) -> Iterator[RunningServer]:
    """A head in a process of its own, as another checkout has it where `root` says so."""
    command = [sys.executable, "-m", "eddy.cli.main", "pool", "serve", "--json", "--port", "0", "--name", "bench"]
    command += ["--pool", str(nats.admission.head_file), "--data", str(folder)]
    command += ["--bitstreams", str(root / "bitstreams"), *more]
    with served(command, {"PYTHONPATH": python_path(root)}) as (process, said):
        key = (folder / "operator.key").read_text(encoding="utf-8").strip()
        yield RunningServer(int(said["url"].rsplit(":", 1)[1]), process.pid, key)


def memory_mb(process: subprocess.Popen[bytes] | RunningServer) -> float:
    """What a process holds of this machine's memory."""
    running = process if isinstance(process, RunningServer) else RunningServer(0, process.pid)
    return round(running.memory_bytes / 1e6, 1)


def cpu_s(process: int) -> float:
    """Processor time a process has had: unlike rates, it depends little on what else a machine does."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(seconds: float, turns: int, clients: int) -> dict[str, Any]:
    """Take turns; medians over them."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        folder = Path(name)
        nats = NatsServer(folder / "nats")
        with nats.running(), head(folder, nats) as pool, eddy(folder / "board") as board:
            for server in (pool, board):
                prepare(server)
            memory = {"head before": memory_mb(pool), "NATS before": memory_mb(nats.process)}
            taken, used_s = {"head": 0, "board": 0}, {"head": 0.0, "NATS": 0.0, "board": 0.0}
            processes = {"head": pool.process, "NATS": nats.process.pid, "board": board.process}
            for _ in range(turns):
                for many in (1, clients):
                    for who, server in (("head", pool), ("board", board)):
                        before = {name: cpu_s(process) for name, process in processes.items()}
                        load = drive(server.port, submission(server.key), many, seconds, 202)
                        found.setdefault(f"{who}, {many} clients", []).append(load.rate)
                        found.setdefault(f"{who}, {many} clients, p99 ms", []).append(1e3 * load.quantile_s(0.99))
                        taken[who] += len(load.took_s)
                        for name in ("head", "NATS") if who == "head" else ("board",):
                            used_s[name] += cpu_s(processes[name]) - before[name]
            memory |= {"head": memory_mb(pool), "NATS": memory_mb(nats.process), "board": memory_mb(board)}
    middle = {name: round(statistics.median(each), 1) for name, each in found.items()}
    ratios = {
        f"head / board, {many} clients": round(middle[f"head, {many} clients"] / middle[f"board, {many} clients"], 3)
        for many in (1, clients)
    }
    return {
        "submissions_per_s": middle,
        "ratios": ratios,
        "taken_by_head": taken["head"],
        "cpu_ms_a_submission": {
            name: round(1e3 * each / taken["board" if name == "board" else "head"], 2) for name, each in used_s.items()
        },
        "memory_mb": memory,
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "--seconds": {"type": float, "default": 5.0, "help": "of each measurement"},
    "--turns": {"type": int, "default": 3},
    "--clients": {"type": int, "default": MANY},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """A head next to a server of one board."""
    return measure(options.seconds, options.turns, options.clients)
