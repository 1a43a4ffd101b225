# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Modules that say that they are done and are not: every way of it that AXI allows, and a victim to harm.

The liar asks only for what its item was granted. So no window stops it: it is stopped where memory changes hands, or
not at all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from contract.fake_fabric import MARK
from contract.harness import Harness, marking
from eddy.board.port.port import Access, BoardEvent, Buffer
from eddy_sim.boards.faults import LIE, DoneClaim, Liar, LoadFault
from eddy_sim.design import build

SECRET = (0x5EC2_E75E_C2E7_5EC2).to_bytes(8, "little")
BYTES = 8192
AFTER_S = 3e-4
"""Board time in which a liar may do its worst: several times what the firewall lets a burst be held up."""

_READ, _WRITE, _BOTH = Liar(reads=True), Liar(writes=True), Liar(reads=True, writes=True)
_LONG: dict[str, Any] = {"len": 255, "outstanding": 8}
_EVERYTHING: dict[str, Any] = {"len": 15, "outstanding": 8, "contexts": 16, "ids": 16}

MODES: dict[str, Liar] = {
    "read-one-late": replace(_READ, delay=150, total=1),
    "read-long": replace(_READ, **_LONG),
    "read-long-asked": replace(_READ, **_LONG, when=DoneClaim.ASKED),
    "read-long-answered": replace(_READ, **_LONG, when=DoneClaim.ANSWERED),
    "read-long-few": replace(_READ, **_LONG, total=8, when=DoneClaim.ASKED),
    "read-short-many": replace(_READ, outstanding=16, when=DoneClaim.ANSWERED),
    "read-narrow": replace(_READ, len=255, size=0, outstanding=8),
    "read-half": replace(_READ, len=63, size=1, outstanding=4, when=DoneClaim.ASKED),
    "read-word": replace(_READ, len=31, size=2, outstanding=4, delay=100),
    "read-fixed": replace(_READ, len=15, burst=0, outstanding=8),
    "read-wrap": replace(_READ, len=15, burst=2, outstanding=8, when=DoneClaim.ASKED),
    "read-held": replace(_READ, len=15, hold_r=40, outstanding=4, when=DoneClaim.ANSWERED),
    "read-held-long": replace(_READ, len=255, hold_r=300, outstanding=8, when=DoneClaim.ASKED),
    "read-stuck": replace(_READ, len=255, hold_r=1_000_000, outstanding=8, when=DoneClaim.ASKED),
    "read-paused": replace(_READ, len=7, pause=60, when=DoneClaim.ANSWERED),
    "read-contexts": replace(_READ, **_EVERYTHING),
    "read-delay-80": replace(_READ, **_LONG, delay=80),
    "read-delay-200": replace(_READ, **_LONG, delay=200),
    "read-delay-400": replace(_READ, **_LONG, delay=400),
    "read-delay-2000": replace(_READ, **_LONG, delay=2000),
    "write-one-late": replace(_WRITE, delay=150, total=1),
    "write-long": replace(_WRITE, **_LONG),
    "write-long-asked": replace(_WRITE, **_LONG, when=DoneClaim.ASKED),
    "write-long-answered": replace(_WRITE, **_LONG, when=DoneClaim.ANSWERED),
    "write-long-few": replace(_WRITE, **_LONG, total=8, when=DoneClaim.ASKED),
    "write-short-many": replace(_WRITE, outstanding=16, when=DoneClaim.ANSWERED),
    "write-narrow": replace(_WRITE, len=255, size=0, outstanding=8),
    "write-half": replace(_WRITE, len=63, size=1, outstanding=4, when=DoneClaim.ASKED),
    "write-word": replace(_WRITE, len=31, size=2, outstanding=4, delay=100),
    "write-fixed": replace(_WRITE, len=15, burst=0, outstanding=8),
    "write-wrap": replace(_WRITE, len=15, burst=2, outstanding=8, when=DoneClaim.ASKED),
    "write-held": replace(_WRITE, len=15, hold_w=40, outstanding=4, when=DoneClaim.ASKED),
    "write-held-long": replace(_WRITE, len=15, hold_w=200, outstanding=8, when=DoneClaim.ASKED),
    "write-held-near-the-bound": replace(_WRITE, len=1, hold_w=1500, outstanding=8, when=DoneClaim.ASKED),
    "write-stuck": replace(_WRITE, len=15, hold_w=1_000_000, outstanding=8, when=DoneClaim.ASKED),
    "write-answer-held": replace(_WRITE, len=3, hold_b=700, outstanding=8, when=DoneClaim.ASKED),
    "write-answer-stuck": replace(_WRITE, len=3, hold_b=1_000_000, outstanding=8, when=DoneClaim.ASKED),
    "write-paused": replace(_WRITE, len=7, pause=60, when=DoneClaim.ANSWERED),
    "write-contexts": replace(_WRITE, **_EVERYTHING),
    "write-delay-80": replace(_WRITE, **_LONG, delay=80),
    "write-delay-200": replace(_WRITE, **_LONG, delay=200),
    "write-delay-400": replace(_WRITE, **_LONG, delay=400),
    "write-delay-2000": replace(_WRITE, **_LONG, delay=2000),
    "both-long": replace(_BOTH, **_LONG),
    "both-held": replace(_BOTH, len=15, hold_w=100, hold_r=100, hold_b=100, outstanding=8, when=DoneClaim.ASKED),
    "both-contexts": replace(_BOTH, **_EVERYTHING, when=DoneClaim.ANSWERED),
    "both-delay-300": replace(_BOTH, len=127, outstanding=8, ids=4, delay=300),
    "both-stuck": replace(_BOTH, len=15, hold_w=4000, hold_r=4000, outstanding=8, when=DoneClaim.ASKED),
}
"""By name; each is a different lie."""


