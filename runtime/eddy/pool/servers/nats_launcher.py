# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Becomes the server, once the kernel is to end it with the thread that started it: a program of its own.

Between `fork` and `exec`, a process with threads may hardly do anything, so it is not done there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""Of `prctl`.  Source: Linux, prctl(2)."""


def main(parent: int, *server: str) -> None:
    """Run the server in place of this, unless who started it has ended.

    Args:
        server: The server's command line.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() == parent:
        os.execv(server[0], server)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
