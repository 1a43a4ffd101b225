# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The demonstration of a pool: one head, three boards, jobs of three tenants, and one board killed in mid-work.

One board is the simulated RTL; two are models that compute what the numpy references say, on a slowed clock. Every
board is a process of its own; what is killed is killed without a word to it.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy_sim.design.models import build_models

from eddy.cli.demo.demo_plan import Order, photograph
from eddy.cli.demo.demo_run import modules_of, outputs_match
from eddy.cli.pools.pool_picture import Mark, draw
from eddy.cli.support.installed import bitstreams_folder
from eddy.client import Client, Job
from eddy.core.errors import BoardUnreachable
from eddy.pool.head.head_server import Head, HeadSettings
from eddy.pool.servers.nats_server import NatsServer

SAYS = "wall time after the first submission (s); a bar is a committed part, with the place of its job among all"
Say = Callable[[str], None]
BOARDS: Mapping[str, str] = {"rtl-1": "rtl", "model-1": "model", "model-2": "model"}
VICTIM = "model-1"
PACE = 15.0
"""Wall seconds a second of a model board takes."""
START_S = 600.0
SETTLED_S = 0.2
"""Wall seconds after which what a board said before it was stopped is known."""


@dataclass(frozen=True, slots=True)
class PoolReport:
    """What became of the demonstration.

    Attributes:
        jobs: Of each job: id, tenant, items, boards, moves, state, whether its outputs equal the reference.
        parts: What was committed: job, tenant, board, items, and when, in seconds after the first submission.
        killed: Which board, and when.
        took_s: From the first submission to the last end, wall seconds.
    """

    jobs: Sequence[Mapping[str, Any]]
    parts: Sequence[Mapping[str, Any]]
    killed: Mapping[str, Any]
    took_s: float
    picture: Path

    @property
    def verified(self) -> bool:
        """Whether every result is right, and every item was committed once."""
        return all(job["verified"] and job["once"] for job in self.jobs)

    def to_json(self) -> dict[str, Any]:
        """What `eddy demo --pool --json` prints."""
        return {
            "verified": self.verified,
            "killed": dict(self.killed),
            "took_s": self.took_s,
            "jobs": [dict(job) for job in self.jobs],
            "parts": [dict(part) for part in self.parts],
            "picture": str(self.picture),
        }


def orders() -> tuple[Order, ...]:
    """Nine jobs of three tenants, in order of submission."""
    spans = ((0, 15), (3, 11), (5, 9), (0, 10), (2, 14), (8, 15), (0, 12), (4, 10), (1, 13))
    tenants = ("ada", "grace", "edsger")
    return tuple(photograph(tenants[i % 3], 1, *span) for i, span in enumerate(spans))


def run(profile: str, data: Path, out: Path, say: Say, progress: Say) -> PoolReport:
    """Run the demonstration.

    Args:
        profile: Board profile of all three.
        data: Folder for what is kept; nothing in it is needed afterwards.
        progress: Told how far the building is.

    Raises:
        BoardUnreachable: A board did not join in time.
    """
    say(f"building the simulated board, profile {profile}")
    wanted = orders()
    build_models(profile, progress, modules_of(wanted))
    with NatsServer(data / "nats").running() as nats, _head(nats, data) as head, _boards(nats, data, profile) as boards:
        key = (data / "operator.key").read_text().strip()
        with contextlib.ExitStack() as open_clients:
            operator = open_clients.enter_context(Client(head.url, key))
            _wait_for_boards(operator, boards, data)
            say(f"the head serves {', '.join(boards)} on {head.url}")
            clients = {
                name: open_clients.enter_context(Client(head.url, operator.add_tenant(name)["key"]))
                for name in sorted({order.tenant for order in wanted})
            }
            began_s = time.time()
            jobs = [order.submit(clients[order.tenant]) for order in wanted]
            say(f"tenants {', '.join(clients)} submitted {len(jobs)} jobs")
            killed_s = _kill_in_mid_work(operator, jobs, boards) - began_s
            say(f"{VICTIM} was killed after {killed_s:.1f} s, with work of the pool on it")
            told = [_finished(operator, job, order) for job, order in zip(jobs, wanted, strict=True)]
            took_s = max(part["ended_unix_s"] for entry, _ in told for part in entry["parts"]) - began_s
    shown, parts = [], []
    for (entry, right), order in zip(told, wanted, strict=True):
        shown.append(_job(entry, order, right))
        parts += [_part(part, entry, order, began_s) for part in entry["parts"]]
    picture = out / "pool.png"
    killed = {"board": VICTIM, "at_s": killed_s}
    places = {int(job["id"]): str(place) for place, job in enumerate(shown, 1)}
    draw(parts, [*BOARDS], [Mark(VICTIM, killed_s, "killed")], picture, SAYS, places)
    good = all(job["verified"] and job["once"] for job in shown)
    say("every result is right, and every item counted once" if good else "a result is WRONG")
    return PoolReport(shown, parts, killed, took_s, picture)


