# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launches of an empty kernel in a session, over HTTP, on the model board: how many a second, and what they cost.

A server and its client share this process. First launches gather in batches, then each one is waited for before the
next. `parts` are milliseconds of processor time a launch, by thread, and of the engine's thread by what it does: other
programs do not change them. A buffer of a MiB goes along: what launches find on the board does not cross
the network.
"""

from __future__ import annotations

import argparse
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
OPTIONS = {"--launches": {"type": int, "default": 1000}}
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
    engine: Any = hypervisor._engine  # type: ignore[attr-defined]
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
    transaction = server.store._db.transaction

    def counted(*arguments: Any, **named: Any) -> Any:
        parts.spent_s["transactions"] += 1
        return transaction(*arguments, **named)

    server.store._db.transaction = counted  # type: ignore[method-assign]
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


def measure(server: Server, client: Client, launches: int) -> dict[str, Any]:
    """Rates and parts."""
    with client.open_session() as session:
        buffer, kernel = session.buffer(BUFFER_BYTES), session.program(SOURCE).kernel("empty")
        one_by_one(session, kernel, buffer, 5)  # the cluster is loaded, and slices are measured
        parts, before = watch(server), session.show()
        began_s, cpu_s, mine_s = time.monotonic(), time.process_time(), time.thread_time()
        batched(session, kernel, buffer, launches)
        took_s, cpu_s, mine_s = time.monotonic() - began_s, time.process_time() - cpu_s, time.thread_time() - mine_s
        spent, writes = dict(parts.spent_s), parts.spent_s.pop("transactions", 0)
        after = session.show()
        alone_s = time.monotonic()
        one_by_one(session, kernel, buffer, launches // 5)
        alone_s = time.monotonic() - alone_s
    spent.pop("transactions", None)
    engine_s = spent["engine"]
    spent |= {"client": mine_s, "HTTP and the rest": cpu_s - mine_s - engine_s}
    crossed = sum(after[way] - before[way] for way in ("bytes_up", "bytes_down"))
    return {
        "launches a second": launches / took_s,
        "launches a second of processor time": launches / cpu_s,
        "launches a second, each waited for": launches // 5 / alone_s,
        "writes to the disk a launch": writes / launches,
        "bytes over the network of those kept": crossed / (after["bytes_kept"] - before["bytes_kept"]),
        "parts": {name: 1e3 * seconds / launches for name, seconds in sorted(spent.items())},
    }


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Of one session on the model of a board."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ServerSettings("model", "kv260", "eddy", Path(folder), ROOT / "bitstreams", port=0)
        with Server(settings).background() as server:
            with Client(server.url, server.key_file.read_text().strip()) as operator:
                key = operator.add_tenant("ada")["key"]
            with Client(server.url, key) as client:
                return measure(server, client, options.launches)
