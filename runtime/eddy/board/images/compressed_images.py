# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compressed images, as the configuration engine expands them (docs/reference/compressed-images.md).

An image is words of 32 bits, low byte first. Its compressed form is a sequence of pieces: a head, whose bits 23 to 0
are the number of the image's words in the piece, and whose bits 31 to 30 say what they are. Whole images are at hand
here, so this is plain array work; the hardware does the same a word at a time.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from eddy.core.errors import ImageRefused
from eddy.core.units import format_bytes

WORD_BYTES = 4
MAX_WORDS = (1 << 24) - 1
"""Words of a piece, and of an image, at most."""
_KIND_SHIFT = 30
_RESERVED = 0x3F00_0000
_MIN_RUN, _MIN_ZEROS = 4, 3
"""The shortest runs that take fewer words as a piece of their own, counting the head of the piece behind them."""

Words = NDArray[np.uint32]


class PieceKind(IntEnum):
    """What the words of a piece are."""

    LITERAL = 0
    REPEAT = 1
    ZEROS = 2


def compress(image: bytes) -> bytes:
    """The compressed form of an image; longer than the image by a word at most.

    Args:
        image: Whole words, 1 to `MAX_WORDS` of them.

    Raises:
        ImageRefused: It has no words, too many, or part of one.
    """
    words = _words(image, "image")
    pieces: list[Words] = []
    done = 0
    for begin, end in _runs(words):
        _literal(pieces, words[done:begin])
        value = words[begin]
        kind = PieceKind.ZEROS if value == 0 else PieceKind.REPEAT
        pieces.append(_head(kind, end - begin))
        if kind is PieceKind.REPEAT:
            pieces.append(words[begin : begin + 1])
        done = end
    _literal(pieces, words[done:])
    return np.concatenate(pieces).astype("<u4").tobytes()


def expand(source: bytes, image_words: int) -> bytes:
    """The image of a compressed form.

    Args:
        source: Whole words.
        image_words: How many words the image has.

    Raises:
        ImageRefused: It is not the compressed form of an image of that length.
    """
    words = _words(source, "source")
    out: list[Words] = []
    at, left = 0, image_words
    while at < len(words):
        head = int(words[at])
        at, kind, count = at + 1, head >> _KIND_SHIFT, head & MAX_WORDS
        if not 0 < count <= left or head & _RESERVED or kind not in list(PieceKind):
            raise ImageRefused(f"malformed: word {at - 1} of the source, {head:#010x}, is no head", field="source")
        size = {PieceKind.LITERAL: count, PieceKind.REPEAT: 1, PieceKind.ZEROS: 0}[PieceKind(kind)]
        if at + size > len(words):
            raise ImageRefused(f"malformed: the source ends within the piece at word {at - 1}", field="source")
        body = words[at : at + size]
        out.append(body if kind == PieceKind.LITERAL else np.full(count, body[0] if size else 0, dtype="<u4"))
        at, left = at + size, left - count
    if left:
        raise ImageRefused(f"malformed: the source lacks the image's last {left} words", field="source")
    return np.concatenate(out).astype("<u4").tobytes()


def _runs(words: Words) -> list[tuple[int, int]]:
    """Begin and end of each run of equal words that is worth a piece of its own."""
    edges = np.flatnonzero(words[1:] != words[:-1]) + 1
    begins, ends = np.concatenate(([0], edges)), np.concatenate((edges, [len(words)]))
    worth = ends - begins >= np.where(words[begins] == 0, _MIN_ZEROS, _MIN_RUN)
    return list(zip(begins[worth].tolist(), ends[worth].tolist(), strict=True))


def _literal(pieces: list[Words], words: Words) -> None:
    if len(words):
        pieces += [_head(PieceKind.LITERAL, len(words)), words]


def _head(kind: PieceKind, count: int) -> Words:
    return np.array([kind << _KIND_SHIFT | count], dtype="<u4")


def _words(data: bytes, what: str) -> Words:
    if not data or len(data) % WORD_BYTES or len(data) > MAX_WORDS * WORD_BYTES:
        raise ImageRefused(
            f"the {what} has {format_bytes(len(data))}; give whole words of 4, 1 to {MAX_WORDS} of them", field=what
        )
    return np.frombuffer(data, dtype="<u4")
