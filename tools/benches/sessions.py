# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launches of an empty kernel in a session, over HTTP, on the model board: how many a second, and what they cost.

A server and its client share this process. First launches gather in batches, then each one is waited for before the
next. `parts` are milliseconds of processor time a launch, by thread, and of the engine's thread by what it does: other
programs do not change them. A buffer of a MiB goes along: what launches find on the board does not cross
the network.

Between the rounds pocl does the same on the same host, where an interpreter with pyopencl and pocl is named (`--pocl
PYTHON`, this one by default): what a launch takes of Eddy beyond what it takes there, in processor time, is the share
that is Eddy's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.client.calls.sessions import Session, SessionBuffer, SessionKernel

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "kernel void empty(global uint *x) {}"
BUFFER_BYTES = 1 << 20
POCL = Path(__file__).with_name("_pocl_launches.py")
OPTIONS: dict[str, dict[str, Any]] = {
    "--launches": {"type": int, "default": 1000},
    "--rounds": {"type": int, "default": 3},
    "--pocl": {"default": sys.executable, "metavar": "PYTHON"},
}
LEAST = {"launches a second": 300.0}
MOST = {"writes to the disk a launch": 0.05, "bytes over the network of those kept": 0.001}


class Parts:
    """Processor time of a server's parts, as far as they are one thread's."""

    def __init__(self) -> None:
        self.spent_s: dict[str, float] = defaultdict(float)

    def time(self, holder: Any, method: str, part: str) -> None:
        """Have a method's time counted, that of what it calls included."""
        setattr(holder, method, partial(self._timed, getattr(holder, method), part))

    def _timed(self, call: Callable[..., Any], part: str, *arguments: Any, **named: Any) -> Any:
        began_s = time.thread_time()
        try:
            return call(*arguments, **named)
        finally:
            self.spent_s[part] += time.thread_time() - began_s


def watch(server: Server) -> Parts:
    """Count the time of the engine's parts, and the store's transactions."""
    parts, hypervisor = Parts(), server.context.hypervisor
    engine: Any = hypervisor._engine
    parts.time(engine, "step", "engine")
    parts.time(engine.events, "wait", "engine: the board's model")
    parts.time(engine._commands, "carry_out", "engine: commands")
    parts.time(engine.commits, "commit", "engine: commits")
    for name in ("take_inputs", "observe", "begin_slices", "keep_marks"):
        parts.time(engine.sessions, name, "engine: sessions")
    machine, step = engine.machine, engine.machine.step

    def stepped(*arguments: Any) -> Any:
        return parts._timed(step, "engine: machine", *arguments)

    machine.step = stepped
    transaction = server.store.database.transaction

    def counted(*arguments: Any, **named: Any) -> Any:
        parts.spent_s["transactions"] += 1
        return transaction(*arguments, **named)

    server.store.database.transaction = counted  # type: ignore[method-assign]
    return parts


def batched(session: Session, kernel: SessionKernel, buffer: SessionBuffer, launches: int) -> None:
    """Launches that gather."""
    for _ in range(launches):
        session.launch(kernel, 1, (buffer,))
    session.finish()


def one_by_one(session: Session, kernel: SessionKernel, buffer: SessionBuffer, launches: int) -> None:
    """Launches each of which is waited for."""
    for _ in range(launches):
        session.launch(kernel, 1, (buffer,)).wait()


def measure(server: Server, client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """Rates and parts: the median round."""
    with client.open_session() as session:
        buffer, kernel = session.buffer(BUFFER_BYTES), session.program(SOURCE).kernel("empty")
        one_by_one(session, kernel, buffer, 5)  # the cluster is loaded, and slices are measured
        parts, rounds, theirs = watch(server), [], []
        for _ in range(options.rounds):
            rounds.append(measure_round(parts, session, kernel, buffer, options.launches))
            theirs.append(measure_pocl(options))
    median = sorted(rounds, key=lambda each: each["launches a second"])[len(rounds) // 2]
    return median | compare([each["launches a second of processor time"] for each in rounds], theirs)


def measure_round(
    parts: Parts, session: Session, kernel: SessionKernel, buffer: SessionBuffer, launches: int
) -> dict[str, Any]:
    """One round."""
    parts.spent_s.clear()
    before = session.show()
    began_s, cpu_s, mine_s = time.monotonic(), time.process_time(), time.thread_time()
    batched(session, kernel, buffer, launches)
    took_s, cpu_s, mine_s = time.monotonic() - began_s, time.process_time() - cpu_s, time.thread_time() - mine_s
    spent, after = dict(parts.spent_s), session.show()
    writes = spent.pop("transactions", 0)
    alone_s = time.monotonic()
    one_by_one(session, kernel, buffer, launches // 5)
    alone_s = time.monotonic() - alone_s
    spent |= {"client": mine_s, "HTTP and the rest": cpu_s - mine_s - spent["engine"]}
    crossed = sum(after[way] - before[way] for way in ("bytes_up", "bytes_down"))
    return {
        "launches a second": launches / took_s,
        "launches a second of processor time": launches / cpu_s,
        "launches a second, each waited for": launches // 5 / alone_s,
        "writes to the disk a launch": writes / launches,
        "bytes over the network of those kept": crossed / (after["bytes_kept"] - before["bytes_kept"]),
        "parts": {name: 1e3 * seconds / launches for name, seconds in sorted(spent.items())},
    }


def measure_pocl(options: argparse.Namespace) -> dict[str, float] | str:
    """The same of pocl; why not, where it is not there."""
    command = [options.pocl, str(POCL), str(options.launches)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def compare(ours: list[float], theirs: list[dict[str, float] | str]) -> dict[str, Any]:
    """Eddy next to pocl, in launches a second of processor time: medians over the rounds."""
    found = [each for each in theirs if isinstance(each, dict)]
    if not found:
        return {"pocl": f"left out: {theirs[0]}"}
    there = {way: statistics.median(each[way] for each in found) for way in ("wall", "processor")}
    share = 1 - statistics.median(ours) / there["processor"]
    return {
        "pocl: launches a second": there["wall"],
        "pocl: launches a second of processor time": there["processor"],
        "share of a launch's processor time that is Eddy's": share,
    }


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Of one session on the model of a board."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ServerSettings("model", "kv260", "eddy", Path(folder), ROOT / "bitstreams", port=0)
        with Server(settings).background() as server:
            with Client(server.url, server.key_file.read_text().strip()) as operator:
                key = operator.add_tenant("ada")["key"]
            with Client(server.url, key) as client:
                return measure(server, client, options)
