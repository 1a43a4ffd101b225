"""What a crowd and a backlog cost a server that works: submissions and completions, with few jobs waiting and many.

`eddy serve` on the `model` board, its data folder filled beforehand. In each turn, first nobody asks and jobs complete;
then 32 clients on kept connections submit. Everything is a ratio to the same in the same run. With `--json`, one
object on standard output; with `--against DIR`, the same of another checkout, in turns with this one's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench_service import CLIENTS, TILE, prepare, submission
from eddy.core.records import JobRequest
from eddy.store import Store
from eddy.store.submission import Submission
from service_bench.clients import drive
from service_bench.servers import ROOT, Running, eddy

FEW, MANY, TURNS = 1_500, 10_000, 1
"""Jobs waiting; few are as many as no machine completes while nobody asks, else it is its end that is measured."""
GROUP, DATABASE = 500, "eddy.sqlite3"
LEAST = {
    "submissions, many waiting / few": 0.5,
    "completions, many waiting / few": 0.5,
    "completions in the crowd, many waiting / few": 0.5,
    "completions, few waiting, in the crowd / alone": 0.5,
    "completions, many waiting, in the crowd / alone": 0.5,
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
        request = JobRequest("operator", "image_compression", 1, {"image": (hashlib.sha256(TILE).hexdigest(),)})
        for begin in range(0, waiting, GROUP):
            outcomes = store.submissions.add_jobs([Submission(request)] * min(GROUP, waiting - begin), 0.0)
            refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            if refused:
                raise refused[0]
        store.close()
    return found


def completed(data: Path) -> int:
    """Jobs that have succeeded, as the file says: nobody is asked, nobody is kept."""
    with closing(sqlite3.connect(f"file:{data / DATABASE}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM job WHERE state = 'succeeded'").fetchone()
    return int(count)


def rates(server: Running, data: Path, seconds: float) -> dict[str, float]:
    """Jobs a second: completed while nobody asks; submitted, and completed meanwhile."""
    before, began_s = completed(data), time.perf_counter()
    time.sleep(seconds)
    between, alone_s = completed(data), time.perf_counter() - began_s
    load = drive(server.port, submission(server.key), CLIENTS, seconds, 202)
    return {
        "submissions": load.rate,
        "completions in the crowd": (completed(data) - between) / load.wall_s,
        "completions": (between - before) / alone_s,
    }


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
                turn = rates(server, data, seconds)
        found |= {f"{what}/s, {name} waiting": rate for what, rate in turn.items()}
        found[f"completions, {name} waiting, in the crowd / alone"] = _ratio(
            turn["completions in the crowd"], turn["completions"]
        )
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


def main() -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each rate, in each turn")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often")
    parser.add_argument("--against", type=Path, help="another checkout to measure in turns with this one")
    options = parser.parse_args()
    found = measure(options.seconds, options.against, options.turns)
    if options.json:
        json.dump(found, sys.stdout)
        return 0
    for name, row in found.items():
        for what, value in row.items():
            goal = f" (goal {LEAST[what]:g}: {'met' if value >= LEAST[what] else 'missed'})" if what in LEAST else ""
            print(f"{name}: {what}: {value:.3g}{goal}")
    return int(any(found["eddy"][what] < least for what, least in LEAST.items()))


if __name__ == "__main__":
    sys.exit(main())
