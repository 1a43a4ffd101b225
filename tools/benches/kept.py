# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What 100,000 jobs and large blobs cost a server: pages of the list, and memory.

A data folder is filled with jobs that have ended, through the store's own calls, as submissions and steps make them,
but for outputs. `eddy serve` on the `model` board is then asked by 32 clients for 50 jobs, the newest and those of the
hundredth page, in turns with a route of FastAPI that answers an empty object. Then more jobs go the whole way (with
`--through 100000` all of them, which takes minutes), and a blob of 256 MB is uploaded and fetched. Memory is what
Linux says the server holds.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.store import Store
from eddy.store.db.rows import Commit
from eddy.store.job_tables.submissions import Submission
from service_bench.clients import ask, drive, request
from service_bench.memory import forget_most, held_bytes, most_bytes, spent_s
from service_bench.servers import RunningServer, eddy, reference
from service_bench.streams import fetch, upload

from benches.service import CLIENTS, TILE, prepare, submission

JOBS, PAGE, PAGES, TURNS, GROUP = 100_000, 50, 100, 3, 500
BLOB_BYTES = 256 << 20
FEW, DATABASE = 1000, "eddy.sqlite3"
"""Jobs that wait while more come."""
LEAST = {"first page / empty route": 0.4, "hundredth page / empty route": 0.4}
MOST = {
    "memory with so many jobs, MB": 150.0,
    "memory after the jobs that went through, MB": 150.0,
    "growth by the upload, MB": 16.0,
    "growth by the download, MB": 16.0,
}
"""Goals."""


def fill(folder: Path, jobs: int) -> float:
    """Jobs that came and succeeded, in the store of a server that does not run; answers the seconds it took."""
    with eddy(folder) as server:
        prepare(server)
    began_s = time.perf_counter()
    store = Store(folder / DATABASE)
    asked = JobRequest("operator", "image_compression", 1, {"image": (hashlib.sha256(TILE).hexdigest(),)})
    at_s = float(store.meta("now_s", "0"))
    for begin in range(0, jobs, GROUP):
        records = []
        for outcome in store.submissions.add_jobs([Submission(asked)] * min(GROUP, jobs - begin), at_s):
            if isinstance(outcome, Exception):
                raise outcome
            records.append(outcome[0])
        ended: tuple[tuple[JobRecord, dict[str, Any]], ...] = tuple((_ended(record, at_s), {}) for record in records)
        store.commit(Commit(jobs=ended, events=tuple(each for record, _ in ended for each in _events(record))))
    store.close()
    return time.perf_counter() - began_s


def _ended(record: JobRecord, at_s: float) -> JobRecord:
    return dataclasses.replace(record, state=JobState.SUCCEEDED, ended_s=at_s, items_done=1, running_s=1e-3)


def _events(record: JobRecord) -> list[JobEvent]:
    place: dict[str, Any] = {"slot": 1, "task": 0, "item": 0}
    whole = (JobEventKind.CONFIGURED, JobEventKind.LAUNCH, JobEventKind.ITEM_DONE, JobEventKind.RELEASE)
    found = [JobEvent(0, record.id, record.tenant, record.arrival_s, what, **place) for what in whole]
    return [*found, JobEvent(0, record.id, record.tenant, record.arrival_s, JobEventKind.STATE, state=record.state)]


