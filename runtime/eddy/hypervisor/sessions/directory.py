# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a session's memory says of itself, in a buffer of its own on the board: it lasts exactly as long as the data.

A server that is killed finds here which buffers lie where and which commands have ended or begun. Kernels cannot reach
it. Layout, little endian::

    magic, version, commands that have ended without a gap    | u32 u32 u64, 64 bytes
    fate of command n, at n modulo FATES                      | a byte each
    id, offset and bytes of a buffer, or zeros                | u32 u32 u32 u32, MAX_BUFFERS entries
"""

from __future__ import annotations

import enum
import itertools
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from eddy.core.errors import QuotaExceeded

MAX_BUFFERS = 4096
FATES = 8192
"""Commands whose fate is known beside those without a gap; twice as many as may be open."""
_MAGIC, _VERSION = 0x4E534445, 1
_HEAD, _ENTRY = struct.Struct("<IIQ48x"), struct.Struct("<IIII")
_TABLE = _HEAD.size + FATES
DIRECTORY_BYTES = _TABLE + MAX_BUFFERS * _ENTRY.size

Reading = Callable[[int, int], bytes]
"""Gives so many bytes from an offset on."""
Writing = Callable[[int, bytes], None]
"""Puts bytes at an offset."""


class Fate(enum.IntEnum):
    """What is known of a command."""

    UNKNOWN = 0
    COMPLETE = 1
    FAILED = 2
    BEGUN = 3
    """A launch was begun, in several slices or without anyone knowing in how many."""
    WHOLE = 4
    """A launch was begun in one slice: its end is the board's event of that slice."""
    READ = 5
    """Complete, and changed nothing: it can be done again as long as nothing after it was done."""

    @property
    def has_ended(self) -> bool:
        """Whether the command is over."""
        return self in _ENDS


_ENDS = frozenset({Fate.COMPLETE, Fate.FAILED, Fate.READ})


@dataclass(frozen=True, slots=True)
class Found:
    """What a directory says.

    Attributes:
        through: Every command up to this one has ended.
        fates: Of those after it, and of some before, by number.
        buffers: Offset and bytes, by id.
        places: Entry of each buffer.
    """

    through: int
    fates: Mapping[int, Fate]
    buffers: Mapping[int, tuple[int, int]]
    places: Mapping[int, int]

    def with_fate(self, number: int, fate: Fate) -> Found:
        """With something known of a command."""
        return replace(self, fates={**self.fates, number: fate})


class Directory:
    """Keeps a session's directory as it should be, and writes what changed.

    Attributes:
        through: Every command up to this one has ended.
    """

    def __init__(self) -> None:
        self.through = 0
        self._whole = bytearray(DIRECTORY_BYTES)
        self._places: dict[int, int] = {}
        """By buffer: its entry."""
        self._free = list(range(MAX_BUFFERS - 1, -1, -1))
        self._entries: set[int] = set()
        """Entries to be written."""
        self._marked = True
        """Whether head and fates are to be written."""

    @classmethod
    def found(cls, found: Found) -> Directory:
        """One that goes on after what was found."""
        made = cls()
        made.through = found.through
        for number, fate in found.fates.items():
            made._whole[_HEAD.size + number % FATES] = fate
        for buffer, (offset, size) in found.buffers.items():
            made._places[buffer] = found.places[buffer]
            made._set(found.places[buffer], buffer, offset, size)
        taken = set(found.places.values())
        made._free = [place for place in made._free if place not in taken]
        return made

    def fate(self, number: int) -> Fate:
        """What is known of a command."""
        if number <= self.through - FATES // 2:
            return Fate.COMPLETE
        code = self._whole[_HEAD.size + number % FATES]
        return Fate(code) if code else Fate.UNKNOWN

    def note(self, number: int, fate: Fate) -> None:
        """A command began or ended."""
        self._whole[_HEAD.size + number % FATES] = fate
        self._marked = True
        while self._whole[_HEAD.size + (self.through + 1) % FATES] in _ENDS:
            self.through += 1
            self._whole[_HEAD.size + (self.through + FATES // 2) % FATES] = Fate.UNKNOWN

    def add_buffer(self, buffer: int, offset: int, size: int) -> None:
        """A buffer is there.

        Raises:
            QuotaExceeded: There are too many.
        """
        if not self._free:
            message = f"a session has {MAX_BUFFERS} buffers at most: release some, or put several into one"
            raise QuotaExceeded(message, limit=MAX_BUFFERS, asked=MAX_BUFFERS + 1)
        self._places[buffer] = self._free.pop()
        self._set(self._places[buffer], buffer, offset, size)

    def remove_buffer(self, buffer: int) -> None:
        """A buffer is gone."""
        place = self._places.pop(buffer)
        self._free.append(place)
        self._set(place, 0, 0, 0)

    def _set(self, place: int, *words: int) -> None:
        _ENTRY.pack_into(self._whole, _TABLE + place * _ENTRY.size, *words, 0)
        self._entries.add(place)

    def forget(self, number: int) -> None:
        """The last command that is known is to be done again."""
        self._whole[_HEAD.size + number % FATES] = Fate.UNKNOWN
        self._marked = True
        self.through = min(self.through, number - 1)

    def write(self, put: Writing) -> None:
        """Write what changed since the last time, at once: fates and entries are never of two times."""
        if not (self._marked or self._entries):
            return
        _HEAD.pack_into(self._whole, 0, _MAGIC, _VERSION, self.through)
        end = _TABLE + _ENTRY.size * (max(self._entries, default=-1) + 1)
        put(0, bytes(self._whole[:end]))
        self._entries.clear()
        self._marked = False

    def image(self) -> bytes:
        """All of it, for memory that is filled again."""
        _HEAD.pack_into(self._whole, 0, _MAGIC, _VERSION, self.through)
        self._entries.clear()
        self._marked = False
        return bytes(self._whole)


def read_directory(read: Reading, region_bytes: int) -> Found | None:
    """What a directory says; None where it is none, or its buffers cannot be right.

    Args:
        read: Reads the directory's buffer.
        region_bytes: Of the region that its buffers lie in.
    """
    whole = read(0, DIRECTORY_BYTES)
    magic, version, through = _HEAD.unpack_from(whole)
    if (magic, version) != (_MAGIC, _VERSION):
        return None
    fates = {}
    for number in range(max(1, through - FATES // 2 + 1), through + FATES // 2):
        code = whole[_HEAD.size + number % FATES]
        if 0 < code <= max(Fate):
            fates[number] = Fate(code)
    buffers, places = {}, {}
    for place, (buffer, offset, size, _) in enumerate(_ENTRY.iter_unpack(whole[_TABLE:])):
        if buffer:
            buffers[buffer], places[buffer] = (offset, size), place
    spans = sorted((offset, offset + size) for offset, size in buffers.values())
    apart = all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    return Found(through, fates, buffers, places) if apart and all(end <= region_bytes for _, end in spans) else None
