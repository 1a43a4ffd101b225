# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arguments and sizes of a session's launches, as they travel."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.gpu.programs.ndrange import Local


def sent_argument(value: object) -> dict[str, Any]:
    """An argument of a launch that is no buffer."""
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
