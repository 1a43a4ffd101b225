"""What is written in one turn of the event loop is sent together, in order, and nothing of it is lost."""

from __future__ import annotations

import asyncio

from eddy.api.corked import MOST_BYTES, Corked


class Wire(asyncio.Transport):
    """Keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def get_write_buffer_size(self) -> int:
        return 7


def test_a_head_and_a_body_of_one_turn_are_one_send() -> None:
    async def turn() -> list[bytes]:
        wire = Wire()
        corked = Corked(wire, asyncio.get_running_loop())
        corked.write(b"head")
        corked.write(b"")
        corked.write(bytearray(b"body"))
        assert wire.sent == []
        assert corked.get_write_buffer_size() == 7 + len(b"headbody")
        await asyncio.sleep(0)
        corked.write(b"next")
        await asyncio.sleep(0)
        return wire.sent

    assert asyncio.run(turn()) == [b"headbody", b"next"]


def test_much_is_sent_at_once_and_closing_sends_what_waits() -> None:
    async def turn() -> tuple[list[bytes], str]:
        wire = Wire()
        corked = Corked(wire, asyncio.get_running_loop())
        corked.write(b"a" * (MOST_BYTES + 1))
        assert len(wire.sent) == 1
        corked.write(b"last")
        corked.close()
        return wire.sent[1:], wire.ended

    assert asyncio.run(turn()) == ([b"last"], "closed")


def test_abort_sends_nothing_more() -> None:
    async def turn() -> tuple[list[bytes], str]:
        wire = Wire()
        corked = Corked(wire, asyncio.get_running_loop())
        corked.write(b"never")
        corked.abort()
        await asyncio.sleep(0)
        return wire.sent, wire.ended

    assert asyncio.run(turn()) == ([], "aborted")
