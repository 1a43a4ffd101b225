# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's arguments as bytes, and room in the region for the arrays and images they name."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from eddy.core.conversion import convert, to_little_endian
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes
from eddy.gpu.programs.image import DESCRIPTOR_BYTES, SIZES, Texels
from eddy.gpu.programs.layout import LOCAL_BASE, REGION_BASE, align
from eddy.gpu.programs.ndrange import Local
from eddy.gpu.programs.region import RegionSpace
from eddy.gpu.programs.signature import Argument, Kernel


@dataclass(frozen=True, slots=True)
class Extent:
    """An array argument, as far as its place in memory goes.

    Attributes:
        key: Arguments with the same key are one array and share its memory.
        bytes: Its size.
        element: numpy's letter and size of an element, "f4"; with ">" before where its bytes are the other way round.
            "" for bytes of whatever type the kernel takes them for.
        writeable: Whether a kernel may write it.
        texels: How it is an image; None where it is none.
        at: Its offset in the region, where it is there already; None where it is to be given room.
    """

    key: Hashable
    bytes: int
    element: str
    writeable: bool = True
    texels: Texels | None = None
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """An array in the region.

    Attributes:
        key: The extent's.
        offset: Of its first byte, from the region's.
        bytes: Its size.
        written: Whether the kernel may have written it.
    """

    key: Hashable
    offset: int
    bytes: int
    written: bool


class PackedArguments:
    """The arguments of one launch.

    Args:
        kernel: Says what it takes.
        arguments: `Extent` or None for pointers, `Local` for `__local` ones, numbers, sequences for vectors.
        space: Room in the region.
        local_bytes: Local memory that the program takes itself; `__local` arguments come after it.

    Attributes:
        address: Of the packed arguments, as the cores see it.
        bytes: The packed arguments.
        placed: Where arrays are, by key, in the order of the arguments that name them first.
        descriptors: Of images: offset in the region and bytes, by key and form of the texels.

    Raises:
        InvalidRequest: An argument does not fit.
    """

    def __init__(self, kernel: Kernel, arguments: Sequence[object], space: RegionSpace, local_bytes: int) -> None:
        if len(arguments) != len(kernel.arguments):
            names = ", ".join(a.name for a in kernel.arguments)
            message = f"Kernel {kernel.name!r} takes {len(kernel.arguments)} arguments ({names}), not {len(arguments)}."
            raise InvalidRequest(message, field="arguments", allowed=len(kernel.arguments))
        self._space, self._local_at = space, LOCAL_BASE + align(local_bytes, 16)
        self.placed: dict[Hashable, Placed] = {}
        self.descriptors: dict[tuple[Hashable, Texels], tuple[int, bytes]] = {}
        offsets = kernel.offsets()
        size = max((at + a.size for at, a in zip(offsets, kernel.arguments, strict=True)), default=0)
        self.address = space.allocate(size)
        packed = bytearray(size)
        for at, argument, value in zip(offsets, kernel.arguments, arguments, strict=True):
            data = self._pack(argument, value)
            packed[at : at + len(data)] = data
        self.bytes = bytes(packed)

    def _pack(self, argument: Argument, value: object) -> bytes:
        if argument.space == "local":
            if not isinstance(value, Local) or value.bytes < 1:
                raise _refused(argument, "Local(bytes)")
            at, self._local_at = self._local_at, self._local_at + align(value.bytes, 16)
            return struct.pack("<I", at)
        if argument.type in SIZES:
            return struct.pack("<I", self._place_image(argument, value))
        if argument.is_pointer:
            return struct.pack("<I", 0 if value is None else self._place(argument, value, not argument.const))
        if argument.is_structure:
            return _record(argument, value)
        return _plain(argument, value) if isinstance(value, bytes) else _number(argument, value)

    def _place_image(self, argument: Argument, value: object) -> int:
        """The address of an image's descriptor; its texels are placed as arrays are."""
        dimensions, called = SIZES[argument.type]
        texels = value.texels if isinstance(value, Extent) else None
        if not isinstance(value, Extent) or texels is None or texels.dimensions != dimensions:
            raise _refused(argument, called)
        if value.element != texels.element:
            raise _refused(argument, f"texels of {np.dtype(texels.element)}, not of {np.dtype(value.element)}")
        address = self._place(argument, value, value.writeable)
        known = self.descriptors.get((value.key, texels))
        at = known[0] if known else self._space.allocate(DESCRIPTOR_BYTES) - REGION_BASE
        self.descriptors[value.key, texels] = at, texels.descriptor(address)
        return REGION_BASE + at

    def _place(self, argument: Argument, value: object, written: bool) -> int:
        """The address of an array, given room where it has none yet."""
        if not isinstance(value, Extent):
            raise _refused(argument, "a numpy array or None")
        if argument.element and value.element not in ("", argument.element):
            raise _refused(argument, f"an array of {np.dtype(argument.element)}, not of {np.dtype(value.element)}")
        if written and not value.writeable:
            raise _refused(argument, "a writeable array: the kernel may write it")
        known = self.placed.get(value.key)
        if known is None:
            at = self._space.allocate(max(1, value.bytes)) - REGION_BASE if value.at is None else value.at
            known = Placed(value.key, at, value.bytes, False)
        self.placed[value.key] = Placed(value.key, known.offset, known.bytes, known.written or written)
        return REGION_BASE + known.offset


def _record(argument: Argument, value: object) -> bytes:
    """A structure, from its bytes or from a numpy record."""
    data = to_little_endian(value).tobytes() if isinstance(value, np.void) else value
    if not isinstance(data, bytes) or len(data) != argument.size:
        raise _refused(
            argument, f"{format_bytes(argument.size)}, or a numpy record of that size (dtype with align=True)"
        )
    return data


def _plain(argument: Argument, value: bytes) -> bytes:
    """A scalar or vector as its bytes in memory."""
    if len(value) != argument.size:
        raise _refused(argument, f"{format_bytes(argument.size)}")
    return value


def _number(argument: Argument, value: object) -> bytes:
    """A scalar or vector in the kernel's type."""
    if not isinstance(value, (int, float, np.number, np.bool_, np.ndarray, tuple, list)):
        raise _refused(argument, argument.type)
    what, field = f"Argument {argument.name!r} ({argument.type})", f"arguments.{argument.name}"
    element = argument.element
    if argument.enumeration and np.max(value) > np.iinfo(element).max:  # an enumeration's values may be unsigned
        element = f"u{np.dtype(element).itemsize}"
    numbers = np.atleast_1d(convert(value, "<" + element, what, field))
    if numbers.shape != (argument.count,):
        raise _refused(argument, argument.type)
    return bytes(numbers.tobytes()).ljust(argument.size, b"\0")


def _refused(argument: Argument, allowed: str) -> InvalidRequest:
    message = f"Argument {argument.name!r} ({argument.type}) takes {allowed}."
    return InvalidRequest(message, field=f"arguments.{argument.name}", allowed=allowed)
