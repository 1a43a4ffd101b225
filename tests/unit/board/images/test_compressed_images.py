# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compressed images: what is compressed comes back, what is damaged is refused, and neither is long."""

from __future__ import annotations

import random
import struct

import pytest
from eddy.board.images.compressed_images import MAX_WORDS, PieceKind, compress, expand
from eddy.core.errors import ImageRefused


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def head(kind: int, count: int) -> int:
    return kind << 30 | count


def image(rng: random.Random) -> bytes:
    """Runs of zeros, of one word, and words of their own, of any length from 1."""
    values: list[int] = []
    for _ in range(rng.randint(1, 30)):
        length = rng.choice((1, 2, 3, 4, 5, 60))
        kind = rng.randrange(3)
        same = rng.getrandbits(32)
        values += [0 if kind == 0 else same if kind == 1 else rng.getrandbits(32) for _ in range(length)]
    return words(*values)


def test_the_form_is_as_the_page_says() -> None:
    plain = words(7, 8, *[0] * 5, *[9] * 6, 1)
    assert compress(plain) == words(head(0, 2), 7, 8, head(2, 5), head(1, 6), 9, head(0, 1), 1)


def test_what_is_compressed_comes_back() -> None:
    rng = random.Random(195)
    for _ in range(2000):
        plain = image(rng)
        small = compress(plain)
        assert expand(small, len(plain) // 4) == plain
        assert len(small) <= len(plain) + 4


def test_a_short_run_stays_where_it_is() -> None:
    plain = words(1, 0, 0, 2, 3, 3, 3, 4)
    assert compress(plain) == words(head(0, 8)) + plain


def test_what_is_damaged_is_refused_or_has_the_images_length() -> None:
    """Whatever a source holds, what comes out of it has exactly the length that was asked for."""
    rng = random.Random(196)
    refused = 0
    for _ in range(2000):
        plain = image(rng)
        small = bytearray(compress(plain))
        what = rng.randrange(3)
        if what == 0:
            small[rng.randrange(len(small))] ^= 1 << rng.randrange(8)
        elif what == 1:
            del small[-4 * rng.randint(1, len(small) // 4) :]
        else:
            small += words(rng.choice((head(2, 1), head(0, 1), head(3, 1), 0)))
        try:
            assert len(expand(bytes(small), len(plain) // 4)) == len(plain)
        except ImageRefused:
            refused += 1
    assert refused > 1200


@pytest.mark.parametrize(
    "source",
    [words(head(3, 1), 5), words(head(0, 0)), words(head(0, 1) | 1 << 24, 5), words(head(2, 3)), words(head(1, 1))],
    ids=["unknown kind", "no words", "reserved bits", "too many", "no value"],
)
def test_what_is_no_head_is_said(source: bytes) -> None:
    with pytest.raises(ImageRefused, match="malformed"):
        expand(source, 1)


@pytest.mark.parametrize("size", [0, 3, 4 * (MAX_WORDS + 1)])
def test_only_whole_words_are_taken(size: int) -> None:
    with pytest.raises(ImageRefused, match="whole words"):
        compress(bytes(size))


def test_a_kind_is_two_bits() -> None:
    assert {kind.value for kind in PieceKind} == {0, 1, 2}


def test_an_image_of_a_megabyte_is_no_matter() -> None:
    """What is made of a piece is no more than its words, however long it is."""
    rng = random.Random(197)
    plain = rng.randbytes(1 << 20) + bytes(1 << 18)
    small = compress(plain)
    assert len(small) == (1 << 20) + 8
    assert expand(small, len(plain) // 4) == plain
