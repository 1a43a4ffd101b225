# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a cache between slots and memory may answer: bursts, a memory that answers when it likes, what was true when.

Nothing here knows how the cache works. A word read must be one that memory held at some time between the acceptance of
the read and its answer; after the CPU changed memory behind the cache's back, also what it held before, until a flush
that was started after the change is over.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

FIXED, INCR, WRAP, RESERVED = range(4)
OKAY, SLVERR, DECERR = 0, 2, 3
DEVICE, NORMAL, ALLOCATE = 0b0000, 0b0011, 0b1111
PAGE, LINE, WORD = 4096, 64, 8
SHIFTS = {"id": 68, "addr": 28, "len": 20, "size": 17, "burst": 15, "cache": 11, "prot": 8, "qos": 4, "user": 0}
WIDTHS = {"id": 4, "addr": 40, "len": 8, "size": 3, "burst": 2, "cache": 4, "prot": 3, "qos": 4, "user": 4}


@dataclass(frozen=True)
class Burst:
    """A request, field by field (eddy_pkg::ax_t), and whose it is."""

    slot: int
    id: int
    addr: int
    len: int
    size: int = 3
    burst: int = INCR
    cache: int = NORMAL
    prot: int = 0
    qos: int = 0
    user: int = 0

    @property
    def key(self) -> int:
        """The whole id: answers to one key come in order."""
        return self.slot << 4 | self.id

    def pack(self) -> int:
        return sum(getattr(self, name) << shift for name, shift in SHIFTS.items())

    @staticmethod
    def unpack(slot: int, word: int) -> Burst:
        return Burst(slot, **{name: word >> SHIFTS[name] & (1 << width) - 1 for name, width in WIDTHS.items()})

    def words(self) -> list[int]:
        """Number of the 8-byte word each beat lies in (IHI 0022, A3.4.1)."""
        step = 1 << self.size
        aligned = self.addr // step * step
        if self.burst == FIXED:
            return [self.addr // WORD] * (self.len + 1)
        linear = [self.addr, *(aligned + n * step for n in range(1, self.len + 1))]
        if self.burst == WRAP:
            extent = step * (self.len + 1)
            low = self.addr // extent * extent
            linear = [low + (address - low) % extent for address in linear]
        return [address // WORD for address in linear]

    def legal(self) -> bool:
        if self.size > 3 or self.burst == RESERVED:
            return False
        if self.burst == WRAP:
            return self.len in (1, 3, 7, 15) and self.addr % (1 << self.size) == 0
        return len({word * WORD // PAGE for word in self.words()}) == 1


def random_burst(
    rng: random.Random, pages: int, slots: int, lengths: tuple[int, ...], lines: tuple[int, ...] = ()
) -> Burst:
    """A legal burst of any kind, mostly wide and incrementing; beginning in one of these lines, where any are given."""
    while True:
        size = rng.choice((3, 3, 3, 3, 2, 1, 0))
        kind = rng.choice((INCR, INCR, INCR, INCR, WRAP, FIXED))
        length = rng.choice((1, 3, 7, 15)) if kind == WRAP else rng.choice(lengths) - 1
        address = rng.choice(lines) * LINE + rng.randrange(LINE) if lines else rng.randrange(pages * PAGE)
        if kind == WRAP or rng.random() < 0.7:
            address = address >> size << size
        fields = {name: rng.getrandbits(WIDTHS[name]) for name in ("prot", "qos", "user")}
        burst = Burst(rng.randrange(slots), rng.randrange(2), address, length, size, kind, **fields)
        if burst.legal() and (kind != FIXED or length <= 15):
            return burst


@dataclass
class Version:
    """What a word held, and from when until when it may be read."""

    value: int
    since: int
    until: float = float("inf")


@dataclass
class History:
    """Every value of every word, with times in cycles."""

    versions: dict[int, list[Version]] = field(default_factory=dict)
    behind: list[tuple[int, int, Version]] = field(default_factory=list)
    """Changes by the CPU that no flush has covered: time, word, what it replaced."""
    fresh: int = 0

    def now(self, word: int) -> int:
        return self._of(word)[-1].value

    def _of(self, word: int) -> list[Version]:
        return self.versions.setdefault(word, [Version(0x1000_0000_0000 | word << 12, -1)])

    def write(self, word: int, time: int, behind: bool = False) -> None:
        """A new value, unlike any before; `behind` the cache's back where the CPU writes it."""
        self.fresh += 1
        last = self._of(word)[-1]
        if behind:
            self.behind.append((time, word, last))
        else:
            last.until = time
        self.versions[word].append(Version(self.fresh << 32 | word << 12, time))

    def flushed(self, first: int, last: int, started: int, done: int) -> None:
        """A flush of pages is over: what the CPU had replaced before it is gone."""
        kept = []
        for time, word, version in self.behind:
            if time <= started and first <= word * WORD // PAGE <= last:
                version.until = done
            else:
                kept.append((time, word, version))
        self.behind = kept

    def index(self, word: int, value: int, asked: int, answered: int) -> int:
        """Which version a read saw.

        Raises:
            AssertionError: None that it may have seen.
        """
        found = [n for n, v in enumerate(self._of(word)) if v.value == value]
        assert found, f"word {word:#x}: {value:#x} was never there"
        version = self.versions[word][found[0]]
        when = f"from {version.since} to {version.until}, read from {asked} to {answered}"
        assert version.since <= answered, f"word {word:#x}: {value:#x} was there {when}"
        assert version.until >= asked, f"word {word:#x}: {value:#x} was there {when}"
        return found[0]


@dataclass
class PendingRead:
    """A read in memory's hands: sampled at one instant, delivered beat by beat."""

    burst: Burst
    data: list[int] | None = None
    sent: int = 0


@dataclass
class PendingWrite:
    """A write in memory's hands."""

    burst: Burst
    performed: bool = False


class Memory:
    """Performs and answers in any order that AXI allows, with errors at some words.

    Args:
        rng: Decides when.
        history: Told what changes.
        bad: Words that answer with an error, and which.
        speed: How likely each of its steps is, from 0 to 1, in a cycle.
    """

    def __init__(self, rng: random.Random, history: History, bad: dict[int, int], speed: float) -> None:
        self.rng, self.history, self.bad, self.speed = rng, history, bad, speed
        self.reads: list[PendingRead] = []
        self.writes: list[PendingWrite] = []
        self.asked: list[Burst] = []
        self.write_speed = speed
        self.refuse_writes = 0.0
        self.in_order = False

    def accept_read(self, burst: Burst) -> None:
        self.asked.append(burst)
        self.reads.append(PendingRead(burst))

    def _first_of_id(self, pending: list[PendingRead] | list[PendingWrite]) -> Iterator[PendingRead | PendingWrite]:
        seen = set()
        for entry in pending:
            if entry.burst.key not in seen:
                yield entry
            seen.add(entry.burst.key)

    def step(self, time: int) -> tuple[tuple[int, int, int, bool] | None, int | None]:
        """One cycle: a read beat (key, data, response, last) and a write's key, where there are any."""
        for write in self.writes:
            if not write.performed and self.rng.random() < self.write_speed:
                write.performed = True
                if self.rng.random() >= self.refuse_writes:
                    for word in write.burst.words():
                        self.history.write(word, time)
        for read in self.reads:
            if read.data is None and self.rng.random() < self.speed:
                read.data = [self.history.now(word) for word in read.burst.words()]
        return self._beat(), self._answer()

    def _beat(self) -> tuple[int, int, int, bool] | None:
        ready = [r for r in self._first_of_id(self.reads) if isinstance(r, PendingRead) and r.data is not None]
        if not ready or self.rng.random() >= self.speed:
            return None
        read = ready[0] if self.in_order else self.rng.choice(ready)
        assert read.data is not None
        word = read.burst.words()[read.sent]
        beat = (read.burst.key, read.data[read.sent], self.bad.get(word, OKAY), read.sent == read.burst.len)
        read.sent += 1
        if beat[3]:
            self.reads.remove(read)
        return beat

    def _answer(self) -> int | None:
        ready = [w for w in self._first_of_id(self.writes) if isinstance(w, PendingWrite) and w.performed]
        if not ready or self.rng.random() >= self.speed:
            return None
        write = self.rng.choice(ready)
        self.writes.remove(write)
        return write.burst.key


@dataclass
class Scoreboard:
    """Reads that are not answered to the end, by key, and what every key saw last of each word."""

    history: History
    bad: dict[int, int]
    open: dict[int, deque[tuple[Burst, int, list[int]]]] = field(default_factory=dict)
    seen: dict[tuple[int, int], int] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)
    """What was read last of each word."""
    answered: int = 0
    last: int = 0
    """Cycles that the read took which was answered last."""

    def accepted(self, burst: Burst, time: int) -> None:
        self.open.setdefault(burst.key, deque()).append((burst, time, burst.words()))

    def outstanding(self) -> int:
        return sum(map(len, self.open.values()))

    def answer(self, key: int, data: int, response: int, last: bool, time: int) -> None:
        """One beat of an answer.

        Raises:
            AssertionError: Not one that may come now.
        """
        assert self.open.get(key), f"id {key:#x} is owed nothing"
        burst, asked, words = self.open[key][0]
        word = words.pop(0)
        assert last == (not words), f"{burst}: last {last} with {len(words)} beats to come"
        assert response == self.bad.get(word, OKAY), f"{burst}: word {word:#x} answered {response}"
        self.values[word] = data
        index = self.history.index(word, data, asked, time)
        if not self.history.behind:
            assert index >= self.seen.get((key, word), 0), f"{burst}: word {word:#x} went back in time"
            self.seen[key, word] = index
        if last:
            self.open[key].popleft()
            self.answered += 1
            self.last = time - asked
