# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast `eddy serve` answers, beside a reference that validates the same bodies and keeps nothing.

Everything is measured in one run, over HTTP, with kept connections, on the `model` board, whose jobs run meanwhile:

- *submissions*: 32 clients submit jobs, each under an idempotency key of its own; durable before the answer;
- *listing*: one client asks for the newest job, and for `/healthz` in turn;
- *metrics*: one scrape with all those jobs in the store.

With `--against DIR`, the same of another checkout (a git worktree, say), in turns with this one's.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from service_bench.clients import ask, drive, request
from service_bench.servers import ROOT, RunningServer, eddy, reference

from benches import AGAINST

CLIENTS, TURNS = 32, 3
MOST = {"listing / healthz": 3.0, "submission p99 / reference p50": 15.0}
LEAST = {"submissions / reference": 0.35}
"""Goals, each a ratio to something measured in the same run."""
TILE = bytes(range(256)) * 64
_KEYS = itertools.count()


def submission(key: str) -> Callable[[], bytes]:
    """Requests that submit image compression of one tile, each another job."""
    body = {"application": "image_compression", "inputs": {"image": [hashlib.sha256(TILE).hexdigest()]}}
    text = json.dumps(body).encode()

    def make() -> bytes:
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"bench-{next(_KEYS)}"}
        return request("POST", "/v1/jobs", key, text, headers)

    return make


def prepare(server: RunningServer) -> None:
    """Wait until jobs are taken, and upload the tile that every one of them takes."""
    while ask(server.port, request("GET", "/readyz"))[0] != 200:
        time.sleep(0.05)
    path = f"/v1/blobs/{hashlib.sha256(TILE).hexdigest()}"
    status, body = ask(server.port, request("PUT", path, server.key, TILE))
    if status not in (200, 201):
        raise SystemExit(f"the blob was not taken: {status} {body!r}")


def succeeded(server: RunningServer) -> int:
    """Jobs that have succeeded, as the newest that has says: they run in order here."""
    path = "/v1/jobs?state=succeeded&limit=1"
    jobs = json.loads(ask(server.port, request("GET", path, server.key))[1])["jobs"]
    return int(jobs[0]["id"]) if jobs else 0


def listing(server: RunningServer, seconds: float) -> tuple[float, float]:
    """Median wall seconds of listing the newest job, and of `/healthz`, in turns."""
    times: list[list[float]] = [[], []]
    wires = [request("GET", "/v1/jobs?limit=1", server.key), request("GET", "/healthz")]
    for _ in range(TURNS):
        for found, wire in zip(times, wires, strict=True):
            found += drive(server.port, lambda wire=wire: wire, 1, seconds / TURNS / 2).took_s  # type: ignore[misc]
    return statistics.median(times[0]), statistics.median(times[1])


def scrape_s(server: RunningServer) -> float:
    """Wall seconds of one scrape, the best of three."""
    best = float("inf")
    for _ in range(3):
        began_s = time.perf_counter()
        ask(server.port, request("GET", "/metrics", server.key))
        best = min(best, time.perf_counter() - began_s)
    return best


def one_turn(server: RunningServer, seconds: float) -> dict[str, float]:
    """What a fresh server shows."""
    prepare(server)
    listed_s, healthy_s = listing(server, seconds / 2)
    load = drive(server.port, submission(server.key), CLIENTS, seconds, 202)
    return {
        "submissions/s": load.rate,
        "submission p99 ms": load.quantile_s(0.99) * 1e3,
        "succeeded/s meanwhile": succeeded(server) / load.wall_s,
        "listing p50 ms": listed_s * 1e3,
        "healthz p50 ms": healthy_s * 1e3,
        "listing / healthz": listed_s / healthy_s,
        "scrape ms": scrape_s(server) * 1e3,
        "memory MB": server.memory_bytes / 1e6,
    }


def measure(seconds: float, against: Path | None) -> dict[str, dict[str, float]]:
    """The median of each figure over the turns, by server: ``reference``, ``eddy`` and ``against``.

    One server lives at a time, so that none is measured while another works off what it was given.
    """
    roots = {"eddy": ROOT} | ({"against": against} if against else {})
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in ("reference", *roots)}
    for turn in range(TURNS):
        with reference() as beside:
            alone = drive(beside.port, submission(""), CLIENTS, seconds / TURNS, 202)
            half_s = alone.quantile_s(0.5)
            turns["reference"].append({"submissions/s": alone.rate, "submission p50 ms": half_s * 1e3})
        for name, root in roots.items():
            with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder, eddy(Path(folder), root) as server:
                found = one_turn(server, seconds / TURNS)
            found["submissions / reference"] = found["submissions/s"] / alone.rate
            found["submission p99 / reference p50"] = found["submission p99 ms"] / 1e3 / half_s
            turns[name].append(found)
        print(f"bench: turn {turn + 1} of {TURNS}", file=sys.stderr, flush=True)
    return {
        name: {what: statistics.median(row[what] for row in rows) for what in rows[0]} for name, rows in turns.items()
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "--seconds": {"type": float, "default": 12.0, "help": "of submitting to each server, over all turns"},
    "--against": AGAINST,
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Servers in turns."""
    found = measure(options.seconds, options.against)
    if "against" in found:
        found["this / other"] = {"submissions": found["eddy"]["submissions/s"] / found["against"]["submissions/s"]}
    return found


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """This tree's alone."""
    over = [what for what, most in MOST.items() if found["eddy"][what] > most]
    return over + [what for what, least in LEAST.items() if found["eddy"][what] < least]
