# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Registers as PYNQ sees them: numpy arrays whose elements are bus accesses.

`pynq.MMIO` keeps the array its device's `mmap` answers with and indexes it for every access; `RegisterMap` and
`Register` make views and slices of it. On a board it is a `numpy.ndarray` over `/dev/mem`. Here it is a
`RegisterArray`: reading an element is one read on the simulated bus, writing one is one write. Whatever numpy does with
the whole of it, `np.array(registers)` included, reads each register once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

Read32 = Callable[[int], int]
Write32 = Callable[[int, int], Any]


class RegisterArray(NDArrayOperatorsMixin):
    """Consecutive 32-bit registers, or pairs of them as 64-bit words, the low half accessed first.

    It says it is a `numpy.ndarray`, and behaves like one, but does not inherit from it: numpy's C code copies the
    memory of whatever inherits without asking, and there is no memory here.

    Args:
        read: Reads the register at a byte offset.
        write: Writes it.
        offset: Byte offset of the first one.
        length: How many there are.
    """

    __slots__ = ("_offsets", "_read", "_write", "dtype", "itemsize")
    ndim = 1

    def __init__(self, read: Read32, write: Write32, offset: int, length: int) -> None:
        self._set(read, write, range(offset, offset + 4 * length, 4), np.dtype(np.uint32))

    def _set(self, read: Read32, write: Write32, offsets: range, dtype: np.dtype[Any]) -> None:
        self._read, self._write, self._offsets = read, write, offsets
        self.dtype, self.itemsize = dtype, dtype.itemsize

    def _over(self, offsets: range, dtype: np.dtype[Any]) -> RegisterArray:
        other = object.__new__(RegisterArray)
        other._set(self._read, self._write, offsets, dtype)
        return other

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """`isinstance(mmio.array, numpy.ndarray)` holds, as on a board."""
        return np.ndarray

    # Elements

    def __getitem__(self, index: Any) -> Any:
        """Read an element (an int) or several (an array of values); a slice is a narrower array over the bus."""
        if index.__class__ is int and self.itemsize == 4:
            return self._read(self._offsets[index])
        if isinstance(index, slice):
            return self._over(self._offsets[index], self.dtype)
        chosen = np.asarray(self._offsets)[index]
        if np.ndim(chosen) == 0:
            return self._load(int(chosen))
        return np.fromiter(map(self._load, chosen.ravel().tolist()), self.dtype, chosen.size).reshape(chosen.shape)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element, or several in order."""
        if index.__class__ is int:
            self._store(self._offsets[index], int(value))
            return
        chosen = np.asarray(self._offsets)[index]
        words = np.broadcast_to(np.asarray(value), chosen.shape).ravel().tolist()
        for offset, word in zip(chosen.ravel().tolist(), words, strict=True):
            self._store(offset, int(word))

    def _load(self, offset: int) -> int:
        low = self._read(offset)
        return low if self.itemsize == 4 else self._read(offset + 4) << 32 | low

    def _store(self, offset: int, word: int) -> None:
        self._write(offset, word & 0xFFFF_FFFF)
        if self.itemsize == 8:
            self._write(offset + 4, word >> 32 & 0xFFFF_FFFF)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[int]:
        return map(self._load, self._offsets)

    # As the rest of numpy sees it

    def __array__(self, dtype: Any = None) -> npt.NDArray[Any]:
        """Read them all, in order, into a new array."""
        return np.fromiter(self, self.dtype, len(self)).astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        """Arithmetic works on what the registers hold; `out` writes them."""
        result = getattr(ufunc, method)(*(np.asarray(each) for each in inputs), **options)
        for target in out:
            target[...] = result
        return out[0] if out else result

    def __getattr__(self, name: str) -> Any:
        """Every other attribute and method of an array, of what the registers hold."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    @property
    def shape(self) -> tuple[int]:
        """As numpy: one dimension."""
        return (len(self),)

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self)

    @property
    def nbytes(self) -> int:
        """Bytes they take."""
        return self.itemsize * len(self)

    def fill(self, value: Any) -> None:
        """Write a value to every register, in order."""
        self[:] = value

    def view(self, dtype: Any = None) -> RegisterArray:
        """The same registers as 32-bit or 64-bit words.

        Raises:
            TypeError: Another element type, or a stepped slice.
        """
        asked = np.dtype(dtype or self.dtype)
        first, step, count = self._offsets.start, self._offsets.step, len(self)
        if asked == self.dtype:
            return self
        if asked.name not in ("uint32", "uint64") or step != self.itemsize:
            raise TypeError(f"registers can be viewed as u4 or u8, not as {asked}")
        words = count * self.itemsize // asked.itemsize
        return self._over(range(first, first + words * asked.itemsize, asked.itemsize), asked)

    def __repr__(self) -> str:
        return f"RegisterArray({len(self)} registers at offset {self._offsets.start:#x})"
