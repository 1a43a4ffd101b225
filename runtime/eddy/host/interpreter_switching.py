# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long a thread of a server keeps the interpreter while another one waits for it.

One thread runs Python at a time. Whoever waits for a disk or a connection gives the interpreter away, and asks for it
back when that is done; by default it is taken from another thread 5 ms later. Between a request and its answer a server
does so a dozen times, and the thread that decides about slots computes all the while: what takes tens of microseconds
waits for milliseconds each time.
"""

from __future__ import annotations

import sys

TURN_S = 2e-3
"""Wall seconds for which a thread that computes is left alone. Shorter turns answer more submissions and take the time
from the thread that decides about slots: at 0.3 ms a quarter of the work is done while many submit
(docs/decisions/engine-and-requests.md)."""


def set_switch_interval() -> None:
    """Have the interpreter change hands after `TURN_S`, in this process and from now on."""
    sys.setswitchinterval(TURN_S)
