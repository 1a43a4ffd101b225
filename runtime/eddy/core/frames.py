# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A message of a session as it travels: the length of its head, the head in JSON, then bytes as they are."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

from eddy.core.errors import InvalidRequest

MEDIA_TYPE = "application/vnd.eddy.frame"
MAX_HEAD_BYTES = 4 << 20
_LENGTH = struct.Struct("<I")


def pack_frame(head: Any, parts: Iterable[bytes] = ()) -> bytes:
    """A message.

    Args:
        head: What JSON can say.
        parts: Bytes that follow it, end to end.
    """
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *parts])


def split_frame(message: bytes) -> tuple[bytes, bytes]:
    """The head's JSON, and the bytes that follow it.

    Raises:
        InvalidRequest: It is no message.
    """
    if len(message) >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(message)
        if length <= min(MAX_HEAD_BYTES, len(message) - _LENGTH.size):
            end = _LENGTH.size + length
            return message[_LENGTH.size : end], message[end:]
    allowed = "the length of a head (4 bytes, little endian), the head in JSON, then bytes"
    raise InvalidRequest(f"The body must be {allowed}.", field="body", allowed=allowed)
