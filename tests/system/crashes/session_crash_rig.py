# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kills `serve`, `boardd`, or both, at random points under a tenant's session, and checks every command's end.

    PYTHONPATH=tests python tests/system/crashes/session_crash_rig.py --crashes 40 [--seed S]

The halves are processes joined by a socket; the client stays through it all. Each launch adds one to a word
in a resident buffer. A session survives the death of `serve`, with its buffers, and is lost with `boardd`; in a session
that lives the word is what launches are known to have done, and each one that is `interrupted` counts once or not at
all.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eddy.client import Client
from eddy.client.calls.sessions import Session, SessionBuffer, SessionEvent, SessionFailed, SessionKernel
from eddy.core.errors import EddyError
from system.crashes.crash_rig import KILLED, Rig

SOURCE = "kernel void once(global uint *x) { x[0] += 1; }"
MEMORY_BYTES = 1 << 20
WORK_S, END_S, MAX_LAUNCHES = 1.0, 300.0, 20
PATIENCE_S = 3.0
"""Wall seconds for an end, before it is seen whether a half has to be started again."""
OVER = ("closed", "lost")
AWAY = (EddyError, TimeoutError)
DEFINED = frozenset({"", "interrupted", "session-lost"})
"""Codes of ends that a command may have."""


@dataclass(slots=True)
class Tenant:
    """A client and what it knows of its session.

    Attributes:
        draw: How much it asks for.
        ends: Of all commands so far, by code.
        lost: Sessions that the board has lost.
        checks: Looks at the word that were right.
    """

    client: Client
    draw: random.Random
    ends: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    checks: int = 0
    session: Session | None = None
    kernel: SessionKernel | None = None
    word: SessionBuffer | None = None
    zero: SessionEvent | None = None
    pending: list[SessionEvent] = field(default_factory=list)
    done: int = 0
    unknown: int = 0

    def open(self) -> None:
        """A session of its own, with a word of zero; goes on where it was when called again."""
        if self.session is None:
            self.session = self.client.open_session(memory_bytes=MEMORY_BYTES)
            self.done, self.unknown, self.pending = 0, 0, []
            self.kernel = self.word = self.zero = None
        if self.kernel is None:
            self.session.poll()  # that it was lost is told to commands alone
        if self.session.state in OVER:
            return
        if self.kernel is None:
            self.kernel = self.session.program(SOURCE).kernel("once")
        if self.word is None:
            self.word = self.session.buffer(64)
            self.zero = self.session.fill(self.word, bytes(4))
        if self.zero is not None:
            self.until_ended(self.zero)
            self.zero = None

    def until_ended(self, event: SessionEvent) -> str:
        """Wait for a command's end; answers its code.

        Raises:
            EddyError, TimeoutError: A half is away.
        """
        with contextlib.suppress(SessionFailed):
            event.wait(PATIENCE_S)
        assert event.is_ended, "it was waited for"
        code = event.error[0] if event.error else ""
        assert code in DEFINED, event.error
        self.ends[code] += 1
        return code

    def work(self) -> None:
        """Launches, and a look at the word; what goes wrong on the way goes on where it was when called again.

        Raises:
            EddyError, TimeoutError: A half is away.
        """
        self.open()
        assert self.session is not None
        if not self.pending and self.session.state not in OVER:
            self.pending = [self._launch() for _ in range(self.draw.randint(1, MAX_LAUNCHES))]
        self.settle()
        if self.session.state in OVER:
            self.forget()
        else:
            self.check()

    def _launch(self) -> SessionEvent:
        assert self.session is not None
        assert self.kernel is not None
        return self.session.launch(self.kernel, 1, (self.word,))

    def settle(self) -> None:
        """Know the end of everything that was asked for."""
        while self.pending:
            code = self.until_ended(self.pending[0])
            self.pending.pop(0)
            self.done += not code
            self.unknown += code == "interrupted"

    def check(self) -> None:
        """The word is what launches are known to have done."""
        assert self.session is not None
        assert self.word is not None
        read = self.session.read(self.word, 0, 4)
        if not self.until_ended(read):
            word = int.from_bytes(read.result(), "little")
            assert self.done <= word <= self.done + self.unknown, (self.done, word, self.unknown)
            self.checks += 1

    def forget(self) -> None:
        """The session was lost, and says why."""
        assert self.session is not None
        assert (self.session.state, self.session.cause) == ("lost", "board-lost"), self.session.cause
        self.lost += 1
        self.session = None


def free_port() -> int:
    """A port that nobody has now: the server comes back where its client looks for it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def one_crash(rig: Rig, tenant: Tenant) -> str:
    """Work until something is killed, and a little on; answers what."""
    which = rig.draw.choice(KILLED)
    rig.up()
    killer = threading.Timer(rig.draw.uniform(0.0, WORK_S), rig.kill, [which])
    killer.start()
    while killer.is_alive():
        with contextlib.suppress(*AWAY):
            tenant.work()
    killer.join()
    return which


def steadily(tenant: Tenant, call: Callable[[], Any]) -> None:
    """Call until the server answers."""
    until_s = time.monotonic() + END_S
    while True:
        try:
            call()
            return
        except AWAY as error:
            if time.monotonic() > until_s:
                raise AssertionError("it does not go on") from error
            time.sleep(0.05)


def end_untold(operator: Client, most: int) -> None:
    """Close sessions whose opening was never answered: a death each at most."""
    untold = [each for each in operator.sessions() if each["state"] not in OVER]
    assert len(untold) <= most, untold
    for each in untold:
        operator.transport.request("DELETE", f"/v1/sessions/{each['session']}")
    assert all(each["state"] in OVER for each in operator.sessions())


def run(folder: Path, crashes: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Tenant:
    """Crash so often, then see everything to its end."""
    rig = Rig(folder, random.Random(seed), options=(str(free_port()), "market"))
    try:
        rig.up()
        with Client(rig.url, Path(rig.key).read_text().strip()) as operator:
            key = operator.add_tenant("ada")["key"]
            with Client(rig.url, key) as client:
                tenant = Tenant(client, rig.draw)
                steadily(tenant, tenant.work)
                for number in range(crashes):
                    which = one_crash(rig, tenant)
                    rig.up()
                    steadily(tenant, tenant.work)
                    say(f"{number + 1:>3}  {which} killed: {dict(tenant.ends)}, {tenant.lost} sessions lost")
                steadily(tenant, tenant.work)
                if tenant.session is not None:
                    tenant.session.close()
                end_untold(operator, crashes)
    finally:
        rig.clear()
    return tenant


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Kill serve, boardd or both under a session, and check every end.")
    parser.add_argument("--crashes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"{options.crashes} crashes, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="eddy-crashes-") as name:
        tenant = run(Path(name), options.crashes, options.seed, lambda text: print(text, flush=True))
    ends = {code or "complete": count for code, count in tenant.ends.items()}
    print(f"{options.crashes} crashes: commands ended as {ends}; {tenant.checks} looks were right, {tenant.lost} lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
