# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What systemd is told: that a service is ready, that it is alive, that it ends.

Both halves beat from the loop that does their work, so that one that hangs is found out. Where systemd did not start
the process, nothing is sent. Ref: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"


class Notifier:
    """Tells the service manager.

    Args:
        environment: Where it is said whom to tell; what it says is taken out, so that no child tells anything.
    """

    def __init__(self, environment: MutableMapping[str, str] | None = None) -> None:
        found = os.environ if environment is None else environment
        self._address = found.pop("NOTIFY_SOCKET", "")
        microseconds = found.pop("WATCHDOG_USEC", "")
        meant = found.pop("WATCHDOG_PID", str(os.getpid()))
        watched = self._address and microseconds.isdecimal() and meant == str(os.getpid())
        self.interval_s: float | None = int(microseconds) / 3e6 if watched else None
        """Seconds between two beats; None where nobody watches."""
        self._next_s = 0.0

    def tell(self, what: str) -> None:
        """Send a message. A manager that is not there is nobody's fault."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as outgoing:
            outgoing.setblocking(False)
            outgoing.sendto(what.encode(), address)

    def send_watchdog(self) -> None:
        """Say that the loop turns, where that is due."""
        if self.interval_s is None or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + self.interval_s
        self.tell(ALIVE)
