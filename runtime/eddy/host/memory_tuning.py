# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a server does about memory: how often Python looks for cycles of objects nobody uses, how many heaps C keeps.

A server keeps hundreds of thousands of objects that live as long as it does: modules, models, jobs. Looking through
them all takes tens of milliseconds, in which nobody is answered, and by default it comes every few thousand requests.
So what is there when a server has started is left out, and the rest is looked through less often; what is not in a
cycle, nearly everything here, goes at once as ever.

The C library gives every thread that allocates a heap of its own, up to eight a core, and each keeps what it once
needed. A server's threads come and go with its load, so that is tens of megabytes that nobody uses; two heaps do.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects more than went since the youngest were looked through last (Python's own: 700)."""
MIDDLE, OLD = 20, 50
"""How often the younger are looked through for once of the older."""

HEAPS = 2
"""Heaps of the C library."""
_M_ARENA_MAX = -8
"""What `mallopt` of glibc calls their number (malloc.h)."""


def limit_heaps() -> bool:
    """Keep the C library to `HEAPS` heaps, from before threads start; answers whether this C library can."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, HEAPS) == 1)
    except AttributeError:
        return False


@contextmanager
def pause_collection() -> Iterator[None]:
    """Do not look while modules are imported, or jobs are recovered: all of it stays. That is a tenth of the processor
    time of imports, and a third of what thousands of jobs take."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def freeze_objects() -> None:
    """Leave out what is there now, and look less often from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
