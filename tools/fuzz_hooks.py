# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `make fuzz` tells schemathesis that a page cannot say: to end a job is not to forget it, and a header nobody
knows is passed over, as RFC 9110 (5.1) asks.

Loaded by schemathesis, in its own virtual environment (`tools/fuzz.py`).
"""

from __future__ import annotations

import time
import urllib.request
from http.client import HTTPResponse
from json import load
from typing import Any

from schemathesis import serializer  # type: ignore[import-not-found]
from schemathesis.checks import CHECKS  # type: ignore[import-not-found]
from schemathesis.specs.openapi.checks import (  # type: ignore[import-not-found]
    AcceptedNegativeData,
    UseAfterFree,
)
from schemathesis.specs.openapi.checks import negative_data_rejection as accepted
from schemathesis.specs.openapi.checks import use_after_free as forgotten

STAYS = ("/v1/jobs/{job}", "/v1/jobs/{job}/events", "/v1/jobs/{job}/log", "/v1/jobs/{job}/explain")
"""What can be read of a job after DELETE asked for its end; its outputs are none of it."""
PATIENCE_S = 10.0


@serializer("application/vnd.eddy.frame")  # type: ignore[untyped-decorator]
def frame(_: Any, value: Any) -> bytes:
    """A frame is bytes, as they are generated; most are none."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


def use_after_free(ctx: Any, response: Any, case: Any) -> bool | None:
    """What was deleted is gone; but a job whose end was asked for is still shown, and has ended soon, as cancelled."""
    try:
        found: bool | None = forgotten(ctx, response, case)
    except UseAfterFree as failure:
        if case.operation.path not in STAYS:
            raise
        if case.operation.path == STAYS[0] and case.operation.method.lower() == "get":
            _check_cancelled(response, failure)
        return None
    return found


def _check_cancelled(response: Any, failure: Any) -> None:
    until_s = time.monotonic() + PATIENCE_S
    state = response.json()["state"]
    while state != "cancelled" and time.monotonic() < until_s:
        time.sleep(0.05)
        request = urllib.request.Request(response.request.url, headers=dict(response.request.headers))
        answer: HTTPResponse
        with urllib.request.urlopen(request) as answer:
            state = load(answer)["state"]
    if state != "cancelled":
        raise AssertionError(f"a cancelled job does not end: it is {state} {PATIENCE_S:g} s after {failure.free}")


def negative_data_rejection(ctx: Any, response: Any, case: Any) -> bool | None:
    """What does not fit the page is refused; but for headers that are not on it, which are nobody's to refuse."""
    try:
        found: bool | None = accepted(ctx, response, case)
    except AcceptedNegativeData as failure:
        if "in header - object with unexpected properties" not in failure.message:
            raise
        return None
    return found


CHECKS.register(use_after_free)
CHECKS.register(negative_data_rejection)
