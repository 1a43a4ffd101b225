# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Accesses of warps to the data cache: what one is, random ones, and what they do to memory."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

LINE = 64
LOCAL = 0xFFFF0000
OWN, SHARED, WALKED, BAD = 0x80000000, 0x90000000, 0x9FFFE000, 0xA0000000
"""Lines that the core alone writes, those that its neighbour writes, pages that are walked in steps up to those that
memory refuses."""
PAGE = 4096
IO_LINES, SHARED_LINES = 4, 2
THREADS, LOCAL_BYTES = int(os.environ["DCACHE_THREADS"]), int(os.environ["DCACHE_LOCAL"])
BANKS = max(2, 1 << (THREADS - 1).bit_length())
"""Words of a line that are served in one cycle, if each lies in a bank of its own."""

COUNTED = 0xB0000000
"""Lines that the neighbour changes as well, under the same locks."""
LOAD, STORE, FENCE, ATOMIC = range(4)
SWAP, ADD, XOR, AND, OR, MIN, MAX, MINU, MAXU, CAS = 1, 0, 4, 12, 8, 16, 20, 24, 28, 5
OPERATIONS = (SWAP, ADD, XOR, AND, OR, MIN, MAX, MINU, MAXU, CAS)
"""funct5."""
SIZES = (0, 1, 2, 4, 5)
"""funct3 of lb, lh, lw, lbu, lhu."""


@dataclass
class Access:
    """One access of a warp: what each lane addresses, and what it stores or may load.

    Of a fence: how many stores and reads were before it, and what the neighbour's bytes have been since. Of an atomic
    access: its operation and ordering, what it compares with, the lanes it still has to lock, as they are served
    together, and what each lane read, and that its answer is there.
    """

    kind: int
    size: int
    mask: int
    tag: int
    address: list[int]
    data: list[int]
    left: int = 0
    allowed: dict[int, set[int]] = field(default_factory=dict)
    before: int = 0
    reads: int = 0
    since: dict[int, set[int]] = field(default_factory=dict)
    operation: int = ADD
    acquire: bool = False
    release: bool = False
    compare: list[int] = field(default_factory=lambda: [0] * THREADS)
    groups: list[list[int]] = field(default_factory=list)
    old: dict[int, int] = field(default_factory=dict)
    ended: bool = False

    @property
    def width(self) -> int:
        return 1 << (self.size & 3)

    def lanes(self) -> list[int]:
        return [t for t in range(THREADS) if self.mask >> t & 1]


def part(address: int) -> int:
    """Which part of its line a word lies in; each has a word in every bank."""
    return address // 4 % 16 // BANKS


def bank(address: int) -> int:
    """Where a word lies: words of a line go around the banks, and begin at another one each time."""
    around = part(address)
    return address // 4 % BANKS ^ (around.bit_count() % 2 if BANKS == 2 else around)


