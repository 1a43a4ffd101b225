# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Events over HTTP as a board's server and a head both speak them: what a request may say, how a stream is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Header, Query

from eddy.api.request_bodies.numbers import Decimal

LastEventId = Annotated[Decimal | None, Header(ge=0, le=(1 << 63) - 1, description="The last event seen.")]
"""Header `Last-Event-ID`: a stream goes on behind this event."""
PastEvents = Annotated[Decimal, Query(ge=0, le=1000, description="Past events to begin with, without `Last-Event-ID`.")]
GoOn = Annotated[bool, Query(description="Go on with events as they happen; else the stream ends with the newest.")]

HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Of every stream: proxies neither keep it nor hold it back."""
BEGIN = "retry: 1000\n\n"
"""Every stream begins with it: a client whose stream broke off comes back after a second."""
HEARTBEAT = ": still here\n\n"
"""A comment line: proxies see traffic, clients see nothing."""


def encode(kind: str, data: dict[str, Any], number: int | None = None) -> str:
    """One event in `text/event-stream` form; `number` is what `Last-Event-ID` brings back."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