def listing(server: RunningServer, seconds: float) -> dict[str, float]:
    """Pages a second for 32 clients, in turns with a route that answers nothing."""
    path = cursor = f"/v1/jobs?limit={PAGE}"
    for _ in range(PAGES - 1):
        following = json.loads(ask(server.port, request("GET", cursor, server.key))[1])["next"]
        if following is None:
            raise SystemExit(f"there are fewer than {PAGES} pages of {PAGE}; fill it with more --jobs")
        cursor = f"{path}&cursor={following}"
    rates: dict[str, list[float]] = {"empty": [], "first": [], "hundredth": []}
    p99_s: dict[str, list[float]] = {name: [] for name in rates}
    cost_s: dict[str, list[float]] = {name: [] for name in rates}
    with reference() as beside:
        wires = {
            "empty": (beside, request("GET", "/empty")),
            "first": (server, request("GET", path, server.key)),
            "hundredth": (server, request("GET", cursor, server.key)),
        }
        for _ in range(TURNS):
            for name, (asked, wire) in wires.items():
                began_s = spent_s(asked.process)
                load = drive(asked.port, lambda wire=wire: wire, CLIENTS, seconds / TURNS)  # type: ignore[misc]
                rates[name].append(load.rate)
                p99_s[name].append(load.quantile_s(0.99))
                cost_s[name].append((spent_s(asked.process) - began_s) / len(load.took_s))
    found = {f"{name}/s": statistics.median(all_) for name, all_ in rates.items()}
    found |= {f"{name} p99 ms": statistics.median(all_) * 1e3 for name, all_ in p99_s.items()}
    found |= {f"{name} processor us": statistics.median(all_) * 1e6 for name, all_ in cost_s.items()}
    for name in ("first", "hundredth"):
        found[f"{name} page / empty route"] = found[f"{name}/s"] / found["empty/s"]
    return found


def waiting(data: Path) -> int:
    """Jobs that have not ended, as the file says."""
    with closing(sqlite3.connect(f"file:{data / DATABASE}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM job WHERE final = 0").fetchone()[0])


def through(server: RunningServer, data: Path, jobs: int) -> dict[str, float]:
    """Memory after jobs that went the whole way; few wait at a time, for it is not a backlog that is measured."""
    before = held_bytes(server.process)
    took_s, accepted = 0.0, 0
    while accepted < jobs:
        load = drive(server.port, submission(server.key), CLIENTS, 1.0, 202)
        took_s, accepted = took_s + load.wall_s, accepted + len(load.took_s)
        while waiting(data) > (FEW if accepted < jobs else 0):
            time.sleep(0.1)
    after = held_bytes(server.process)
    return {
        "jobs that went through": float(accepted),
        "submissions/s": accepted / took_s,
        "memory after the jobs that went through, MB": after / 1e6,
        "memory each of them left, bytes": (after - before) / accepted,
    }


def blob(server: RunningServer, folder: Path) -> dict[str, float]:
    """What a blob of 256 MB costs in memory, on its way in and out."""
    file = folder / "blob"
    digest, began_s = hashlib.sha256(), time.perf_counter()
    with file.open("wb") as out:
        for number in range(BLOB_BYTES >> 20):
            piece = number.to_bytes(8, "little") * (1 << 17)
            digest.update(piece)
            out.write(piece)
    beside_s = time.perf_counter() - began_s
    name, found = digest.hexdigest(), {"blob MB": BLOB_BYTES / 1e6}
    for what, move in (("upload", upload), ("download", fetch)):
        before = held_bytes(server.process)
        forget_most(server.process)
        began_s = time.perf_counter()
        moved = move(server.port, f"/v1/blobs/{name}", server.key, file)
        took_s = time.perf_counter() - began_s
        if moved != name:
            raise SystemExit(f"the {what} moved other bytes: {moved}")
        found[f"{what} MB/s"] = BLOB_BYTES / 1e6 / took_s
        found[f"{what} / hashing and writing a file"] = beside_s / took_s
        found[f"growth by the {what}, MB"] = (most_bytes(server.process) - before) / 1e6
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "--jobs": {"type": int, "default": JOBS, "help": "that the store is filled with"},
    "--through": {"type": int, "default": 3000, "help": "jobs that go the whole way then"},
    "--seconds": {"type": float, "default": 12.0, "help": "of listing"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Pages of a long list, memory, and a blob's way in and out."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as name:
        folder = Path(name)
        found = {"jobs": float(options.jobs), "filled in s": fill(folder / "data", options.jobs)}
        began_s = time.perf_counter()
        with eddy(folder / "data") as server:
            prepare(server)
            found["taken up in s"] = time.perf_counter() - began_s
            found |= listing(server, options.seconds)
            found["memory with so many jobs, MB"] = held_bytes(server.process) / 1e6
            found |= through(server, folder / "data", options.through)
            return found | blob(server, folder)
