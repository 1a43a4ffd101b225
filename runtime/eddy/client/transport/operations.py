# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is done for a call of the server, step by step, without input or output.

An operation is a generator: it yields what is to be done (`SendOperation` a request, `PauseOperation`), is sent what
came of it, and returns its typed answer. `Transport.run` carries it out and blocks, `AsyncTransport.run` awaits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SendOperation:
    """Send a request once; what comes of it is an `httpx.Response`, or the `httpx.TransportError`.

    Attributes:
        method: Of HTTP.
        path: On the server, with its query.
        params: Parameters beyond those in the path.
        content: The body's bytes.
        headers: Beside those of every request.
        answer_s: Wall seconds the answer may take; None for what the transport allows.
    """

    method: str
    path: str
    params: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    answer_s: float | None = None


@dataclass(frozen=True, slots=True)
class PauseOperation:
    """Wait so many wall seconds; nothing comes of it."""

    seconds: float


Operation = Generator[SendOperation | PauseOperation, Any, T]
"""What is done for one call, step by step; it returns the answer."""
