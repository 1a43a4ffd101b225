# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stops servers at random moments, with random signals, and says how each one ended.

    python tests/system/crashes/stop_rig.py --stops 40 [--seed S] [--only rtl|model|split]

Every stop finds jobs running. The next server takes the same data folder, so that in the end every job must have
succeeded once, with the reference's outputs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from eddy.cli.demo.demo_plan import Order, photograph
from eddy.client import Client

SCRIPT = Path(__file__).with_name("stop_process.py")
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
START_S, STOP_S, JOB_S = 180.0, 180.0, 600.0
BOARDS = ("rtl", "model", "split")


@dataclass
class Child:
    """A command under `stop_process.py`."""

    process: subprocess.Popen[str]
    report_file: Path
    errors: Path

    @property
    def ready(self) -> dict[str, Any]:
        """What the command printed once it served; {} where it ended before."""
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line.rstrip() == "}":
                return dict(json.loads(text))
        return {}

    def end(self, signals: Sequence[int], pause_s: float = 0.0) -> dict[str, Any]:
        """Send signals one after the other, wait for the end, answer the report with the process's own status."""
        for number in signals:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)
            time.sleep(pause_s)
        status = self.process.wait(STOP_S)
        report = json.loads(self.report_file.read_text()) if self.report_file.exists() else {}
        said = self.errors.read_text()
        return {**report, "status": status, "said": said}


@dataclass
class Site:
    """One data folder and what serves it.

    Attributes:
        board: `rtl` or `model` in process, or `split`: `rtl` behind a boardd.
        folder: For data, socket and reports.
    """

    board: str
    folder: Path
    children: list[Child] = field(default_factory=list)
    jobs: list[tuple[int, Order]] = field(default_factory=list)
    count: int = 0

    def start(self, *arguments: str) -> Child:
        """Run a command, its standard error in a file."""
        self.count += 1
        errors = self.folder / f"errors.{self.count}"
        report = self.folder / f"report.{self.count}"
        command = [sys.executable, str(SCRIPT), str(report), *arguments]
        with errors.open("w") as sink:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sink, text=True)
        child = Child(process, report, errors)
        self.children.append(child)
        return child

    def boardd(self) -> Child:
        """Start the privileged half."""
        child = self.start("boardd", "--board", "rtl", "--profile", "tiny", "--socket", str(self.socket), "--json")
        assert child.ready, child.errors.read_text()
        return child

    @property
    def socket(self) -> Path:
        """Where boardd listens."""
        return self.folder / "s"

    def server(self) -> Child:
        """Start the server, not waiting for it."""
        where = ("--boardd", str(self.socket)) if self.board == "split" else ("--board", self.board)
        return self.start("serve", *where, "--profile", "tiny", "--port", "0", "--data", str(self.data), "--json")

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    def client(self, url: str) -> Client:
        """The operator."""
        return Client(url, (self.data / "operator.key").read_text().strip())

    def submit(self, url: str, orders: Sequence[Order]) -> None:
        """Submit jobs and keep what must come of them."""
        with self.client(url) as client:
            for order in orders:
                self.jobs.append((client.submit(order.application, order.inputs).id, order))

    def wait_running(self, url: str) -> None:
        """Return when a slot is at work."""
        deadline_s = time.monotonic() + JOB_S
        with self.client(url) as client:
            while not any(slot["phase"] in ("running", "loading") for slot in client.slots()["slots"]):
                if all(job["state"] in ("succeeded", "failed") for job in client.jobs()):
                    return
                assert time.monotonic() < deadline_s, "no slot came to work"
                time.sleep(0.005)

    def check_jobs(self, url: str) -> int:
        """Every job succeeds, once, with the right outputs; answers how many there were."""
        with self.client(url) as client:
            for number, order in self.jobs:
                job = client.job(number).wait(timeout_s=JOB_S)
                assert job.state == "succeeded", job.data
                if self.board != "model":  # which moves bytes, and computes nothing
                    for name, expected in order.expected.items():
                        np.testing.assert_array_equal(job.outputs[name], expected)
        return len(self.jobs)

    def clear(self) -> None:
        """End what is left."""
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                child.process.kill()
            child.process.wait()
            if child.process.stdout is not None:
                child.process.stdout.close()


