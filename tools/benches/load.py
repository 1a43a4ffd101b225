# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a crowd and a backlog cost a server that works: submissions and work done, with few jobs waiting and many.

`eddy serve` on the `model` board, its data folder filled beforehand. In each turn, first nobody asks and items are
worked on; then 32 clients on kept connections submit. Work is counted in tasks of items done, of a fused task as many
as it covers: a policy may take a thousand equal jobs through one task after the other, so that none completes for
long, and jobs that happen to complete would say nothing. Everything is a ratio to the same in the same run. With
`--json`, one object on standard output; with `--against DIR`, the same of another checkout, in turns with this one's.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.core.applications import Application
from eddy.core.fusion import select_form
from eddy.core.records import JobRequest
from eddy.packages.catalogue import load_catalogue
from eddy.store import Store
from eddy.store.job_tables.submissions import Submission
from service_bench.clients import drive
from service_bench.servers import ROOT, RunningServer, eddy

from benches import AGAINST
from benches.service import CLIENTS, TILE, prepare, submission

FEW, MANY, TURNS = 1_500, 10_000, 1
"""Jobs waiting; few are as many as no machine ends while nobody asks, else it is their end that is measured."""
NAME = "image_compression"
FIRST_S = 120.0
"""Wall seconds in which the first item has to be done."""
GROUP, DATABASE = 500, "eddy.sqlite3"
LEAST = {
    "submissions, many waiting / few": 0.5,
    "work, many waiting / few": 0.5,
    "work in the crowd, many waiting / few": 0.5,
    "work, few waiting, in the crowd / alone": 0.5,
    "work, many waiting, in the crowd / alone": 0.5,
}
"""Goals: half the idle rate, or more."""


def filled(folder: Path, root: Path) -> dict[str, Path]:
    """Data folders with few and with many jobs waiting, made by one server that never ran them."""
    found = {}
    for name, waiting in (("few", FEW), ("many", MANY)):
        found[name] = folder / name
        with eddy(found[name], root) as server:
            prepare(server)
        store = Store(found[name] / DATABASE)
        request = JobRequest("operator", NAME, 1, {"image": (hashlib.sha256(TILE).hexdigest(),)})
        for begin in range(0, waiting, GROUP):
            outcomes = store.submissions.add_jobs([Submission(request)] * min(GROUP, waiting - begin), 0.0)
            refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            if refused:
                raise refused[0]
        store.close()
    return found


@dataclass(slots=True)
class WorkSample:
    """Work done on jobs of one application, as the data base of a server says: nobody is asked, nobody is kept.

    Attributes:
        application: What the jobs run; their forms tell what their tasks cover.
        done: Tasks of items that were done by the last look.
    """

    data: Path
    application: Application
    done: int = 0
    _seq: int = 0

    def more(self) -> int:
        """Tasks of items that were done since the last look; events are read once."""
        query = """
            SELECT coalesce(json_extract(record, '$.form'), ''), task, count(*), max(seq)
            FROM event JOIN job ON job.id = event.job WHERE seq > ? AND what = 'item_done' GROUP BY 1, 2
        """
        with closing(sqlite3.connect(f"file:{self.data / DATABASE}?mode=ro", uri=True)) as connection:
            rows = connection.execute(query, [self._seq]).fetchall()
        self._seq = max([self._seq, *(seq for *_, seq in rows)])
        found = sum(self._covered(str(form), int(task)) * int(count) for form, task, count, _ in rows)
        self.done += found
        return found

    def _covered(self, form: str, task: int) -> int:
        """How many tasks of the application one task of a form stands for."""
        name = select_form(self.application, form).tasks[task].name
        return next((len(fused.covers) for fused in self.application.fused if fused.name == name), 1)


def rates(server: RunningServer, worked: WorkSample, seconds: float) -> dict[str, float]:
    """A second: tasks of items done while nobody asks; jobs submitted, and tasks of items done meanwhile."""
    began_s = time.perf_counter()
    time.sleep(seconds)
    alone = worked.more() / (time.perf_counter() - began_s)
    load = drive(server.port, submission(server.key), CLIENTS, seconds, 202)
    return {"submissions": load.rate, "work in the crowd": worked.more() / load.wall_s, "work": alone}


def _first_item_s(worked: WorkSample) -> float:
    """Wall seconds until work shows: those of taking jobs up are no part of the rate at which they are worked on."""
    began_s = time.perf_counter()
    while not worked.more():
        if time.perf_counter() - began_s > FIRST_S:
            raise SystemExit(
                f"no item was done within {FIRST_S:g} s: the machine is too busy, or the server stands still"
            )
        time.sleep(0.02)
    return time.perf_counter() - began_s


def _ratio(rate: float, beside: float) -> float:
    """Not a number where the machine was so busy with other things that nothing was done beside: no goal is met."""
    return rate / beside if beside else float("nan")


def one_turn(folders: dict[str, Path], root: Path, seconds: float) -> dict[str, float]:
    """The rates with few and many waiting, and their ratios."""
    found: dict[str, float] = {}
    for name, kept in folders.items():
        with tempfile.TemporaryDirectory(prefix="eddy-bench-") as scratch:
            data = Path(scratch) / "data"
            shutil.copytree(kept, data)
            with eddy(data, root) as server:
                prepare(server)
                worked = WorkSample(data, load_catalogue(ROOT / "bitstreams").application(NAME))
                found[f"seconds until the first item, {name} waiting"] = _first_item_s(worked)
                turn = rates(server, worked, seconds)
        found |= {f"{what}/s, {name} waiting": rate for what, rate in turn.items()}
        found[f"work, {name} waiting, in the crowd / alone"] = _ratio(turn["work in the crowd"], turn["work"])
    for what in turn:
        found[f"{what}, many waiting / few"] = _ratio(found[f"{what}/s, many waiting"], found[f"{what}/s, few waiting"])
    return found


def measure(seconds: float, against: Path | None, turns: int) -> dict[str, dict[str, float]]:
    """The median of each figure over the turns, by checkout: ``eddy`` and ``against``."""
    roots = {"eddy": ROOT} | ({"against": against} if against else {})
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in roots}
    with tempfile.TemporaryDirectory(prefix="eddy-bench-") as folder:
        folders = filled(Path(folder), ROOT)
        for _ in range(turns):
            for name, root in roots.items():
                rows[name].append(one_turn(folders, root, seconds))
    return {
        name: {what: statistics.median(row[what] for row in all_) for what in all_[0]} for name, all_ in rows.items()
    }


OPTIONS: dict[str, dict[str, Any]] = {
    "--seconds": {"type": float, "default": 4.0, "help": "of each rate, in each turn"},
    "--turns": {"type": int, "default": TURNS, "help": "how often"},
    "--against": AGAINST,
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Rates of both, each with the work done meanwhile."""
    return measure(options.seconds, options.against, options.turns)


def missed(found: dict[str, dict[str, float]]) -> list[str]:
    """This tree's alone."""
    return [what for what, least in LEAST.items() if found["eddy"][what] < least]
