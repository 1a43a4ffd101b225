"""How often Python looks for cycles of objects nobody uses.

A server keeps hundreds of thousands of objects that live as long as it does: modules, models, jobs. Looking through
them all takes tens of milliseconds, in which nobody is answered, and by default it comes every few thousand requests.
So what is there when a server has started is left out, and the rest is looked through less often; what is not in a
cycle, nearly everything here, goes at once as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects more than went since the youngest were looked through last (Python's own: 700)."""
MIDDLE, OLD = 20, 50
"""How often the younger are looked through for once of the older."""


@contextmanager
def put_off() -> Iterator[None]:
    """Do not look while modules are imported: all of it stays. A tenth of the processor time of a start."""
    looked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked:
            gc.enable()


def spare() -> None:
    """Leave out what is there now, and look less often from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