@contextlib.contextmanager
def _head(nats: NatsServer, data: Path) -> Iterator[Head]:
    settings = HeadSettings(
        str(nats.admission.head_file), bitstreams_folder(""), data / "operator.key", "head-1", port=0
    )
    head, ready = Head(settings), threading.Event()
    thread = threading.Thread(target=head.run, args=[ready.set], name="eddy-head", daemon=True)
    thread.start()
    if not ready.wait(START_S):
        raise BoardUnreachable("The pool's head did not start.")
    try:
        yield head
    finally:
        head.stop()
        thread.join(20)


@contextlib.contextmanager
def _boards(nats: NatsServer, data: Path, profile: str) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    processes = {}
    try:
        for name, kind in BOARDS.items():
            command = [sys.executable, "-m", "eddy.cli.demo.demo_pool_board", "--pool", str(nats.admission.admit(name))]
            command += ["--name", name, "--data", str(data / name), "--board", kind, "--profile", profile]
            command += ["--pace", str(PACE)]
            with (data / f"{name}.log").open("ab") as log:
                processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        yield processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def _wait_for_boards(operator: Client, boards: Mapping[str, subprocess.Popen[bytes]], data: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        there = {board["name"] for board in _pool(operator)["boards"] if board["present"]}
        if there == set(boards):
            return
        for name, process in boards.items():
            if process.poll() is not None or time.monotonic() > deadline:
                text = (data / f"{name}.log").read_text(errors="replace")[-500:]
                raise BoardUnreachable(f"{name} did not join the pool: {text}", board=name)
        time.sleep(0.1)


def _pool(operator: Client) -> dict[str, Any]:
    return operator.transport.json("GET", "/v1/pool")


def _kill_in_mid_work(operator: Client, jobs: Sequence[Job], boards: Mapping[str, subprocess.Popen[bytes]]) -> float:
    """Kill a board once it has committed part of a job that it still runs; answers when, seconds since 1970.

    It is stopped first, and looked at again: the job may have ended while it was asked for.
    """

    def in_mid_work(job: Job) -> bool:
        entry = operator.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain")
        return bool(entry["board"] == VICTIM and entry["state"] == "running" and entry["parts"])

    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        for job in jobs:
            if not in_mid_work(job):
                continue
            boards[VICTIM].send_signal(signal.SIGSTOP)
            time.sleep(SETTLED_S)
            if in_mid_work(job):
                boards[VICTIM].kill()
                return time.time()
            boards[VICTIM].send_signal(signal.SIGCONT)
        time.sleep(0.02)
    raise BoardUnreachable(f"{VICTIM} was never in mid-work.", board=VICTIM)


def _finished(operator: Client, job: Job, order: Order) -> tuple[dict[str, Any], bool]:
    """Wait for a job; answers where it ran, and whether its outputs equal the reference."""
    job.wait(timeout_s=START_S)
    right = outputs_match(job.outputs, order.expected)
    return operator.transport.json("GET", f"/v1/pool/jobs/{job.id}/explain"), right


def _job(entry: Mapping[str, Any], order: Order, right: bool) -> dict[str, Any]:
    items = [item for part in entry["parts"] for item in range(part["first"], part["first"] + part["items"])]
    return {
        "id": entry["id"],
        "tenant": order.tenant,
        "batch": order.batch,
        "boards": list(dict.fromkeys(part["board"] for part in entry["parts"])),
        "moves": len(entry["moves"]),
        "state": entry["state"],
        "verified": right,
        "once": items == list(range(order.batch)),
    }


def _part(part: Mapping[str, Any], entry: Mapping[str, Any], order: Order, began_s: float) -> dict[str, Any]:
    return {
        "job": entry["id"],
        "tenant": order.tenant,
        "board": part["board"],
        "first": part["first"],
        "items": part["items"],
        "start_s": part["started_unix_s"] - began_s,
        "end_s": part["ended_unix_s"] - began_s,
    }
