# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lets a server go on that was stopped for a copy, however the process ends that stopped it.

    python -I -S server_resumer.py PID

Sends SIGCONT to the process once standard input ends, which it does with whoever has its other end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Wait for the end of the input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's interrupt is for who stopped the server
    sys.stdin.read()
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(sys.argv[1]), signal.SIGCONT)


if __name__ == "__main__":
    main()
