# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a session's calls give their callers: buffers, programs, kernels, and the events of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from eddy.client import answers
from eddy.client.calls.session_arguments import BufferView
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.sessions import CommandState


class SessionFailed(EddyError):
    """A command of a session failed, or the session has ended; `details["command_code"]` says why."""

    code = "session-failed"


class EventWaiter(Protocol):
    """Waits for ends."""

    def wait(self, event: SessionEvent, timeout_s: float | None = None) -> None:
        """Return once a command has ended."""


class SessionCalls(Protocol):
    """The session that buffers and events are of."""

    @property
    def exchange(self) -> EventWaiter:
        """Of its commands with the server."""

    def send_command(self, head: dict[str, Any]) -> SessionEvent:
        """A command as it travels."""


@dataclass(slots=True, eq=False)
class SessionBuffer:
    """Memory on the board.

    Attributes:
        session: Whose.
        id: Its name there, never used twice.
        size_bytes: Its size.
        created: The event of its creation; it fails where there is no room.
    """

    session: SessionCalls = field(repr=False)
    id: int
    size_bytes: int
    created: SessionEvent = field(repr=False)

    def at(self, offset: int) -> BufferView:
        """The buffer from an offset on, as a kernel's argument."""
        return BufferView(self, offset)

    def release(self) -> SessionEvent:
        """Give it back, once commands before this have ended."""
        return self.session.send_command({"do": "release", "buffer": self.id})


class SessionEvent:
    """What becomes of a command, or of several that are one call's.

    Args:
        session: Whose.
        number: The command's.
        head: What it says.
        data: What it brings; once it has ended, what it read.
        parts: Events of commands before it that belong to the same call.
    """

    def __init__(
        self,
        session: SessionCalls,
        number: int,
        head: Mapping[str, Any],
        data: bytes = b"",
        parts: Sequence[SessionEvent] = (),
    ) -> None:
        self.session, self.number, self._parts = session, number, tuple(parts)
        self.head, self.data = head, data
        self.current = CommandState.QUEUED
        """As `state`; the exchange sets it."""
        self._error: tuple[str, str] | None = None
        self._profile = (0, 0, 0, 0)
        self.log = ""
        """What its kernel printed."""

    @property
    def state(self) -> str:
        """`queued`, `submitted`, `running`, `complete` or `failed`, as the server's last answer had it."""
        return self.current.value

    @property
    def is_ended(self) -> bool:
        """Whether it is complete or failed, as the server's last answer had it."""
        return self.current.is_final

    @property
    def error(self) -> tuple[str, str] | None:
        """Stable code, and a message for people; None where it has not failed."""
        found = (part.error for part in self._parts)
        return self._error or next((each for each in found if each), None)

    @property
    def profile(self) -> tuple[int, int, int, int]:
        """Board nanoseconds at which it was queued, submitted, begun and ended; zeros before that."""
        return self._profile

    def wait(self, timeout_s: float | None = None) -> SessionEvent:
        """Wait until it is complete.

        Raises:
            SessionFailed: It failed; `error` says why.
            TimeoutError: It has not ended in so many wall seconds.
        """
        self.session.exchange.wait(self, timeout_s)
        if self.error is not None:
            code, message = self.error
            raise SessionFailed(f"Command {self.number}: {message}", command_code=code, command=self.number)
        return self

    def result(self, timeout_s: float | None = None) -> bytes:
        """The bytes that were read; see `wait`."""
        self.wait(timeout_s)
        return b"".join(part.data for part in (*self._parts, self))

    def end(self, code: str, message: str, profile: Sequence[int], data: bytes, log: str) -> None:
        """It ended, says the server's answer; `code` is "" where all went well."""
        self._error = (code, message) if code else None
        self._profile = cast(tuple[int, int, int, int], tuple(profile))
        self.data, self.log = data, log
        self.current = CommandState.FAILED if code else CommandState.COMPLETE


@dataclass(frozen=True, slots=True)
class SessionKernel:
    """A kernel of a program.

    Attributes:
        program: Of which.
        name: As the source names it.
        arguments: What it takes, in order.
    """

    program: SessionProgram
    name: str
    arguments: tuple[answers.ProgramArgument, ...]


class SessionProgram:
    """A program, built once.

    Args:
        session: For which.
        answer: As the server describes it.
        asked: What it was built from: after a restart of the server it is built again.
    """

    def __init__(self, session: SessionCalls, answer: answers.ProgramAnswer, asked: Mapping[str, Any]) -> None:
        self._session, self.asked = session, asked
        self.id, self.build_log = answer["program"], answer["log"]
        self.kernels = {each["name"]: each for each in answer["kernels"]}
        self.local_bytes = answer["local_bytes"]

    def kernel(self, name: str) -> SessionKernel:
        """A kernel of it.

        Raises:
            InvalidRequest: It has none of that name.
        """
        if name not in self.kernels:
            allowed = sorted(self.kernels)
            message = f"The program has no kernel {name!r}; it has: {', '.join(allowed)}."
            raise InvalidRequest(message, field="kernel", allowed=allowed)
        return SessionKernel(self, name, tuple(self.kernels[name]["arguments"]))
