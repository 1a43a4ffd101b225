# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Sessions from the tenant's side: buffers that stay on the board, and an ordered stream of commands on them.

::

    with client.open_session() as session:
        x = session.buffer(4096)
        session.write(x, numpy_array)
        kernel = session.program(source).kernel("scale")
        for _ in range(1000):
            session.launch(kernel, (1024,), (x, 2.5))
        result = session.read(x).result()

No call waits but `wait`, `result`, `finish` and `program`: commands gather, and go to the server some tens at a time.
They are numbered here, so what the server was sent twice, because it or the network failed, is done once.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eddy.client import answers
from eddy.client.calls.session_arguments import BufferImage, BufferView, sent_argument, sent_sizes, to_base64
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.frames import MEDIA_TYPE, pack_frame, split_frame
from eddy.core.sessions import CommandState
from eddy.gpu.programs.ndrange import Local

if TYPE_CHECKING:
    from eddy.client.transport.session import Session as ClientOfSession

__all__ = [
    "BufferImage",
    "BufferView",
    "Local",
    "Session",
    "SessionBuffer",
    "SessionEvent",
    "SessionKernel",
    "SessionProgram",
]

AT_ONCE, AT_ONCE_BYTES = 256, 8 << 20
"""Commands of one request, and bytes that writes among them bring, about."""
SOON = 64
"""Commands that gather before they are sent."""
PIECE_BYTES = 4 << 20
"""Bytes of one command; what is more is written and read in pieces."""
MOST_OPEN, MOST_OPEN_BYTES = 2048, 64 << 20
"""Commands that have not ended, and bytes they bring, beyond which a call waits for some to end."""
ASK_S = 20.0
"""Wall seconds one request waits at most; the next one goes on."""


class SessionFailed(EddyError):
    """A command of a session failed, or the session has ended; `details["command_code"]` says why."""

    code = "session-failed"


@dataclass(slots=True, eq=False)
class SessionBuffer:
    """Memory on the board.

    Attributes:
        session: Whose.
        id: Its name there, never used twice.
        size_bytes: Its size.
        created: The event of its creation; it fails where there is no room.
    """

    session: Session = field(repr=False)
    id: int
    size_bytes: int
    created: SessionEvent = field(repr=False)

    def at(self, offset: int) -> BufferView:
        """The buffer from an offset on, as a kernel's argument."""
        return BufferView(self, offset)

    def release(self) -> SessionEvent:
        """Give it back, once commands before this have ended."""
        return self.session._command({"do": "release", "buffer": self.id})


class SessionEvent:
    """What becomes of a command, or of several that are one call's.

    Args:
        session: Whose.
        number: The command's.
        head: What it says.
        data: What it brings.
        parts: Events of commands before it that belong to the same call.
    """

    def __init__(
        self,
        session: Session,
        number: int,
        head: Mapping[str, Any],
        data: bytes = b"",
        parts: Sequence[SessionEvent] = (),
    ) -> None:
        self.session, self.number, self._parts = session, number, tuple(parts)
        self._head, self._data = head, data
        self._state = CommandState.QUEUED
        self._error: tuple[str, str] | None = None
        self._profile = (0, 0, 0, 0)
        self.log = ""
        """What its kernel printed."""

    @property
    def state(self) -> str:
        """`queued`, `submitted`, `running`, `complete` or `failed`, as the server's last answer had it."""
        return self._state.value

    @property
    def is_ended(self) -> bool:
        """Whether it is complete or failed, as the server's last answer had it."""
        return self._state.is_final

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
        self.session._wait(self, timeout_s)
        if self.error is not None:
            code, message = self.error
            raise SessionFailed(f"Command {self.number}: {message}", command_code=code, command=self.number)
        return self

    def result(self, timeout_s: float | None = None) -> bytes:
        """The bytes that were read; see `wait`."""
        self.wait(timeout_s)
        return b"".join(part._data for part in (*self._parts, self))

    def _end(self, code: str, message: str, profile: Sequence[int], data: bytes, log: str) -> None:
        self._error = (code, message) if code else None
        self._profile = cast(tuple[int, int, int, int], tuple(profile))
        self._data, self.log = data, log
        self._state = CommandState.FAILED if code else CommandState.COMPLETE


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

    def __init__(self, session: Session, answer: answers.ProgramAnswer, asked: Mapping[str, Any]) -> None:
        self._session, self._answer, self._asked = session, answer, asked
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


