# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the generated register maps are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """Bits of a register.

    Attributes:
        name: As in the register map.
        low: Lowest bit.
        width: Number of bits.
    """

    name: str
    low: int
    width: int

    @property
    def mask(self) -> int:
        """Its bits, in place."""
        return ((1 << self.width) - 1) << self.low

    def get(self, word: int) -> int:
        """Its value in a register's word."""
        return (word & self.mask) >> self.low

    def put(self, value: int, word: int = 0) -> int:
        """A register's word with this field set to `value`, the rest taken from `word`.

        Raises:
            ValueError: `value` does not fit.
        """
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"{self.name} holds 0 to {(1 << self.width) - 1}, not {value}")
        return (word & ~self.mask) | value << self.low


@dataclass(frozen=True)
class Register:
    """A 32-bit register, or `count` of them every `stride` bytes.

    Attributes:
        name: As in the register map.
        offset: Bytes from the start of the bank.
        reset: The word after reset, as far as the map knows it.
        fields: From the map's order.
    """

    name: str
    offset: int
    reset: int
    fields: tuple[Field, ...]
    count: int = 1
    stride: int = 0

    def at(self, index: int) -> int:
        """Byte offset of the `index`-th register of an array.

        Raises:
            IndexError: There are not that many.
        """
        if not 0 <= index < self.count:
            raise IndexError(f"{self.name} has {self.count} entries, no index {index}")
        return self.offset + index * self.stride

    def decode(self, word: int) -> dict[str, int]:
        """Every field's value in a word, by name."""
        return {field.name: field.get(word) for field in self.fields}

    def encode(self, **values: int) -> int:
        """A word from field values by name, the others zero.

        Raises:
            KeyError: No such field.
            ValueError: A value does not fit.
        """
        known = {field.name: field for field in self.fields}
        word = 0
        for name, value in values.items():
            if name not in known:
                raise KeyError(f"{self.name} has no field {name!r}; it has {', '.join(known)}")
            word = known[name].put(value, word)
        return word


@dataclass(frozen=True)
class Range:
    """A range of addresses, or several at equal distances.

    Attributes:
        offset: Where the first begins, in bytes from the window's begin.
        bytes: Size of one.
        count: How many there are.
        stride: Bytes from one to the next.
    """

    offset: int
    bytes: int
    count: int
    stride: int

    def at(self, index: int) -> int:
        """Where one of them begins.

        Raises:
            IndexError: There is none of that number.
        """
        if not 0 <= index < self.count:
            raise IndexError(f"there are {self.count} of these ranges, none is number {index}")
        return self.offset + index * self.stride
