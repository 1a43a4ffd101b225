# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Numbers that tell nothing: what counts up inside is told as a number that looks drawn at random.

Whoever is told 1 today and 500 tomorrow knows that others asked 498 times between. So a count is told through a keyed
permutation: a balanced Feistel network of ten rounds (as many as NIST SP 800-38G takes for FF1) whose round function is
keyed BLAKE2s, walked until its value falls into the range of numbers with a fixed count of digits (Black and Rogaway,
"Ciphers with Arbitrary Finite Domains", 2002, section 3). It is its own index: nothing more is kept, whoever has the
key finds the count again, and the same thing has the same number for a tenant and for the operator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache

_ROUNDS = 10
_KNOWN = 1 << 13
"""Numbers that are remembered each way: a page of a list tells each of its jobs several times."""


class Numbering:
    """A keyed permutation of counts from 1 into all numbers of so many decimal digits.

    `public_id` and `resolve_id` undo each other for every integer: what is outside the range is told as it is, and a
    number that was never told means a negative one, which nothing has.

    Args:
        key: The secret, 32 bytes at most.
        digits: Of a number that is told; at most 15, which JavaScript's numbers hold exactly.
        plain_below: Counts below are told as they are: those that were told before there was a key, which had
            fewer digits.
    """

    def __init__(self, key: bytes, digits: int, plain_below: int = 1) -> None:
        self._least = int(10 ** (digits - 1))
        self._size = 9 * self._least
        self._half = ((self._size - 1).bit_length() + 1) // 2
        self._mask, self._plain_below = (1 << self._half) - 1, plain_below
        self._rounds = [hashlib.blake2s(key=key, person=bytes([each]), digest_size=8) for each in range(_ROUNDS)]
        self.public_id: Callable[[int], int] = lru_cache(_KNOWN)(self._public_id)
        self.resolve_id: Callable[[int], int] = lru_cache(_KNOWN)(self._resolve_id)

    def _public_id(self, count: int) -> int:
        """The number a count is told as."""
        if not self._plain_below <= count < self._size:
            return -count if count < 0 else count
        return self._least + self._walk(count, backwards=False)

    def _resolve_id(self, number: int) -> int:
        """The count that was told as a number; a negative one where none was."""
        if 0 <= number < self._plain_below:
            return number
        if not self._least <= number < self._least + self._size:
            return -number
        count = self._walk(number - self._least, backwards=True)
        return count if count >= self._plain_below else -number

    def _walk(self, value: int, backwards: bool) -> int:
        value = self._mixed(value, backwards)
        while value >= self._size:
            value = self._mixed(value, backwards)
        return value

    def _mixed(self, value: int, backwards: bool) -> int:
        left, right = value >> self._half, value & self._mask
        if backwards:
            for keyed in reversed(self._rounds):
                left, right = right ^ self._noise(keyed, left), left
        else:
            for keyed in self._rounds:
                left, right = right, left ^ self._noise(keyed, right)
        return left << self._half | right

    def _noise(self, keyed: hashlib.blake2s, half: int) -> int:
        made = keyed.copy()
        made.update(half.to_bytes(8, "big"))
        return int.from_bytes(made.digest(), "big") & self._mask


class MultiKeyNumbering(Numbering):
    """A numbering that goes on with another key: what counts after a moment was told before, and was lost since, has
    another number when it counts again.

    Args:
        before: Tells counts below `first`.
        key: Of counts from there on.
        digits: As those of `before`.
        first: The first count that is told with the new key.
    """

    def __init__(self, before: Numbering, key: bytes, digits: int, first: int) -> None:
        super().__init__(key, digits, first)
        later_id, later_count = self.public_id, self.resolve_id

        def resolve_id(number: int) -> int:
            # A later count's number is taken for one of these with a probability of `first` in all numbers there are.
            count = before.resolve_id(number)
            return count if count < first else later_count(number)

        self.public_id = lambda count: later_id(count) if count >= first else before.public_id(count)
        self.resolve_id = resolve_id


def format_ids(numbers: Sequence[int], most: int = 3) -> str:
    """Some numbers for people, the first `most` of them."""
    return ", ".join(map(str, numbers[:most])) + (" and others" if len(numbers) > most else "")
