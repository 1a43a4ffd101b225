# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The ends of streams between slots, of all slots of a shell that has such streams."""

from __future__ import annotations

from dataclasses import dataclass

from eddy_drivers.bank import Bank
from eddy_drivers.regs import stream_port as regs

STRIDE = 64
"""Bytes of a slot's block."""


@dataclass(frozen=True)
class StreamCounts:
    """What an end has counted since it was set: words of 8 bytes, and cycles of the shell's clock it waited."""

    sent: int
    received: int
    send_stalls: int
    receive_stalls: int


class StreamPorts(Bank):
    """Driver of the streams' bank (hw/regs/stream_port.rdl, one block a slot)."""

    bindto = ["eddy:ip:stream_port:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED05

    def send(self, slot: int, to: int, key: int, first_page: int, last_page: int) -> None:
        """Have what a slot writes into these pages go to another slot."""
        self._write(slot, regs.SEND_FIRST.offset, first_page)
        self._write(slot, regs.SEND_LAST.offset, last_page)
        self._write(slot, regs.SEND.offset, regs.SEND.encode(open=1, to=to, key=key))

    def receive(self, slot: int, source: int, key: int, first_page: int, last_page: int) -> None:
        """Have what a slot reads of these pages come from another slot; before that one's end is set."""
        self._write(slot, regs.RECEIVE_FIRST.offset, first_page)
        self._write(slot, regs.RECEIVE_LAST.offset, last_page)
        word = regs.RECEIVE.encode(**{"open": 1, "from": source, "key": key})
        self._write(slot, regs.RECEIVE.offset, word)

    def end_sending(self, slot: int) -> None:
        """A slot has sent all it will."""
        self._write(slot, regs.END.offset, regs.END.encode(end=1))

    def stop_sending(self, slot: int) -> None:
        """Nothing a slot writes goes to another; its reader's reads are answered with errors unless it had ended."""
        self._write(slot, regs.SEND.offset, 0)

    def stop_receiving(self, slot: int) -> None:
        """Nothing a slot reads comes from another; what its sender still sends is dropped."""
        self._write(slot, regs.RECEIVE.offset, 0)

    def state(self, slot: int) -> dict[str, int]:
        """Whether ends are connected, and what became of them, by the names of STATE's fields."""
        return regs.STATE.decode(self._get(slot * STRIDE + regs.STATE.offset))

    def counts(self, slot: int) -> StreamCounts:
        """What both ends of a slot have counted."""
        found = (regs.SENT, regs.RECEIVED, regs.SEND_STALLS, regs.RECEIVE_STALLS)
        return StreamCounts(*(self._get(slot * STRIDE + register.offset) for register in found))

    def _write(self, slot: int, offset: int, word: int) -> None:
        self._put(slot * STRIDE + offset, word)
