# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Frames between the library in the host's process and the helper: `native/channel.c` and `native/wire.c` have the
other side.

A frame is its payload's size (u32), an operation (u32), a tag (u64) and the payload: little-endian numbers, and texts
with their size before them (u32).
"""

from __future__ import annotations

import enum
import socket
import struct
from dataclasses import dataclass

_HEAD = struct.Struct("<IIQ")


class Operation(enum.IntEnum):
    """What a frame says."""

    HELLO = 1
    CONTEXT_OPEN = 2
    CONTEXT_CLOSE = 3
    BUFFER_CREATE = 4
    BUFFER_FREE = 5
    PROGRAM_BUILD = 6
    PROGRAM_FREE = 7
    DEVICE_OPEN = 8
    DEVICE_WRITE = 9
    DEVICE_READ = 10
    DEVICE_FILL = 11
    DEVICE_START = 12
    DEVICE_WAIT = 13
    WRITE = 16
    READ = 17
    COPY = 18
    FILL = 19
    LAUNCH = 20
    REPLY = 32
    ENDED = 33
    PRINTED = 34


class Reader:
    """A payload, read from its beginning.

    Raises:
        struct.error, IndexError: It ends too soon.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def numbers(self, form: str) -> tuple[int, ...]:
        """Numbers in `struct`'s letters."""
        found = struct.unpack_from("<" + form, self._data, self._at)
        self._at += struct.calcsize("<" + form)
        return found

    def u8(self) -> int:
        """One byte."""
        return self.numbers("B")[0]

    def u32(self) -> int:
        """A number of 32 bits."""
        return self.numbers("I")[0]

    def u64(self) -> int:
        """A number of 64 bits."""
        return self.numbers("Q")[0]

    def bytes(self) -> bytes:
        """A text, as bytes."""
        size = self.u32()
        self._at += size
        if self._at > len(self._data):
            raise IndexError("a text ends behind its frame")
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        """A text; bytes that are not UTF-8 become marks."""
        return self.bytes().decode("utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class ChannelFrame:
    """A frame.

    Attributes:
        operation: What it says.
        tag: Which call or command it is of.
        body: Its payload.
    """

    operation: Operation
    tag: int
    body: bytes = b""

    def encode(self) -> bytes:
        """As it travels."""
        return _HEAD.pack(len(self.body), self.operation, self.tag) + self.body


def text(value: str | bytes) -> bytes:
    """A text in a payload."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


def receive(connection: socket.socket) -> ChannelFrame | None:
    """The next frame; None where the other side has closed.

    Raises:
        ValueError: It says what no frame says.
    """
    head = _exactly(connection, _HEAD.size)
    if head is None:
        return None
    size, operation, tag = _HEAD.unpack(head)
    body = _exactly(connection, size)
    return None if body is None else ChannelFrame(Operation(operation), tag, body)


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return bytes(data)
