"""Registers as PYNQ sees them: array-likes whose elements are bus accesses.

`pynq.MMIO` keeps the array its device's `mmap` answers with and indexes it for every access; `RegisterMap` and
`Register` make views and slices of it. On a board it is a numpy array over `/dev/mem`. Here it is a `RegisterArray`:
`[i]` is one read on the simulated bus and `[i] = v` one write, and stock PYNQ takes its fastest path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Union, overload

import numpy as np
import numpy.typing as npt

Read32 = Callable[[int], int]
Write32 = Callable[[int, int], Any]
Words = Union["RegisterArray", "WideArray"]

_WIDTHS = {"uint32": 4, "uint64": 8}


class RegisterArray:
    """Consecutive 32-bit registers.

    Args:
        read: Reads the register at a byte offset.
        write: Writes it.
        offset: Byte offset of the first one.
        length: How many there are.
    """

    __slots__ = ("_length", "_offset", "_read", "_write")
    dtype = np.dtype(np.uint32)
    itemsize = 4
    ndim = 1

    def __init__(self, read: Read32, write: Write32, offset: int, length: int) -> None:
        self._read, self._write, self._offset, self._length = read, write, offset, length

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> RegisterArray: ...
    def __getitem__(self, index: int | slice) -> int | RegisterArray:
        """Read a register, or narrow the view; a stepped slice is refused."""
        if index.__class__ is int and 0 <= index < self._length:  # type: ignore[operator]
            return self._read(self._offset + 4 * index)  # type: ignore[operator]
        if isinstance(index, slice):
            start, length = _range(index, self._length)
            return RegisterArray(self._read, self._write, self._offset + 4 * start, length)
        return self._read(self._offset + 4 * _position(index, self._length))

    def __setitem__(self, index: int | slice, value: Any) -> None:
        """Write a register, or a run of them in order."""
        if isinstance(index, slice):
            start, length = _range(index, self._length)
            for place, word in enumerate(np.broadcast_to(np.asarray(value, dtype=np.uint32), (length,)).tolist()):
                self._write(self._offset + 4 * (start + place), word)
            return
        self._write(self._offset + 4 * _position(index, self._length), int(value) & 0xFFFF_FFFF)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[int]:
        return (self._read(self._offset + 4 * index) for index in range(self._length))

    def __array__(self, dtype: Any = None) -> npt.NDArray[Any]:
        """Read them all, in order, into a new array."""
        return np.fromiter(self, np.uint32, self._length).astype(dtype or np.uint32)

    def __repr__(self) -> str:
        return f"RegisterArray({self._length} registers at offset {self._offset:#x})"

    @property
    def shape(self) -> tuple[int]:
        """As numpy: one dimension."""
        return (self._length,)

    @property
    def size(self) -> int:
        """Number of registers."""
        return self._length

    @property
    def nbytes(self) -> int:
        """Bytes they take."""
        return 4 * self._length

    def view(self, dtype: Any = np.uint32) -> Words:
        """The same registers as 32-bit or 64-bit words.

        Raises:
            TypeError: Another element type.
        """
        width = _WIDTHS.get(np.dtype(dtype).name)
        if width == 4:
            return self
        if width == 8:
            return WideArray(self)
        raise TypeError(f"registers can be viewed as u4 or u8, not as {np.dtype(dtype)}")


class WideArray:
    """64-bit registers: pairs of 32-bit accesses, the low half first."""

    __slots__ = ("_halves",)
    dtype = np.dtype(np.uint64)
    itemsize = 8
    ndim = 1

    def __init__(self, halves: RegisterArray) -> None:
        self._halves = halves

    def __getitem__(self, index: int) -> int:
        """Read the low half, then the high half."""
        place = 2 * _position(index, len(self))
        low = self._halves[place]
        return self._halves[place + 1] << 32 | low

    def __setitem__(self, index: int, value: int) -> None:
        """Write the low half, then the high half."""
        place, word = 2 * _position(index, len(self)), int(value)
        self._halves[place] = word & 0xFFFF_FFFF
        self._halves[place + 1] = word >> 32 & 0xFFFF_FFFF

    def __len__(self) -> int:
        return len(self._halves) // 2

    def view(self, dtype: Any = np.uint64) -> Words:
        """As `RegisterArray.view`."""
        return self._halves.view(dtype)


def _position(index: Any, length: int) -> int:
    place = int(index)
    place += length if place < 0 else 0
    if not 0 <= place < length:
        raise IndexError(f"index {index} is out of bounds for {length} registers")
    return place


def _range(index: slice, length: int) -> tuple[int, int]:
    start, stop, step = index.indices(length)
    if step != 1:
        raise IndexError("registers can be sliced with a step of 1 only")
    return start, max(0, stop - start)
