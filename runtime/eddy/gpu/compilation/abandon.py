# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Work that is given up: what runs on behalf of a caller who has left ends, and with it the processes it started.

The caller's side is `abandon_scope`, the working side `is_abandoned` and `check`. The connection between them follows
the context into threads, so that nothing in between has to hand it on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STOP: ContextVar[threading.Event | None] = ContextVar("eddy_abandoned", default=None)


class WorkAbandoned(Exception):
    """Nobody waits for the result any more."""


@contextmanager
def abandon_scope(stop: threading.Event) -> Iterator[None]:
    """Work begun in this block, also in threads begun from it, ends soon after `stop` is set, with `WorkAbandoned`."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def is_abandoned() -> bool:
    """Whether nobody waits for this work any more."""
    stop = _STOP.get()
    return stop is not None and stop.is_set()


def check() -> None:
    """Go on, if somebody still waits.

    Raises:
        Abandoned: Nobody does.
    """
    if is_abandoned():
        raise WorkAbandoned
