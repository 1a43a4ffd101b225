# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a server keeps on disk that goes on for long, with a bound on jobs that have ended and without one.

Two data folders. In each round more jobs are put into both, ended an hour ago, through the store's own calls, as
submissions and steps make them. Then `eddy serve` on the `model` board works on each in turn: clients submit while the
one with the bound removes what is too much. Then the bytes of the data bases are counted, without the write-ahead
log, which has 4 MB at most. With a bound they must stay what they were in the second round; without one they grow by
each job.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
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
from service_bench.clients import some
from service_bench.servers import eddy

from benches.service import TILE, prepare, submission

JOBS, ROUNDS, BOUND, CLIENTS, SUBMITTED, GROUP, EVENTS = 3_000, 4, 1_500, 4, 100, 500, 16
"""Jobs of a round, ended jobs that are kept, clients, what these submit in a round, jobs of a commit, events of a job
beside its first."""
DATABASE, PATIENCE_S, SETTLES_S, AGO_S = "eddy.sqlite3", 300.0, 8.0, 3600.0
MOST = {"bytes in the last round / in the second, with a bound": 1.15}
"""Goals."""


def kept_bytes(data: Path) -> int:
    """Bytes of the data base, without its log. What clients' jobs leave as outputs is not what is measured."""
    return (data / DATABASE).stat().st_size


def ended_jobs(data: Path) -> int:
    """Jobs of a data folder that have ended."""
    with closing(sqlite3.connect(f"file:{data / DATABASE}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM job WHERE final = 1").fetchone()[0])


def fill(data: Path, jobs: int) -> None:
    """Put jobs that succeeded into a data folder that no server has."""
    store = Store(data / DATABASE)
    asked = JobRequest("operator", "image_compression", 1, {"image": (hashlib.sha256(TILE).hexdigest(),)})
    at_s = float(store.meta("now_s", "0"))
    for begin in range(0, jobs, GROUP):
        outcomes = store.submissions.add_jobs([Submission(asked)] * min(GROUP, jobs - begin), at_s)
        records = [outcome[0] for outcome in outcomes if not isinstance(outcome, Exception)]
        ended = tuple((_ended(record, at_s), dict[str, object]()) for record in records)
        store.commit(Commit(jobs=ended, events=tuple(event for record in records for event in _events(record))))
    store.close()


def _ended(record: JobRecord, at_s: float) -> JobRecord:
    ago = time.time() - AGO_S
    return dataclasses.replace(record, state=JobState.SUCCEEDED, ended_s=at_s, ended_unix_s=ago, items_done=1)


def _events(record: JobRecord) -> list[JobEvent]:
    return [JobEvent(0, record.id, record.tenant, record.arrival_s, JobEventKind.ITEM_DONE, slot=1, task=0, item=0)] * (
        EVENTS
    )


def worked(data: Path, bound: int) -> dict[str, float]:
    """What a server does with a data folder, bounded or not (0)."""
    with eddy(data, more=["--retention-jobs", str(bound)]) as server:
        began_s = time.monotonic()
        prepare(server)
        before = ended_jobs(data)
        load = some(server.port, submission(server.key), CLIENTS, SUBMITTED, 202)
        while bound and ended_jobs(data) > bound:
            if time.monotonic() > began_s + PATIENCE_S:
                raise SystemExit(f"{ended_jobs(data)} jobs are kept, and should be {bound} at most")
            time.sleep(0.1)
        took_s = time.monotonic() - began_s
        time.sleep(SETTLES_S)  # what is left of the last ones, and free pages
        gone = max(before - ended_jobs(data), 0)
    return {
        "median ms of a submission": load.quantile_s(0.5) * 1e3,
        "p99 ms of a submission": load.quantile_s(0.99) * 1e3,
        "jobs removed a second": gone / took_s,
        "jobs kept": ended_jobs(data),
        "kB of the data base": kept_bytes(data) / 1e3,
    }


def measured(folder: Path, jobs: int, rounds: int, bound: int) -> dict[str, list[float]]:
    """Figures by round, with a bound and without."""
    found: dict[str, list[float]] = {}
    folders = {"bounded": (folder / "bounded", bound), "free": (folder / "free", 0)}
    for data, _ in folders.values():
        with eddy(data) as server:
            prepare(server)
    for _ in range(rounds):
        for name, (data, most) in folders.items():
            fill(data, jobs)
            for what, value in worked(data, most).items():
                found.setdefault(f"{name}: {what}", []).append(value)
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "--jobs": {"type": int, "default": JOBS, "help": "jobs of a round"},
    "--rounds": {"type": int, "default": ROUNDS},
    "--bound": {"type": int, "default": BOUND, "help": "ended jobs the bounded server keeps"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """A bounded server next to a free one."""
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder:
        found = measured(Path(folder), options.jobs, options.rounds, options.bound)
    kept, free = (found[f"{name}: kB of the data base"] for name in ("bounded", "free"))
    medians = [statistics.median(found[f"{name}: median ms of a submission"]) for name in ("bounded", "free")]
    return {
        **found,
        "bytes in the last round / in the second, with a bound": kept[-1] / kept[1],
        "bytes in the last round / in the second, without": free[-1] / free[1],
        "median submission, with a bound / without": medians[0] / medians[1],
    }
