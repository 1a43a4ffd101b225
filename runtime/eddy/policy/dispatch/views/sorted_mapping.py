# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A sorted map that never changes: a change answers a new map, which shares with the old all that stayed.

Views and what policies remember are frozen. With ten thousand jobs waiting, what is frozen cannot be copied for each
change: here a change copies one chunk and the list of chunks, both short, whatever the length of the whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
CHUNK = 128
"""Entries of a chunk, at most; a chunk that overflows becomes two."""


class SortedMapping(Generic[K, V]):
    """Keys in ascending order, each with a value; equal where both are equal.

    Args:
        items: Pairs of key and value in ascending order of distinct keys.
    """

    __slots__ = ("_count", "_firsts", "_keys", "_values")

    def __init__(self, items: Iterable[tuple[Any, V]] = ()) -> None:
        pairs = tuple(items)
        half = CHUNK // 2
        chunks = [pairs[at : at + half] for at in range(0, len(pairs), half)]
        self._keys: tuple[tuple[Any, ...], ...] = tuple(tuple(key for key, _ in chunk) for chunk in chunks)
        self._values: tuple[tuple[V, ...], ...] = tuple(tuple(value for _, value in chunk) for chunk in chunks)
        self._firsts: tuple[Any, ...] = tuple(keys[0] for keys in self._keys)
        self._count = len(pairs)

    # Looking ------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._keys)

    def values(self) -> Iterator[V]:
        """The values, in order of their keys."""
        return chain.from_iterable(self._values)

    def items(self) -> Iterator[tuple[K, V]]:
        """The pairs, in order."""
        return zip(self, self.values(), strict=True)

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        if not self._count:
            return None
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return None
        keys = self._keys[at]
        place = bisect_left(keys, key)
        return self._values[at][place] if place < len(keys) and keys[place] == key else None

    def __getitem__(self, key: K) -> V:
        """The value of a key.

        Raises:
            KeyError: It is not in the map.
        """
        at = bisect_right(self._firsts, key) - 1
        keys = self._keys[at] if at >= 0 else ()
        place = bisect_left(keys, key)
        if place == len(keys) or keys[place] != key:
            raise KeyError(key)
        return self._values[at][place]

    def __contains__(self, key: object) -> bool:
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return False
        keys = self._keys[at]
        place = bisect_left(keys, key)
        return place < len(keys) and bool(keys[place] == key)

    def at(self, index: int) -> V:
        """The value in a place, counted from 0 at the lowest key, or from -1 at the highest.

        Raises:
            IndexError: There is no such place.
        """
        place = index if index >= 0 else index + self._count
        if 0 <= place < self._count:
            for values in self._values:
                if place < len(values):
                    return values[place]
                place -= len(values)
        raise IndexError(f"no place {index} among {self._count}")

    def floor(self, key: K) -> V | None:
        """The value of the highest key that is not above a key, or None."""
        at = bisect_right(self._firsts, key) - 1
        return None if at < 0 else self._values[at][bisect_right(self._keys[at], key) - 1]

    def first(self) -> V:
        """The value of the lowest key.

        Raises:
            IndexError: It is empty.
        """
        return self._values[0][0]

    def last(self) -> V:
        """The value of the highest key.

        Raises:
            IndexError: It is empty.
        """
        return self._values[-1][-1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SortedMapping):
            return NotImplemented
        if self._keys is other._keys and self._values is other._values:
            return True
        return self._count == other._count and all(a == b for a, b in zip(self.items(), other.items(), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Sorted({list(self.items())!r})"

    # Changing -----------------------------------------------------------------------------------------------------

    def put(self, key: K, value: V) -> SortedMapping[K, V]:
        """With a key's value, new or in place of another."""
        if not self._count:
            return SortedMapping([(key, value)])
        at = max(bisect_right(self._firsts, key) - 1, 0)
        keys, values = self._keys[at], self._values[at]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            if values[place] is value:
                return self
            return self._replaced(at, (keys,), ((*values[:place], value, *values[place + 1 :]),), 0)
        keys = (*keys[:place], key, *keys[place:])
        values = (*values[:place], value, *values[place:])
        if len(keys) <= CHUNK:
            return self._replaced(at, (keys,), (values,), 1)
        half = len(keys) // 2
        return self._replaced(at, (keys[:half], keys[half:]), (values[:half], values[half:]), 1)

    def drop(self, key: K) -> SortedMapping[K, V]:
        """Without a key; the same map where it is not in it."""
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return self
        keys, values = self._keys[at], self._values[at]
        place = bisect_left(keys, key)
        if place == len(keys) or keys[place] != key:
            return self
        keys, values = (*keys[:place], *keys[place + 1 :]), (*values[:place], *values[place + 1 :])
        if not keys:
            return self._replaced(at, (), (), -1)
        if len(keys) < CHUNK // 4 and at and len(self._keys[at - 1]) < CHUNK // 2:
            # Chunks that shrank are joined, so that there are never many short ones.
            joined = (*self._keys[at - 1], *keys), (*self._values[at - 1], *values)
            return self._replaced(at - 1, (joined[0],), (joined[1],), -1, 2)
        return self._replaced(at, (keys,), (values,), -1)

    def _replaced(
        self, at: int, keys: tuple[tuple[Any, ...], ...], values: tuple[tuple[V, ...], ...], more: int, old: int = 1
    ) -> SortedMapping[K, V]:
        """With `old` chunks from place `at` replaced, and so many entries more."""
        new: SortedMapping[K, V] = SortedMapping.__new__(SortedMapping)
        new._keys = (*self._keys[:at], *keys, *self._keys[at + old :])
        new._values = (*self._values[:at], *values, *self._values[at + old :])
        firsts = tuple([each[0] for each in keys])
        new._firsts = (*self._firsts[:at], *firsts, *self._firsts[at + old :])
        new._count = self._count + more
        return new