@contextlib.contextmanager
def site(board: str, folder: Path) -> Iterator[Site]:
    """A place to stop servers at."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Site(board, folder)
    try:
        yield made
    finally:
        made.clear()


def closed(ended: dict[str, Any]) -> bool:
    """Whether every slot of the board of a command was closed when it had ended."""
    return bool(ended.get("slots")) and all(slot["closed"] and slot["in_reset"] for slot in ended["slots"])


def objections(ended: dict[str, Any], board: bool, data: Path | None) -> list[str]:
    """What was wrong with an orderly stop.

    Args:
        ended: The report of a command told to end.
        board: Whether it had a board of its own.
        data: The data folder it had, if any.
    """
    found = []
    if ended["status"] != 0:
        found.append(f"exit status {ended['status']}")
    if board and not closed(ended):
        found.append(f"slots left open: {ended.get('slots')}")
    if "Traceback" in ended["said"]:
        found.append(f"a traceback: {ended['said'][-600:]}")
    if data is not None and (data / "eddy.sqlite3-wal").exists():
        found.append("the store was not closed: its write-ahead log is left")
    return found


def one_stop(place: Site, dice: random.Random) -> tuple[str, list[str]]:
    """Start, work, stop at a random moment; answers what was done and what was wrong with the end."""
    daemon = place.boardd() if place.board == "split" else None
    server = place.server()
    ready = server.ready
    assert ready, server.errors.read_text()
    place.submit(ready["url"], [photograph("operator", 1, 0, dice.randint(2, 8)) for _ in range(3)])
    place.wait_running(ready["url"])
    time.sleep(dice.uniform(0, 1.0))
    killed = dice.random() < 0.2
    signals = [signal.SIGKILL] if killed else [dice.choice(ENDING) for _ in range(dice.choice((1, 1, 2, 3)))]
    pause_s = dice.uniform(0, 0.3)
    names = "+".join(signal.Signals(number).name for number in signals)
    if daemon is None:
        ended = server.end(signals, pause_s)
        return names, [] if killed else objections(ended, True, place.data)
    return _stop_both(place, daemon, server, signals, pause_s, dice.random() < 0.5)


def _stop_both(
    place: Site, daemon: Child, server: Child, signals: list[Any], pause_s: float, daemon_first: bool
) -> tuple[str, list[str]]:
    """Stop the two halves; the one with the board is always asked, the other one may be killed."""
    names = "+".join(signal.Signals(number).name for number in signals)
    asked = [number for number in signals if number != signal.SIGKILL] or [signal.SIGTERM]
    if daemon_first:
        wrong = objections(daemon.end(asked, pause_s), True, None)
        ended = server.end(signals, pause_s)
    else:
        ended = server.end(signals, pause_s)
        wrong = objections(daemon.end(asked, pause_s), True, None)
    if signal.SIGKILL not in signals:
        wrong += objections(ended, False, place.data)
    if place.socket.exists():
        wrong.append("the socket is left")
    return f"{names}, {'boardd' if daemon_first else 'serve'} first", wrong


def finish(place: Site) -> int:
    """Let every job end, and check all of them; answers how many there were."""
    daemon = place.boardd() if place.board == "split" else None
    server = place.server()
    ready = server.ready
    assert ready, server.errors.read_text()
    count = place.check_jobs(ready["url"])
    assert not objections(server.end([signal.SIGTERM]), daemon is None, place.data)
    if daemon is not None:
        assert not objections(daemon.end([signal.SIGTERM]), True, None)
    return count


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="Stop servers at random moments and check how they end.")
    parser.add_argument("--stops", type=int, default=40, help="how many, over all boards")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=BOARDS, help="one kind of board")
    options = parser.parse_args()
    dice, bad, jobs = random.Random(options.seed), 0, 0
    boards = [options.only] if options.only else list(BOARDS)
    print(f"{options.stops} stops, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="eddy-stops-") as name, contextlib.ExitStack() as stack:
        places = [stack.enter_context(site(board, Path(name) / board)) for board in boards]
        for number in range(options.stops):
            place = places[number % len(places)]
            what, wrong = one_stop(place, dice)
            bad += bool(wrong)
            print(f"{number + 1:>3}  {place.board:<6}{what:<42}{'; '.join(wrong) or 'ok'}", flush=True)
        jobs = sum(finish(place) for place in places)
    print(f"{options.stops - bad} of {options.stops} stops in order; {jobs} jobs, each with the right outputs, once")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
