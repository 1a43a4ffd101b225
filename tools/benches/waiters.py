# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What 100 waiters of one tenant (`GET /v1/jobs/{job}?wait=`) cost another one who submits: of a board, and of a head.

    make bench ARGS="waiters --turns 8"

`eddy serve` on the model board, whose slots are drained, and the head of a pool without boards. `ada` submits jobs, one
after another over one connection. In turns, nobody else is there, and 100 connections of `eve` wait for a job that does
not end, in a process of their own, so that nothing but the server is shared. Each turn is a pair, its two halves by
turns the first; the figure is the median over pairs of the server's processor time for a submission, whatever it was
spent on: without waiters over with. The same is measured of nobody over nobody: how far from 1 that comes is what the
machine does to the figure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eddy.pool.servers.nats_server import NatsServer
from service_bench.clients import ask, drive, request
from service_bench.memory import spent_s
from service_bench.servers import ROOT, RunningServer, eddy, served

from benches import tell
from benches.followers import drain
from benches.pool import head
from benches.service import TILE

WAITERS, WAIT_S = 100, 30.0
LOOK_S, QUIET = 0.3, 0.1
"""A server that used less than this part of a core over so long has taken in who came, and let go of who left."""
JOB = json.dumps({"application": "image_compression", "inputs": {"image": [hashlib.sha256(TILE).hexdigest()]}}).encode()
COST, RATE = "processor of a submission, without / with waiters", "submissions, with / without waiters"
LEAST = {COST: 0.8}
"""The goal. A busy server has as many submissions as its processor time allows; the rates of a machine that other
programs share say little."""


@contextmanager
def waiting(server: RunningServer, key: str, job: str, waiters: int, wait_s: float) -> Iterator[None]:
    """While some wait for a job."""
    if not waiters:
        yield
        return
    path = f"/v1/jobs/{job}?wait={wait_s:g}"
    command = [sys.executable, "-m", "service_bench.waiters", str(server.port), key, path, str(waiters)]
    with served(command, {"PYTHONPATH": str(ROOT / "tools")}) as (process, _):
        yield
        if process.poll() is not None:
            raise SystemExit("the waiters did not wait to the end")


def settle(server: RunningServer) -> None:
    """Wait until a server has nothing to do, and had a core meanwhile."""
    used_s = 1.0
    while used_s > QUIET * LOOK_S:
        for _ in range(5):
            ask(server.port, request("GET", "/healthz"))
        began_s = spent_s(server.process)
        time.sleep(LOOK_S)
        ask(server.port, request("GET", "/healthz"))
        used_s = spent_s(server.process) - began_s


def asked(server: RunningServer, key: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a POST makes."""
    wire = request("POST", path, key, json.dumps(body).encode(), {"Content-Type": "application/json"})
    status, said = ask(server.port, wire)
    if status not in (201, 202):
        raise SystemExit(f"{path} answered {status}: {said!r}")
    made: dict[str, Any] = json.loads(said)
    return made


def rate(server: RunningServer, key: str, seconds: float) -> tuple[float, float]:
    """Submissions a second of one who submits again and again, and the server's processor time of one."""
    wire, began_s = request("POST", "/v1/jobs", key, JOB, {"Content-Type": "application/json"}), spent_s(server.process)
    load = drive(server.port, lambda: wire, 1, seconds, expected=202)
    return load.rate, (spent_s(server.process) - began_s) / len(load.took_s)


def measure(server: RunningServer, options: argparse.Namespace) -> dict[str, Any]:
    """Pairs at one server."""
    quota = {"max_jobs": 1_000_000}
    keys = {
        name: asked(server, server.key, "/v1/admin/tenants", {"id": name, "quota": quota})["key"]
        for name in ("ada", "eve")
    }
    for key in keys.values():
        path = f"/v1/blobs/{hashlib.sha256(TILE).hexdigest()}"
        if ask(server.port, request("PUT", path, key, TILE))[0] != 201:
            raise SystemExit("the blob was not taken")
    job = asked(server, keys["eve"], "/v1/jobs", json.loads(JOB))["id"]
    rate(server, keys["ada"], options.seconds)
    pairs: dict[int, list[tuple[float, float]]] = {0: [], options.waiters: []}
    for turn in range(2 * options.turns):
        waiters, found = (options.waiters, 0)[turn % 2], {}
        for half in (False, True) if turn // 2 % 2 else (True, False):
            with waiting(server, keys["eve"], job, waiters * half, options.wait):
                settle(server)
                found[half] = rate(server, keys["ada"], options.seconds)
        (rate_with, cost_with_s), (rate_without, cost_without_s) = found[True], found[False]
        pairs[waiters].append((cost_without_s / cost_with_s, rate_with / rate_without))
        costs_ms = f"{cost_with_s * 1e3:.2f} ms of processor a submission, {cost_without_s * 1e3:.2f} without"
        tell(f"{waiters} waiters: {costs_ms}; {rate_with:.0f} a second, {rate_without:.0f} without")
    (costs, rates), (same_costs, same_rates) = (zip(*pairs[each], strict=True) for each in (options.waiters, 0))
    return {
        COST: statistics.median(costs),
        "its quartiles": statistics.quantiles(costs, n=4),
        "the same, of nobody": statistics.quantiles(same_costs, n=4),
        RATE: statistics.median(rates),
        "quartiles of rates": statistics.quantiles(rates, n=4),
        "rates, of nobody": statistics.quantiles(same_rates, n=4),
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "--waiters": {"type": int, "default": WAITERS},
    "--wait": {"type": float, "default": WAIT_S, "help": "seconds that each asks to wait"},
    "--turns": {"type": int, "default": 6, "help": "pairs of each kind"},
    "--seconds": {"type": float, "default": 2.0, "help": "of each rate"},
    "--only": {"choices": ["board", "head"], "help": "one of the two servers"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Both servers, one after the other."""
    most, found = str(max(512, 8 * options.waiters)), dict[str, Any]()
    more = ("--max-connections", most, "--max-connections-per-client", most)
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        if options.only != "head":
            with eddy(Path(name) / "board", more=more) as server:
                while ask(server.port, request("GET", "/readyz"))[0] != 200:
                    time.sleep(0.05)
                drain(server)
                found["board"] = measure(server, options)
        if options.only != "board":
            nats = NatsServer(Path(name) / "nats")
            with nats.running(), head(Path(name), nats, more=more) as server:
                found["head"] = measure(server, options)
    return found
