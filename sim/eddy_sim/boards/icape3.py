# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A model of the fabric's configuration port as UG570 and UG974 describe it, which knows nothing of the engine.

It samples its pins at every rising edge, puts the bits of each byte the right way round again, and follows packets
as far as the port's status lines go: PRDONE falls at an image's first data and rises at a DESYNC command alone, so it
stays low after a load that went wrong; PRERROR stays high until a command RCRC. The synchronisation word stands for
these, which the images here do not have. RDWRB that changes while CSIB stays low is an abort sequence. What a device's
user must not do is an assertion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SYNC = 0xAA995566
WRITE_CMD, DESYNC = 0x30008001, 0x0000000D
LATENCY = 3
"""Cycles from a word to the status lines."""
ABORT_CYCLES = 4
GRACE = 2
"""Cycles for which a word may be under way after AVAIL has fallen."""


def swap(word: int) -> int:
    """The bits of each byte the other way round."""
    data = word.to_bytes(4, "big")
    return int.from_bytes(bytes(int(f"{byte:08b}"[::-1], 2) for byte in data), "big")


@dataclass
class Icape3:
    """The port; `edge` is one rising edge of its clock.

    Attributes:
        refuses: PRERROR rises when so many words were taken.
        deaf: It never sees the synchronisation word.
        ends: It reports the end of a load.
        avail: The port is at the fabric's disposal.
    """

    refuses: int | None = None
    deaf: bool = False
    ends: bool = True
    avail: bool = True
    prdone: bool = True
    prerror: bool = False
    synced: bool = False
    words: list[int] = field(default_factory=list)
    aborts: int = 0
    _before: tuple[int, int] = (1, 1)
    _reading: int = 0
    _lost: int = 0
    _last: int = 0
    _coming: list[tuple[int, str, bool]] = field(default_factory=list)

    def edge(self, csib: int, rdwrb: int, word: int) -> None:
        """One rising edge, with the pins as they were before it."""
        self._coming = [(left - 1, name, value) for left, name, value in self._coming]
        for left, name, value in self._coming:
            if left == 0:
                setattr(self, name, value)
        self._coming = [each for each in self._coming if each[0] > 0]
        self._lost = 0 if self.avail else self._lost + 1
        was_csib, was_rdwrb = self._before
        if csib == 0 and was_csib == 0 and rdwrb != was_rdwrb:
            assert rdwrb == 1, "RDWRB fell while CSIB was low"
            self._reading = 1
        elif self._reading and csib == 0:
            self._reading += 1
        elif self._reading:
            assert self._reading == ABORT_CYCLES, f"an abort sequence of {self._reading} cycles"
            self._reading = 0
            self.aborts += 1
            self.synced = False
        else:
            assert csib == 1 or rdwrb == 0, "CSIB is low for a read that is no abort"
        if csib == 0 and rdwrb == 0:
            self._write(swap(word))
        self._before = (csib, rdwrb)

    def _write(self, word: int) -> None:
        assert self._lost <= GRACE, "a word for a port that is not available"
        self.words.append(word)
        if word == SYNC and not self.deaf:
            self.synced = True
            self._coming += [(LATENCY, "prdone", False), (LATENCY, "prerror", False)]
        if self.synced and self.refuses is not None and len(self.words) >= self.refuses:
            self._coming.append((LATENCY, "prerror", True))
        if self.synced and self._last == WRITE_CMD and word == DESYNC:
            self.synced = False
            if self.ends:
                self._coming.append((LATENCY, "prdone", True))
        self._last = word

    def clear_faults(self) -> None:
        """Whatever was wrong with the device is not any more; its lines stay as they are."""
        self.refuses, self.deaf, self.ends, self.avail, self.synced = None, False, True, True, False
        self.words = []

    @property
    def o(self) -> int:
        """The status byte: no configuration error, synchronised, reading back, no abort (UG909)."""
        return (not self.prerror) << 7 | self.synced << 6 | (not self._reading) << 4 | 0xB
