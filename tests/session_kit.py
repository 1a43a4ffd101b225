# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the tests of sessions on an engine share: a client that sends again what was not answered, without HTTP."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from eddy.core.errors import NotFound
from eddy.core.sessions import CommandResult, SessionOptions
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.sessions.commands import parse_commands
from eddy.hypervisor.sessions.launches import BuiltProgram
from eddy.hypervisor.sessions.session import Session

SMALL = 384 << 10
"""Bytes of a session's memory: 256 KiB for programs, and some for buffers and stacks."""
PROGRAM = "1" * 32
SOURCE = """
kernel void once(global uint *x) { x[0] += 1; }
kernel void many(global uint *x) { x[get_global_id(0)] += 1; }
kernel void wild(global uint *x) { *(global volatile uint *)0x70000000u = 1; x[0] = 1; }
"""


class Guest:
    """A client of one session."""

    def __init__(self, tenant: str, options: SessionOptions | None = None) -> None:
        self.tenant, self.options = tenant, options or SessionOptions(SMALL)
        self.name, self.life, self.known = "", "", 0
        self.sent: list[tuple[dict[str, Any], bytes]] = []
        self.results: dict[int, CommandResult] = {}

    def open(self, engine: Engine) -> None:
        """Open the session."""
        self.name = engine.sessions.open(self.tenant, self.options).id

    def say(self, data: bytes = b"", **raw: Any) -> int:
        """Have a command sent; answers its number."""
        number = len(self.sent) + 1
        self.sent.append(({"n": number, **raw}, data))
        return number

    def launch(self, kernel: str, *buffers: int, size: int = 1, **more: Any) -> int:
        """Have a launch sent."""
        arguments = [{"buffer": each} for each in buffers]
        asked: dict[str, Any] = {"program": PROGRAM, "kernel": kernel, "global": [size], "arguments": arguments}
        return self.say(do="launch", **asked, **more)

    def session(self, engine: Engine) -> Session:
        """The session as it is now, its program built.

        Raises:
            NotFound: It has ended.
        """
        found = engine.sessions.get(self.name, self.tenant)
        if PROGRAM not in found.programs:
            request = KernelRequest(SOURCE, "", (1,), ())
            found.programs[PROGRAM] = BuiltProgram(PROGRAM, engine.planner.build_for_all(self.tenant, request))
        return found

    def talk(self, engine: Engine) -> None:
        """Send what the server does not know, and take results."""
        found = self.session(engine)
        if engine.sessions.life != self.life:
            self.life, self.known = engine.sessions.life, 0
        new = self.sent[found.taken :]
        commands = parse_commands([raw for raw, _ in new], b"".join(data for _, data in new))
        engine.sessions.submit(found, commands, self.known)
        for serial, result in tuple(found.stream.results):
            self.results.setdefault(result.number, result)
            self.known = serial

    @property
    def waits(self) -> bool:
        """Whether a command has no result yet."""
        return len(self.results) < len(self.sent)


def serve(engine: Engine, *guests: Guest, until: Callable[[], bool] | None = None) -> None:
    """Step until every guest has all results, or has lost its session."""
    for _ in itertools.repeat(None, 20_000):
        waiting = [guest for guest in guests if guest.waits]
        if until() if until is not None else not waiting:
            return
        for guest in waiting:
            try:
                guest.talk(engine)
            except NotFound:
                return
        engine.step(1e-3)
    raise AssertionError("it takes too long")
