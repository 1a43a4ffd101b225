# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arguments and sizes of a session's launches, as they travel."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eddy.gpu.programs.ndrange import Local


class NamedBuffer(Protocol):
    """A buffer of a session."""

    @property
    def id(self) -> int:
        """Its name there."""


@dataclass(frozen=True, slots=True)
class BufferView:
    """A buffer from an offset on, as a kernel's argument."""

    buffer: NamedBuffer
    offset: int


@dataclass(frozen=True, slots=True)
class BufferImage:
    """A buffer's texels as an image, as a kernel's argument.

    Attributes:
        buffer: Which.
        shape: (width, channels), (height or layers, width, channels) or (depth or layers, height, width, channels).
        order: Channel order: "rgba", "r", ... (`eddy.gpu.programs.image.ORDERS`).
        kind: Channel type: "unorm_int8", "float", ... (`eddy.gpu.programs.image.KINDS`).
        offset: Bytes of the buffer before them.
    """

    buffer: NamedBuffer
    shape: tuple[int, ...]
    order: str = "rgba"
    kind: str = "float"
    offset: int = 0


def sent_argument(value: object) -> dict[str, Any]:
    """An argument of a launch."""
    if isinstance(value, BufferView):
        return {"buffer": value.buffer.id, "offset": value.offset}
    if isinstance(value, BufferImage):
        texels = {"shape": list(value.shape), "image": [value.order, value.kind]}
        return {"buffer": value.buffer.id, "offset": value.offset, **texels}
    if value is None:
        return {"null": True}
    if isinstance(value, Local):
        return {"local": value.bytes}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"bytes": to_base64(bytes(value))}
    if isinstance(value, np.void):
        return {"bytes": to_base64(value.tobytes())}
    if isinstance(value, np.ndarray):
        return {"value": value.tolist()}
    if isinstance(value, np.generic):
        return {"value": _number(value.item())}
    if isinstance(value, (tuple, list)):
        return {"value": [_number(each) for each in value]}
    return {"value": _number(value)}


def sent_sizes(value: int | Sequence[int] | None) -> list[int] | None:
    """Sizes of an ND-range, by dimension; None for none."""
    if value is None:
        return None
    return [int(value)] if isinstance(value, (int, np.integer)) else [int(each) for each in value]


def to_base64(data: bytes) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode()


def _number(value: object) -> object:
    return int(value) if isinstance(value, (bool, np.integer)) else value