class Session:
    """An open session; any thread may use it.

    Args:
        client: Of its tenant.
        answer: As the server describes it.
    """

    def __init__(self, client: ClientOfSession, answer: answers.Session) -> None:
        self._client, self.token = client, answer["session"]
        self.memory_bytes, self.out_of_order = answer["memory_bytes"], answer["out_of_order"]
        self.state: str = answer["state"]
        self.cause = answer["cause"]
        self._lock = threading.RLock()
        self._open: dict[int, SessionEvent] = {}
        self._open_bytes = 0
        self._failures: deque[SessionEvent] = deque(maxlen=1)
        self._programs: dict[str, SessionProgram] = {}
        self._life, self._known = "", 0
        self._next = self._accepted = self._last_buffer = 0
        self._exchange()
        self._next, self._last_buffer = self._accepted + 1, self._accepted

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    # Commands -----------------------------------------------------------------------------------------------------

    def buffer(self, size_bytes: int) -> SessionBuffer:
        """Memory on the board; what is in it at first is undefined. Where there is no room, `created` fails."""
        with self._lock:
            self._last_buffer += 1
            number = self._last_buffer
            return SessionBuffer(
                self, number, size_bytes, self._command({"do": "create", "buffer": number, "bytes": size_bytes})
            )

    def held_buffer(self, buffer: int, size_bytes: int) -> SessionBuffer:
        """A handle on a buffer that an earlier program made in this session, by its `id`."""
        made = SessionEvent(self, 0, {})
        made._end("", "", (0, 0, 0, 0), b"", "")
        return SessionBuffer(self, buffer, size_bytes, made)

    def write(
        self, buffer: SessionBuffer, data: object, offset: int = 0, after: Iterable[SessionEvent] = ()
    ) -> SessionEvent:
        """Bring bytes, or an array's in C order, into a buffer."""
        raw = data.tobytes() if isinstance(data, (np.ndarray, np.generic)) else bytes(cast(bytes, data))
        pieces = [raw[at : at + PIECE_BYTES] for at in range(0, len(raw), PIECE_BYTES)] or [b""]
        return self._in_pieces("write", buffer, offset, [len(piece) for piece in pieces], after, pieces)

    def read(
        self,
        buffer: SessionBuffer,
        offset: int = 0,
        size_bytes: int | None = None,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Fetch bytes of a buffer, all from the offset on where no size is given; `result` has them."""
        size = buffer.size_bytes - offset if size_bytes is None else size_bytes
        sizes = [min(PIECE_BYTES, size - at) for at in range(0, size, PIECE_BYTES)] or [0]
        return self._in_pieces("read", buffer, offset, sizes, after)

    def write_box(
        self,
        buffer: SessionBuffer,
        data: object,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Bring bytes into a box of a buffer.

        Args:
            buffer: Where.
            data: Bytes or an array, rows end to end.
            shape: Bytes of a row, rows, slices.
            pitch: Bytes from row to row, and from slice to slice.
            offset: Of the first byte.
            after: What must have succeeded first.
        """
        raw = data.tobytes() if isinstance(data, (np.ndarray, np.generic)) else bytes(cast(bytes, data))
        head = {"do": "write", "buffer": buffer.id, "offset": offset, "shape": list(shape), "pitch": list(pitch)}
        return self._command({**head, "bytes": len(raw)}, raw, after)

    def read_box(
        self,
        buffer: SessionBuffer,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Fetch a box of a buffer, rows end to end; arguments as of `write_box`."""
        head = {"do": "read", "buffer": buffer.id, "offset": offset, "shape": list(shape), "pitch": list(pitch)}
        return self._command(head, b"", after)

    def copy(
        self,
        source: SessionBuffer,
        target: SessionBuffer,
        source_offset: int = 0,
        target_offset: int = 0,
        size_bytes: int | None = None,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Copy bytes from buffer to buffer, or within one, on the board."""
        head = {
            **{"do": "copy", "source": source.id, "target": target.id, "source_offset": source_offset},
            "target_offset": target_offset,
            "bytes": source.size_bytes - source_offset if size_bytes is None else size_bytes,
        }
        return self._command(head, b"", after)

    def copy_box(
        self,
        source: SessionBuffer,
        target: SessionBuffer,
        shape: Sequence[int],
        source_pitch: Sequence[int],
        target_pitch: Sequence[int],
        source_offset: int = 0,
        target_offset: int = 0,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Copy a box of one buffer into a box of another; `shape` and pitches as of `write_box`."""
        head = {
            **{"do": "copy", "source": source.id, "target": target.id, "shape": list(shape)},
            **{"source_offset": source_offset, "source_pitch": list(source_pitch)},
            **{"target_offset": target_offset, "target_pitch": list(target_pitch)},
        }
        return self._command(head, b"", after)

    def fill(
        self,
        buffer: SessionBuffer,
        pattern: bytes,
        offset: int = 0,
        size_bytes: int | None = None,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Fill a buffer with a pattern of at most 128 bytes, of which the size is a multiple."""
        size = buffer.size_bytes - offset if size_bytes is None else size_bytes
        head = {"do": "fill", "buffer": buffer.id, "offset": offset, "bytes": size}
        return self._command({**head, "pattern": to_base64(bytes(pattern))}, b"", after)

    def launch(
        self,
        kernel: SessionKernel,
        global_size: int | Sequence[int],
        arguments: Sequence[object],
        local_size: int | Sequence[int] | None = None,
        global_offset: int | Sequence[int] | None = None,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Run a kernel over an ND-range.

        Args:
            kernel: Of a program of this session.
            global_size: Work-items by dimension.
            arguments: In its order: `SessionBuffer`, `BufferView` or None for pointers, `BufferImage` for images,
                `Local` for `__local` ones, numbers, sequences for vectors, or the bytes of a value.
            local_size: Work-group size; None for what suits the cluster.
            global_offset: What `get_global_id` counts from.
            after: What must have succeeded first.
        """
        head = {
            **{
                "do": "launch",
                "program": kernel.program.id,
                "kernel": kernel.name,
                "global": sent_sizes(global_size),
            },
            **{"local": sent_sizes(local_size), "offset": sent_sizes(global_offset)},
            "arguments": [sent_argument(each.at(0) if isinstance(each, SessionBuffer) else each) for each in arguments],
        }
        return self._command(head, b"", after)

    def marker(self, after: Iterable[SessionEvent] = ()) -> SessionEvent:
        """Ends once those of `after` have, or, where none is named, all before it."""
        return self._command({"do": "marker"}, b"", after)

    def barrier(self, after: Iterable[SessionEvent] = ()) -> SessionEvent:
        """The same; and nothing after it begins before."""
        return self._command({"do": "barrier"}, b"", after)

    def program(
        self,
        source: str,
        options: str = "",
        headers: Mapping[str, str] | None = None,
        defines: Mapping[str, object] | None = None,
    ) -> SessionProgram:
        """Build a program; waits for the compiler.

        Raises:
            CompilationFailed: The source was refused; the message is the compiler's.
        """
        asked = {
            **{"source": source, "options": options, "includes": dict(headers or {})},
            "defines": {name: str(value) for name, value in (defines or {}).items()},
        }
        return self._build(asked)

    # Waiting ------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what has gathered; does not wait for it."""
        with self._lock:
            while any(number > self._accepted for number in self._open):
                self._exchange()

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait until every command has ended.

        Raises:
            SessionFailed: One failed since the last call; it is the last that did.
            TimeoutError: They have not ended in so many wall seconds.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            while self._open:
                last = self._open[max(self._open)]
                self._wait(last, None if until is None else until - time.monotonic())
            failed = self._failures.pop() if self._failures else None
        if failed is not None and failed.error is not None:
            code, message = failed.error
            raise SessionFailed(f"Command {failed.number}: {message}", command_code=code, command=failed.number)

    def poll(self) -> None:
        """Send what has gathered and take what results there are; does not wait."""
        with self._lock:
            self._exchange()

    def show(self) -> answers.Session:
        """The session as the server describes it."""
        found = self._client.transport.json("GET", f"/v1/sessions/{self.token}")
        return cast(answers.Session, found)

    def close(self) -> None:
        """End it: what runs is stopped, its memory given back. Again does nothing."""
        with self._lock:
            if self.state not in ("closed", "lost"):
                self._client.transport.request("DELETE", f"/v1/sessions/{self.token}")
                self._lose("closed", "closed")

    # Its parts ----------------------------------------------------------------------------------------------------

    def _in_pieces(
        self,
        do: str,
        buffer: SessionBuffer,
        offset: int,
        sizes: Sequence[int],
        after: Iterable[SessionEvent],
        pieces: Sequence[bytes] = (),
    ) -> SessionEvent:
        parts: list[SessionEvent] = []
        with self._lock:
            for place, size in enumerate(sizes):
                head = {"do": do, "buffer": buffer.id, "offset": offset, "bytes": size}
                piece, last = pieces[place] if pieces else b"", place == len(sizes) - 1
                first = after if place == 0 else parts[-1:]
                parts.append(self._command(head, piece, first, parts if last else ()))
                offset += size
        return parts[-1]

    def _command(
        self,
        head: dict[str, Any],
        data: bytes = b"",
        after: Iterable[SessionEvent] = (),
        parts: Sequence[SessionEvent] = (),
    ) -> SessionEvent:
        with self._lock:
            self._check_open()
            while len(self._open) >= MOST_OPEN or (self._open and self._open_bytes + len(data) > MOST_OPEN_BYTES):
                self._exchange(min(self._open), ASK_S)
                self._check_open()
            number, self._next = self._next, self._next + 1
            waits = [each.number for each in after if not (each.is_ended and each.error is None)]
            whole = {"n": number, **head, **({"after": waits} if waits else {})}
            event = self._open[number] = SessionEvent(self, number, whole, data, list(parts))
            self._open_bytes += len(data)
            gathered = number - self._accepted
            if (gathered >= SOON and gathered % SOON == 0) or len(data) >= PIECE_BYTES:
                self._exchange()
            return event

    def _check_open(self) -> None:
        if self.state in ("closed", "lost"):
            raise SessionFailed(f"The session has ended: {self.cause or self.state}.", command_code=self.cause)

    def _wait(self, event: SessionEvent, timeout_s: float | None) -> None:
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not event.is_ended:
            left = ASK_S if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"command {event.number} has not ended within {timeout_s:g} s")
            with self._lock:
                if not event.is_ended:
                    self._exchange(event.number, min(left, ASK_S))

    def _exchange(self, until: int = 0, wait_s: float = 0.0) -> None:
        """Send some of what has gathered, and take what came of it; waits only where all was sent."""
        batch: list[SessionEvent] = []
        size, more = 0, False
        for number, event in self._open.items():
            if number > self._accepted:
                more = len(batch) == AT_ONCE or (size > 0 and size + len(event._data) > AT_ONCE_BYTES)
                if more:
                    break
                batch.append(event)
                size += len(event._data)
        head = {
            **{"commands": [event._head for event in batch], "life": self._life, "known": self._known},
            **({} if more or not wait_s else {"until": until, "wait_s": wait_s}),
        }
        path, timeout_s = f"/v1/sessions/{self.token}/commands", self._client.transport.timeout_s
        answer = self._client.transport.request(
            "POST",
            path,
            content=pack_frame(head, (event._data for event in batch)),
            headers={"Content-Type": MEDIA_TYPE},
            answer_s=None if not wait_s else wait_s + timeout_s,
        )
        self._take(*split_frame(answer.content))

    def _take(self, text: bytes, payload: bytes) -> None:
        head = json.loads(text)
        if head["life"] != self._life:
            again, self._life, self._known = bool(self._life), head["life"], 0
            if again:
                for program in self._programs.values():
                    self._ask_to_build(program._asked)
        self.state, self.cause, self._accepted = head["state"], head["cause"], head["accepted"]
        at = 0
        for serial, number, code, message, profile, size, log in head["results"]:
            event = self._open.pop(number, None)
            if event is not None:
                self._open_bytes -= len(event._data)
                event._end(code, message, profile, payload[at : at + size], log)
                if code:
                    self._failures.append(event)
            self._known, at = serial, at + size
        running = set(head["running"])
        for number, event in self._open.items():
            if number <= self._accepted:
                event._state = CommandState.RUNNING if number in running else CommandState.SUBMITTED
        if self.state in ("closed", "lost"):
            self._lose(self.state, self.cause)

    def _lose(self, state: str, cause: str) -> None:
        """The session has ended: nothing more will be answered."""
        self.state, self.cause = state, cause
        for event in self._open.values():
            event._end(f"session-{state}", f"the session has ended: {cause}", (0, 0, 0, 0), b"", "")
            self._failures.append(event)
        self._open.clear()
        self._open_bytes = 0

    def _build(self, asked: Mapping[str, Any]) -> SessionProgram:
        answer = self._ask_to_build(asked)
        with self._lock:
            made = self._programs[answer["program"]] = SessionProgram(self, answer, asked)
        return made

    def _ask_to_build(self, asked: Mapping[str, Any]) -> answers.ProgramAnswer:
        wait_s = self._client.submit_timeout_s
        found = self._client.transport.json("POST", f"/v1/sessions/{self.token}/programs", body=asked, answer_s=wait_s)
        return cast(answers.ProgramAnswer, found)
