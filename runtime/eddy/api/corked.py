"""A transport that sends what is written in one turn of the event loop together: the head of an answer with its body.

Every send is a system call, and with a busy thread beside the event loop each of them gives the interpreter away and
has to wait for it again.
"""

from __future__ import annotations

import asyncio
from typing import Any

MOST_BYTES = 1 << 16
"""Bytes that wait for the end of the turn; more are sent at once."""


class Corked(asyncio.Transport):
    """A transport around another.

    Args:
        transport: Where everything goes.
        loop: Whose turns are meant.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._held_bytes = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send it, at the end of this turn at the latest."""
        if not data:
            return
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(bytes(data))
        self._held_bytes += len(data)
        if self._held_bytes > MOST_BYTES:
            self.flush()

    def write_now(self, data: bytes) -> None:
        """Send it at once, behind what was written before."""
        self.flush()
        self._transport.write(data)

    def flush(self) -> None:
        """Send what was written."""
        if self._held:
            held, self._held, self._held_bytes = self._held, [], 0
            if not self._transport.is_closing():
                self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def close(self) -> None:
        """Send what was written, then close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._held.clear()
        self._transport.abort()

    def get_write_buffer_size(self) -> int:
        """Bytes that were written and not sent."""
        return self._held_bytes + self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As the other one has it."""
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._transport.is_closing()

    def is_reading(self) -> bool:
        """Whether it reads."""
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        """Read no more."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When to say that enough was written."""
        self._transport.set_write_buffer_limits(high, low)