class PatternCounter:
    """What liars read: counts the words of a pattern that come to any of them."""

    def __init__(self) -> None:
        # The same shared object as the board loads, and so the same count.
        self._library = ctypes.CDLL(str(build.build_liar()))
        self._library.liar_seen.restype = ctypes.c_uint64

    def watch(self) -> None:
        """Count from zero."""
        self._library.liar_watch(ctypes.c_uint64(int.from_bytes(SECRET, "little")))

    def seen(self) -> int:
        """How many words of `SECRET` were read."""
        return int(self._library.liar_seen())


@dataclass(frozen=True)
class Harm:
    """What a lie did to somebody else.

    Attributes:
        read: Words read.
        written: Words written.
        wrong: Whether the victim's job went wrong.
        same: Whether the victim's memory was the liar's before.
    """

    read: int
    written: int
    wrong: bool
    same: bool


def attack(harness: Harness, lie: Liar, eyes: PatternCounter) -> tuple[BoardEvent, Harm]:
    """A liar's item ends, its memory goes to somebody else at once, whose job runs in slot 1; what did the liar do?"""
    mine = begin(harness, lie)
    end = harness.next_event()
    return end, hand_on(harness, mine, eyes)


def begin(harness: Harness, lie: Liar) -> Buffer:
    """Load a liar into slot 0 and start it on a buffer of its own."""
    board = harness.board
    harness.misload(0, LoadFault(liar=lie))
    board.load(0, harness.image(0).sha256)
    assert harness.next_event().image
    mine = board.allocate(BYTES, "liar")
    board.launch(0, marking(mine, "lie", 5e-4, Access.READ_WRITE))
    return mine


def hand_on(harness: Harness, mine: Buffer, eyes: PatternCounter) -> Harm:
    """Free a buffer and give it to somebody else at once, whose job runs in slot 1."""
    harness.board.free(mine.id)
    return _victim(harness, eyes, mine)


def _victim(harness: Harness, eyes: PatternCounter, before: Buffer) -> Harm:
    board = harness.board
    victim = board.allocate(BYTES, "victim")
    eyes.watch()
    board.write(victim.id, 0, SECRET * (BYTES // 8))
    board.launch(1, marking(victim, "right", access=Access.READ_WRITE))
    own = next(event for event in _events(harness) if event.item == "right")
    board.wait(board.now_s() + AFTER_S)
    found = board.read(victim.id, 0, BYTES)
    expected = MARK + SECRET * (BYTES // 8 - 1)
    words = [found[at : at + 8] for at in range(0, BYTES, 8)]
    written = sum(word != expected[at * 8 : at * 8 + 8] for at, word in enumerate(words))
    board.free(victim.id)
    wrong = own.cause.value != "none" or found != expected
    return Harm(eyes.seen(), written, wrong, victim.address == before.address)


def _events(harness: Harness) -> Iterator[BoardEvent]:
    for _ in range(10):
        yield harness.next_event()


__all__ = ["AFTER_S", "BYTES", "LIE", "MODES", "SECRET", "Harm", "PatternCounter", "attack", "begin", "hand_on"]
