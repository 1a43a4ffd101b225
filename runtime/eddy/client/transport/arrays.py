# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays to blobs and back: what a buffer's description says about its bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy.core.conversion import convert
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_bytes

Array = npt.NDArray[Any]
ONE_BLOB_BYTES = 32 << 20
"""A batch up to this size goes as one blob, a larger one as a blob an item, so that a broken upload costs little."""


@dataclass(frozen=True, slots=True)
class BufferInfo:
    """A buffer of an application, as the server describes it; the fields are those of `eddy.core.applications`."""

    name: str
    role: str
    bytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    shipped: bool
    picture: bool = False

    @property
    def named(self) -> tuple[str, str]:
        """How errors name it: as a sentence begins, and as a field of a submission."""
        return f"Buffer {self.name!r}", f"inputs.{self.name}"

    @staticmethod
    def parse(answer: Mapping[str, Any]) -> BufferInfo:
        """From the server's JSON."""
        dtype, shape = np.dtype(answer["dtype"]), tuple(answer["shape"])
        flags = bool(answer["shipped"]), bool(answer.get("picture", False))
        return BufferInfo(answer["name"], answer["role"], answer["bytes"], dtype, shape, *flags)


def items(array: Any, buffer: BufferInfo, batch: int | None) -> list[bytes]:
    """The bytes of each item of an input.

    Args:
        array: Shape ``(batch, *buffer.shape)``, or ``buffer.shape`` for one item.
        buffer: What the application says of it.
        batch: Number of items expected, or None to take what the array has.

    Raises:
        InvalidRequest: Shape or values do not fit; says what would.
    """
    values = convert(array, buffer.dtype, *buffer.named)
    if values.shape == buffer.shape and batch in (None, 1):
        values = values[np.newaxis]
    if values.shape[1:] != buffer.shape or values.ndim != len(buffer.shape) + 1 or values.shape[0] == 0:
        raise _refused(buffer, f"shape {values.shape}", f"shape (batch, {', '.join(map(str, buffer.shape))})")
    if batch is not None and values.shape[0] != batch:
        raise _refused(buffer, f"{values.shape[0]} items", f"{batch} items, as the batch says")
    return [np.ascontiguousarray(item).tobytes() for item in values]


def constant(array: Any, buffer: BufferInfo) -> bytes:
    """The bytes of a constant.

    Raises:
        InvalidRequest: Shape or values do not fit.
    """
    values = convert(array, buffer.dtype, *buffer.named)
    if values.shape != buffer.shape:
        raise _refused(buffer, f"shape {values.shape}", f"shape {buffer.shape}")
    return np.ascontiguousarray(values).tobytes()


def _refused(buffer: BufferInfo, found: str, allowed: str) -> InvalidRequest:
    message = f"Buffer {buffer.name!r} has {found}; it takes {allowed}."
    return InvalidRequest(message, field=f"inputs.{buffer.name}", allowed=allowed)


def blobs(parts: list[bytes]) -> list[bytes]:
    """What to send for the items of one input: all in one blob where that is small."""
    return [b"".join(parts)] if sum(map(len, parts)) <= ONE_BLOB_BYTES else parts


def digest(data: bytes) -> str:
    """The name of a blob."""
    return hashlib.sha256(data).hexdigest()


def output(data: bytes, buffer: BufferInfo, batch: int) -> Array:
    """An output as an array of shape ``(batch, *buffer.shape)``.

    Raises:
        InvalidRequest: The server sent another number of bytes than the description says.
    """
    if len(data) != batch * buffer.bytes:
        message = (
            f"Output {buffer.name!r} came with {format_bytes(len(data))} instead of"
            f" {format_bytes(batch * buffer.bytes)}."
        )
        raise InvalidRequest(message, field=f"outputs.{buffer.name}")
    return np.frombuffer(data, buffer.dtype).reshape((batch, *buffer.shape)).copy()


def read_written_array(data: bytes, output: Mapping[str, Any]) -> Array:
    """An array a kernel has written, as the job object describes it."""
    return np.frombuffer(data, np.dtype(output["dtype"])).reshape(tuple(output["shape"])).copy()
