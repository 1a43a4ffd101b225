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

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eddy.client import answers
from eddy.client.calls.command_exchange import OVER, PIECE_BYTES, CommandExchange
from eddy.client.calls.session_arguments import BufferImage, BufferView, sent_argument, sent_sizes, to_base64
from eddy.client.calls.session_events import (
    SessionBuffer,
    SessionEvent,
    SessionFailed,
    SessionKernel,
    SessionProgram,
)
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
    "SessionFailed",
    "SessionKernel",
    "SessionProgram",
]


class Session:
    """An open session; any thread may use it.

    Args:
        client: Of its tenant.
        answer: As the server describes it.
    """

    def __init__(self, client: ClientOfSession, answer: answers.Session) -> None:
        self._client, self.token = client, answer["session"]
        self.memory_bytes, self.out_of_order = answer["memory_bytes"], answer["out_of_order"]
        self._lock = threading.Lock()
        self._programs: dict[str, SessionProgram] = {}
        self.exchange = CommandExchange(client.transport, answer, self._rebuild)
        """Of its commands with the server."""
        self._last_buffer = self.exchange.accepted

    @property
    def state(self) -> str:
        """Where it is in its life, as the server's last answer had it."""
        return self.exchange.state

    @property
    def cause(self) -> str:
        """Why it ended; "" while it is open."""
        return self.exchange.cause

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    # Commands -----------------------------------------------------------------------------------------------------

    def buffer(self, size_bytes: int, at: int | None = None) -> SessionBuffer:
        """Memory on the board; what is in it at first is undefined. Where there is no room, `created` fails.

        Args:
            size_bytes: How much.
            at: Where it begins in the session's memory, from 256 KiB on; None for anywhere.
        """
        with self._lock:
            self._last_buffer += 1
            number = self._last_buffer
        head = {"do": "create", "buffer": number, "bytes": size_bytes, **({} if at is None else {"at": at})}
        return SessionBuffer(self, number, size_bytes, self.send_command(head))

    def held_buffer(self, buffer: int, size_bytes: int) -> SessionBuffer:
        """A handle on a buffer that an earlier program made in this session, by its `id`."""
        made = SessionEvent(self, 0, {})
        made.end("", "", (0, 0, 0, 0), b"", "")
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
        return self.send_command({**head, "bytes": len(raw)}, raw, after)

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
        return self.send_command(head, b"", after)

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
        return self.send_command(head, b"", after)

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
        return self.send_command(head, b"", after)

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
        return self.send_command({**head, "pattern": to_base64(bytes(pattern))}, b"", after)

    def fill_box(
        self,
        buffer: SessionBuffer,
        pattern: bytes,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Fill a box of a buffer, row after row; `shape` and `pitch` as of `write_box`."""
        head = {"do": "fill", "buffer": buffer.id, "offset": offset, "shape": list(shape), "pitch": list(pitch)}
        return self.send_command({**head, "pattern": to_base64(bytes(pattern))}, b"", after)

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
        return self.send_command(head, b"", after)

    def start(
        self,
        image: BufferView,
        argument: BufferView,
        module: str,
        cores: int = 1,
        after: Iterable[SessionEvent] = (),
    ) -> SessionEvent:
        """Run machine code that lies in a buffer, as it is.

        Args:
            image: Its first instruction.
            argument: What mscratch leads to: it points to four words, the address of this, the first core of a slice,
                one past its last, and `cores`.
            module: The kind of cluster it was built for.
            cores: How many cores it is to think there are.
            after: What must have succeeded first.
        """
        head = {
            **{"do": "start", "buffer": image.buffer.id, "offset": image.offset, "module": module, "cores": cores},
            "argument": {"buffer": argument.buffer.id, "offset": argument.offset},
        }
        return self.send_command(head, b"", after)

    def marker(self, after: Iterable[SessionEvent] = ()) -> SessionEvent:
        """Ends once those of `after` have, or, where none is named, all before it."""
        return self.send_command({"do": "marker"}, b"", after)

    def barrier(self, after: Iterable[SessionEvent] = ()) -> SessionEvent:
        """The same; and nothing after it begins before."""
        return self.send_command({"do": "barrier"}, b"", after)

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
        self.exchange.flush()

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait until every command has ended.

        Raises:
            SessionFailed: One failed since the last call; it is the last that did.
            TimeoutError: They have not ended in so many wall seconds.
        """
        failed = self.exchange.finish(timeout_s)
        if failed is not None and failed.error is not None:
            code, message = failed.error
            raise SessionFailed(f"Command {failed.number}: {message}", command_code=code, command=failed.number)

    def poll(self) -> None:
        """Send what has gathered and take what results there are; does not wait."""
        self.exchange.send()

    def renew(self) -> None:
        """Say that its client is there, which a session that was opened with `lease_s` has to hear; takes what results
        there are, and waits for no thread that sends."""
        self.exchange.ask()

    def show(self) -> answers.Session:
        """The session as the server describes it."""
        found = self._client.transport.json("GET", f"/v1/sessions/{self.token}")
        return cast(answers.Session, found)

    def close(self) -> None:
        """End it: what runs is stopped, its memory given back. Again does nothing."""
        if self.state not in OVER:
            self._client.transport.request("DELETE", f"/v1/sessions/{self.token}")
            self.exchange.lose("closed", "closed")

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
        for place, size in enumerate(sizes):
            head = {"do": do, "buffer": buffer.id, "offset": offset, "bytes": size}
            piece, last = pieces[place] if pieces else b"", place == len(sizes) - 1
            first = after if place == 0 else parts[-1:]
            parts.append(self.send_command(head, piece, first, tuple(parts) if last else ()))
            offset += size
        return parts[-1]

    def send_command(
        self,
        head: dict[str, Any],
        data: bytes = b"",
        after: Iterable[SessionEvent] = (),
        parts: Sequence[SessionEvent] = (),
    ) -> SessionEvent:
        """A command as it travels; see `eddy.hypervisor.sessions.commands`."""
        return self.exchange.add(self, head, data, after, parts)

    def _rebuild(self) -> None:
        for program in [*self._programs.values()]:
            self._ask_to_build(program.asked)

    def _build(self, asked: Mapping[str, Any]) -> SessionProgram:
        answer = self._ask_to_build(asked)
        with self._lock:
            made = self._programs[answer["program"]] = SessionProgram(self, answer, asked)
        return made

    def _ask_to_build(self, asked: Mapping[str, Any]) -> answers.ProgramAnswer:
        wait_s = self._client.submit_timeout_s
        found = self._client.transport.json("POST", f"/v1/sessions/{self.token}/programs", body=asked, answer_s=wait_s)
        return cast(answers.ProgramAnswer, found)
