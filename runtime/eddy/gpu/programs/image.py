# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images as arguments: arrays of texels with a descriptor, which the device library reads (library/images.c)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from eddy.core.errors import InvalidRequest

ORDERS: Mapping[str, tuple[int, int]] = {
    **{"r": (0x10B0, 1), "a": (0x10B1, 1), "rg": (0x10B2, 2), "ra": (0x10B3, 2), "rgba": (0x10B5, 4)},
    **{"bgra": (0x10B6, 4), "intensity": (0x10B8, 1), "luminance": (0x10B9, 1)},
}
"""Channel order to OpenCL's number and how many channels there are."""
KINDS: Mapping[str, tuple[int, str]] = {
    **{"snorm_int8": (0x10D0, "i1"), "snorm_int16": (0x10D1, "i2"), "unorm_int8": (0x10D2, "u1")},
    **{"unorm_int16": (0x10D3, "u2"), "signed_int8": (0x10D7, "i1"), "signed_int16": (0x10D8, "i2")},
    **{"signed_int32": (0x10D9, "i4"), "unsigned_int8": (0x10DA, "u1"), "unsigned_int16": (0x10DB, "u2")},
    **{"unsigned_int32": (0x10DC, "u4"), "half_float": (0x10DD, "f2"), "float": (0x10DE, "f4")},
}
"""Channel type to OpenCL's number and numpy's name."""
SIZES: Mapping[str, tuple[int, str]] = {
    "struct eddy_image_1d*": (1, "an image of one dimension"),
    "struct eddy_image_1d_buffer*": (1, "an image of one dimension"),
    "struct eddy_image_1d_array*": (2, "an image of 2 dimensions, the first of which counts layers"),
    "struct eddy_image_2d*": (2, "an image of 2 dimensions"),
    "struct eddy_image_2d_array*": (3, "an image of 3 dimensions, the first of which counts layers"),
    "struct eddy_image_3d*": (3, "an image of 3 dimensions"),
}
"""Types of kernel arguments, as the library has them, to the sizes their images have, and what to call them."""
DESCRIPTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class Texels:
    """How an array is an image.

    Attributes:
        shape: Of the array: (width, channels), (height or layers, width, channels) or (depth or layers, height, width,
            channels).
        order: Channel order, of `ORDERS`.
        kind: Channel type, of `KINDS`.

    Raises:
        InvalidRequest: Order, type or shape is not possible; the message says what is.
    """

    shape: tuple[int, ...]
    order: str
    kind: str

    def __post_init__(self) -> None:
        if self.order not in ORDERS or self.kind not in KINDS:
            allowed = f"an order of {', '.join(ORDERS)} and a type of {', '.join(KINDS)}"
            raise InvalidRequest(f"An image has {allowed}.", field="arguments", allowed=allowed)
        channels = ORDERS[self.order][1]
        if len(self.shape) not in (2, 3, 4) or self.shape[-1] != channels or 0 in self.shape:
            allowed = f"(width, {channels}), (height, width, {channels}) or (depth, height, width, {channels})"
            raise InvalidRequest(f"An image of order {self.order} has a shape of {allowed}.", field="arguments")

    @property
    def element(self) -> str:
        """numpy's letter and size of a channel."""
        return KINDS[self.kind][1]

    @property
    def size_bytes(self) -> int:
        """Of all texels."""
        return math.prod(self.shape) * int(self.element[1])

    @property
    def dimensions(self) -> int:
        """1 to 3, layers counted as one of them."""
        return len(self.shape) - 1

    def descriptor(self, address: int) -> bytes:
        """What the device library reads, for texels at an address."""
        depth, height, width, channels = (*(1,) * (4 - len(self.shape)), *self.shape)
        row = width * channels * int(self.element[1])
        words = (address, width, height, depth, ORDERS[self.order][0], KINDS[self.kind][0], row, row * height)
        return struct.pack("<8I", *words)