def together(access: Access) -> list[list[int]]:
    """Lanes that are served in one cycle, group by group.

    The lowest lane that is left decides on the line, and the lowest of each bank on the bank's part of it: served are
    lanes of that line whose words lie there.
    """
    found, left = [], access.lanes()
    while left:
        line = access.address[left[0]] // LINE
        parts: dict[int, int] = {}
        for t in left:
            parts.setdefault(bank(access.address[t]), part(access.address[t]))
        wanted = [t for t in left if parts[bank(access.address[t])] == part(access.address[t])]
        found.append([t for t in wanted if access.address[t] // LINE == line])
        left = [t for t in left if t not in found[-1]]
    return found


def combined(operation: int, old: int, operand: int, expected: int) -> int | None:
    """What an atomic operation makes of a word; None where it leaves it."""

    def signed(value: int) -> int:
        return value - (1 << 32) if value >> 31 else value

    made = {
        **{ADD: (old + operand) & 0xFFFFFFFF, SWAP: operand, XOR: old ^ operand, AND: old & operand, OR: old | operand},
        **{MIN: min(old, operand, key=signed), MAX: max(old, operand, key=signed)},
        **{MINU: min(old, operand), MAXU: max(old, operand)},
    }
    return made[operation] if operation != CAS else operand if old == expected else None


def extended(raw: bytes, size: int) -> int:
    return int.from_bytes(raw, "little", signed=size < 2) & 0xFFFFFFFF


def shared(address: int) -> bool:
    return SHARED <= address < SHARED + PAGE


def refused(line: int) -> bool:
    return BAD <= line * LINE < BAD + PAGE


def is_local(address: int) -> bool:
    return LOCAL <= address < LOCAL + LOCAL_BYTES


class Bytes(dict[int, int]):
    """Memory: zero where never written."""

    def __missing__(self, address: int) -> int:
        return 0

    def take(self, address: int, size: int) -> bytes:
        return bytes(self[address + k] for k in range(size))

    def word(self, address: int) -> int:
        return int.from_bytes(self.take(address, 4), "little")

    def put(self, address: int, data: bytes) -> None:
        for k, value in enumerate(data):
            self[address + k] = value


class Draws:
    """Random accesses of a core.

    Args:
        rng: Where chance comes from.
        memory: What an atomic access compares with, mostly.
    """

    def __init__(self, rng: random.Random, memory: Bytes) -> None:
        self.random, self.memory = rng, memory
        self.tag = 0
        self.walk, self.step_bytes = WALKED, LINE
        self.focus = self.place()

    def draw(self) -> Access:
        rng = self.random
        if rng.random() < 0.3:
            return self.walked()
        if rng.random() < 0.15:
            return self.atomic()
        kind = rng.choices((LOAD, STORE, FENCE), (61, 36, 3))[0]
        size = rng.choice(SIZES) if kind == LOAD else rng.choice((0, 1, 2))
        width = 1 << (size & 3)
        base, first, span = self.place() if rng.random() < 0.08 else self.focus
        if base == SHARED and kind == STORE:
            base = OWN
        if rng.random() < 0.02:
            self.focus = self.place()
        together = rng.random() < 0.5
        start = rng.randrange(span)
        address = [
            base + first + ((start + t * width if together else rng.randrange(span)) % span & -width)
            for t in range(THREADS)
        ]
        data = [rng.getrandbits(32) for _ in range(THREADS)]
        return self.access(kind, size, address, data)

    def access(self, kind: int, size: int, address: list[int], data: list[int]) -> Access:
        self.tag = (self.tag + 1) % 256
        return Access(kind, size, self.random.randrange(1, 1 << THREADS), self.tag, address, data)

    def atomic(self) -> Access:
        """An atomic access to few words, of one region or of several."""
        rng = self.random
        bases = [rng.choices((OWN, LOCAL, COUNTED, BAD), (30, 25, 40, 2))[0] for _ in range(THREADS)]
        if rng.random() < 0.8:
            bases = bases[:1] * THREADS
        words = rng.choice((1, 2, 4, LINE // 4, 2 * LINE // 4))
        address = [base + 4 * rng.randrange(min(words, LOCAL_BYTES // 4)) for base in bases]
        data = [rng.choice((rng.getrandbits(32), rng.randrange(4))) for _ in range(THREADS)]
        access = self.access(ATOMIC, 2, address, data)
        access.operation = rng.choice(OPERATIONS)
        access.acquire, access.release = rng.random() < 0.1, rng.random() < 0.1
        access.compare = [self.memory.word(at) if rng.random() < 0.7 else 5 for at in address]
        return access

    def walked(self) -> Access:
        """A load, sometimes a store, on a walk in equal steps up to the refused page, and again."""
        first = self.walk
        self.walk += self.step_bytes
        if self.walk >= BAD:
            self.walk, self.step_bytes = WALKED, LINE * self.random.choice((1, 1, 2, 3))
        kind = STORE if self.random.random() < 0.2 else LOAD
        address = [first + 4 * t % LINE for t in range(THREADS)]
        return self.access(kind, 2, address, [self.random.getrandbits(32) for _ in range(THREADS)])

    def place(self) -> tuple[int, int, int]:
        """A region, and some lines of it: first byte and size."""
        base = self.random.choices((OWN, LOCAL, SHARED, 0, BAD), (36, 14, 30, 12, 8))[0]
        lines = {LOCAL: LOCAL_BYTES // LINE, 0: IO_LINES, SHARED: SHARED_LINES}.get(base, 8)
        first = self.random.randrange(lines)
        return base, first * LINE, min(self.random.choice((1, 1, 2, 8)), lines - first) * LINE
