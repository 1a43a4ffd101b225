# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The configuration engine: takes an image from memory to the fabric's configuration port."""

from __future__ import annotations

from dataclasses import dataclass

from eddy_drivers.bank import Bank
from eddy_drivers.regs import icap_engine as regs
from eddy_drivers.regs.icap_engine import Cause

PAGE = 4096
PLACE = 128
"""Images begin at multiples of so many bytes."""
WORD = 4
_RATE_ONE = 1 << 16
"""What the regulator calls a byte a cycle."""
_IDLE_READS = 1000
"""Reads of STATUS within which memory gives what it owes, four bursts at most; a read takes several cycles."""


@dataclass(frozen=True)
class EngineStatus:
    """What the engine says of the last load.

    Attributes:
        busy: It is under way.
        ended: One ended since the last was begun.
        cause: Why it ended badly; `NONE` where it did not.
        left: Words of the image that were not written.
        said: What the port said in the last abort sequence, O[7:4].
    """

    busy: bool
    ended: bool
    cause: Cause
    left: int
    said: int


class IcapEngine(Bank):
    """Driver of the engine's bank (hw/regs/icap_engine.rdl)."""

    bindto = ["eddy:ip:icap_engine:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED04

    def set_rate(self, bytes_per_cycle: float) -> None:
        """Bound what it reads of memory, in bytes a shell-clock cycle."""
        rate = round(bytes_per_cycle * _RATE_ONE)
        self._put(regs.REGULATOR_RATE.offset, regs.REGULATOR_RATE.encode(rate=rate, enable=1))

    def begin(self, address: int, length: int, crc: int) -> None:
        """Begin to load an image that lies in memory as it goes to the port: words of 32 bits, low byte first.

        Waits for what memory owes to a load that was ended early; where that does not come the engine refuses this one
        (`BAD_REQUEST`). Nothing outside its pages is read. What came of it `status` says.

        Args:
            address: Physical address, a multiple of `PLACE`.
            length: Bytes, a multiple of `WORD`.
            crc: CRC-32 of these bytes, as zlib's.

        Raises:
            ValueError: Address or length is no such multiple, or more than the registers hold.
        """
        if address % PLACE or length % WORD:
            raise ValueError(f"an image at {address:#x} of {length} bytes; it must lie at {PLACE}, in words of {WORD}")
        last = max(address, address + length - 1)
        for _ in range(_IDLE_READS):
            if self._fields(regs.STATUS)["memory_idle"]:
                break
        self._put(regs.MODE.offset, regs.MODE.encode(compressed=0, rehearse=0))
        self._put(regs.SOURCE.offset, regs.SOURCE.encode(place=address // PLACE))
        self._put(regs.SOURCE_WORDS.offset, regs.SOURCE_WORDS.encode(words=length // WORD))
        self._put(regs.IMAGE_WORDS.offset, regs.IMAGE_WORDS.encode(words=length // WORD))
        self._put(regs.CRC.offset, regs.CRC.encode(crc=crc))
        self._put(regs.WINDOW_FIRST.offset, regs.WINDOW_FIRST.encode(page=address // PAGE))
        self._put(regs.WINDOW_LAST.offset, regs.WINDOW_LAST.encode(page=last // PAGE))
        self._put(regs.STATUS.offset, regs.STATUS.encode(ended=1))
        self._put(regs.CONTROL.offset, regs.CONTROL.encode(start=1))

    def abort(self) -> None:
        """End the load under way, if one is; the port is then closed."""
        self._put(regs.CONTROL.offset, regs.CONTROL.encode(abort=1))

    def close_window(self) -> None:
        """Let it read nothing any more."""
        self._put(regs.WINDOW_LAST.offset, regs.WINDOW_LAST.encode(page=0))
        self._put(regs.WINDOW_FIRST.offset, regs.WINDOW_FIRST.reset)

    def ended(self) -> bool:
        """Whether the load that was begun last has ended."""
        found = self._fields(regs.STATUS)
        return bool(found["ended"]) and not found["busy"]

    def status(self) -> EngineStatus:
        """What came of it."""
        found = self._fields(regs.STATUS)
        left = self._fields(regs.LEFT)["words"]
        return EngineStatus(bool(found["busy"]), bool(found["ended"]), Cause(found["cause"]), left, found["said"])
