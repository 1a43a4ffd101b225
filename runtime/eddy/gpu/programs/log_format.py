# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One printf record after the other into a text with bounds on its bytes and on the work it takes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddy.gpu.programs.log_number import NumberFormat

MAX_STRING = 4096
"""Bytes of one format, or of one string it names."""
_CONVERSION = re.compile(rb"%([-+ #0]{0,8})(\d*)(\.\d*)?(?:v(16|2|3|4|8))?(hh|hl|h|ll|l|z|t)?([a-uw-zA-Z%])")
_WIDTH, _PRECISION = 3, 4
"""Characters of a width, and of a precision with its point, that are heeded: 999 at most."""
_PIECE_BYTES = 64
_INTEGER, _LONG, _FLOAT, _DOUBLE = (struct.Struct(f"<{letter}") for letter in "iqfd")
_UNSIGNED, _UNSIGNED_LONG = struct.Struct("<I"), struct.Struct("<Q")


class LogFull(Exception):
    """A bound is reached."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands before a conversion, and the conversion.

    Attributes:
        before: As it is printed.
        kind: Its letter; "" behind the last one.
        spec: Python's for it, where Python writes it as C does.
        form: How a number is written otherwise.
        word: How its argument is read.
        count: Values it has: elements of a vector.
    """

    before: bytes
    kind: str = ""
    spec: str = ""
    word: struct.Struct = _UNSIGNED
    count: int = 1
    form: NumberFormat | None = None


class BoundedText:
    """A text that grows by records until a bound is reached.

    Args:
        limit: Bytes.
        pieces: Units of work: a record, a conversion, 64 bytes of format or of text each count as one.
        string: Gives the string at an address, at most `MAX_STRING` bytes.
    """

    def __init__(self, limit: int, pieces: int, string: Callable[[int], bytes]) -> None:
        self._limit, self._pieces, self._string = limit, pieces, string
        self._text = bytearray()
        self._formats: dict[tuple[int, bool], tuple[_Part, ...]] = {}

    def __str__(self) -> str:
        return self._text.decode(errors="replace")

    def note(self, words: str) -> None:
        """Words behind the text, beyond its bounds."""
        self._text = bytearray(self._text.decode(errors="ignore").encode()) + words.encode()

    def record(self, address: int, arguments: bytes, wide: bool = False) -> None:
        """Put a record behind the text.

        Args:
            address: Of its format.
            arguments: As the device left them.
            wide: Whether numbers are double.

        Raises:
            Full: It did not fit; what of it fits is kept.
        """
        parts = self._formats.get((address, wide)) or self._parsed(address, wide)
        self._work(len(parts))
        at = 0
        for part in parts:
            self._put(part.before)
            if part.kind:
                fits = at + part.word.size <= len(arguments)
                values = part.word.unpack_from(arguments, at) if fits else (0,) * part.count
                at += part.word.size
                shown = b",".join([self._shown(part, value) for value in values])
                self._work(part.count - 1 + len(shown) // _PIECE_BYTES)
                self._put(shown)

    def _parsed(self, address: int, wide: bool) -> tuple[_Part, ...]:
        """The parts of a format; kept, which the work it counts as bounds."""
        template = self._string(address)
        self._work(1 + len(template) // _PIECE_BYTES)
        parts, done = [], 0
        for match in _CONVERSION.finditer(template):
            self._work(1)
            parts.append(_part(_printable(template[done : match.start()]), match, wide))
            done = match.end()
        parts.append(_Part(_printable(template[done:])))
        return self._formats.setdefault((address, wide), tuple(parts))

    def _put(self, part: bytes) -> None:
        room = self._limit - len(self._text)
        self._text += part[:room]
        if len(part) >= room:
            raise LogFull

    def _work(self, pieces: int) -> None:
        self._pieces -= pieces
        if self._pieces < 0:
            raise LogFull

    def _shown(self, part: _Part, value: float) -> bytes:
        """A conversion of the value in its words."""
        if part.kind == "s":
            text = self._string(int(value)).decode(errors="replace")
            return _printable((part.spec % text).encode())
        if part.kind == "c":
            return (part.spec % chr(int(value) & 0xFF)).encode()
        if part.kind == "p":
            return b"0x%08x" % int(value)
        if part.spec:
            return (part.spec % value).encode()
        return part.form.shown(value).encode() if part.form else b""


def conversions(template: bytes) -> Iterator[tuple[str, str, str]]:
    """Letter, length and elements of each conversion of a format that takes an argument."""
    for match in _CONVERSION.finditer(template):
        vector, length, kind = (part.decode() if part else "" for part in match.groups()[3:])
        if kind != "%":
            yield kind, length, vector


def _part(before: bytes, match: re.Match[bytes], wide: bool) -> _Part:
    flags, width, precision, vector, length, kind = (part.decode() if part else "" for part in match.groups())
    if kind == "%":
        return _Part(before + b"%")
    if kind in "cs" and not vector:
        spec = "%" + flags + width[:_WIDTH] + (precision[:_PRECISION] if kind == "s" else "")
        return _Part(before, kind, spec + kind)
    places = int(precision[1:_PRECISION] or 0) if precision else None
    bits = {"hh": 8, "h": 16, "l": 64, "ll": 64}.get(length, 32) if not vector else 64
    form = NumberFormat(kind, flags, int(width[:_WIDTH] or 0), places, bits) if kind in "diouxXfFeEgGaA" else None
    spec = f"%{flags}{width[:_WIDTH]}{precision[:_PRECISION]}{'d' if kind == 'u' else kind}"
    spec = spec if form and form.as_python else ""
    if vector:
        size = {"hh": 1, "h": 2, "l": 8}.get(length, 4)
        return _Part(before, kind, spec, _vector(int(vector), size, kind), int(vector), form)
    if kind in "fFeEgGaA":
        return _Part(before, kind, spec, _DOUBLE if wide else _FLOAT, form=form)
    long = length in ("l", "ll") and kind in "diouxX"
    signed = (_LONG if long else _INTEGER) if kind in "di" else _UNSIGNED_LONG if long else _UNSIGNED
    return _Part(before, kind, spec, signed, form=form)


def _vector(count: int, size: int, kind: str) -> struct.Struct:
    """How a vector is read, of so many elements of so many bytes; three take the room of four."""
    room = max(4, (4 if count == 3 else count) * size)
    letter = "bhiq"[(1, 2, 4, 8).index(size)]
    real = kind in "fFeEgGaA" and size >= 4
    letter = ("d" if size == 8 else "f") if real else letter if kind in "di" else letter.upper()
    return struct.Struct(f"<{count}{letter}{room - count * size}x")


def _printable(part: bytes) -> bytes:
    """As UTF-8; what is none takes three bytes a byte, and counts as such."""
    return part if part.isascii() else part.decode(errors="replace").encode()
