# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The network's side of a leased slot: one lease, its token, and the sign of life that keeps it."""

from __future__ import annotations

import threading
import weakref

from eddy.client import Client
from eddy.client.answers import Lease
from eddy.core.errors import Conflict, EddyError, NotFound

PIECE_BYTES = 512 << 10
"""Bytes of memory that one request moves."""
MOST_SILENCE_S = 30.0
"""Wall seconds between two signs of life, at most; fewer where the lease ends after less silence."""


class LeaseHolder:
    """Who holds a lease, while the process lives.

    Args:
        name: Of the lease.
        token: Of the lease; "" asks the server for it.
        client: Talks to the server; `EDDY_URL` and `EDDY_KEY` say where and as whom where not given.

    Raises:
        EddyError: There is no such lease, or it has ended.
        Conflict: It has no slot yet.
    """

    def __init__(self, name: str, token: str = "", client: Client | None = None) -> None:
        self.name, self.client = name, client or Client()
        self.lease: Lease = self.client.lease(name, wait_s=20.0)
        self.token = token or self.lease["token"]
        if self.lease["state"] != "active":
            why = self.lease["cause"] or f"it is {self.lease['state']}"
            raise Conflict(f"Lease {name} cannot be driven: {why}. `eddy leases` says more.", field="lease")
        self._ended = threading.Event()
        pause_s = min(MOST_SILENCE_S, self.lease["idle_limit_s"] / 4)
        threading.Thread(target=_stay, args=(weakref.ref(self), self._ended, pause_s), daemon=True).start()
        weakref.finalize(self, self._ended.set)

    @property
    def profile(self) -> str:
        """Name of the board's profile."""
        return str(self.client.transport.json("GET", "/v1/overview")["board"])

    @property
    def now_s(self) -> float:
        """Board time."""
        return float(self.client.transport.json("GET", "/v1/slots")["now_s"])

    def read(self, slot: int, offset: int) -> int:
        """Read a register of the module in a slot."""
        return self.client.access_registers(self.name, self.token, [(offset, None)], slot=slot)["values"][0]

    def write(self, slot: int, offset: int, value: int) -> None:
        """Write one."""
        self.client.access_registers(self.name, self.token, [(offset, value)], slot=slot)

    def await_interrupt(self, slot: int) -> bool:
        """Wait for the interrupt of the module in a slot; answers whether it came, after 20 seconds at most."""
        return self.client.await_interrupt(self.name, self.token, slot=slot, wait_s=20.0)

    def load(self, slot: int, module: str) -> None:
        """Load a slot, and return when it can be driven.

        Raises:
            OSError: The load failed; says why.
        """
        found = self.client.load_leased(self.name, self.token, module, slot=slot)
        while found["loading"] and found["state"] == "active":
            found = self.client.lease(self.name, wait_s=20.0)
        if found["holds"].get(str(slot)) != module:
            raise OSError(found["said"] or f"slot {slot} was not loaded: lease {self.name} is {found['state']}")

    def read_memory(self, offset: int, size: int) -> bytes:
        """Bytes of the lease's memory."""
        pieces = range(offset, offset + size, PIECE_BYTES)
        return b"".join(
            self.client.read_lease_memory(self.name, self.token, at, min(PIECE_BYTES, offset + size - at))
            for at in pieces
        )

    def write_memory(self, offset: int, data: bytes) -> None:
        """Put bytes into the lease's memory."""
        for at in range(0, len(data), PIECE_BYTES):
            self.client.write_lease_memory(self.name, self.token, offset + at, data[at : at + PIECE_BYTES])

    def stay(self) -> None:
        """Say that somebody is there."""
        self.client.access_registers(self.name, self.token)


def _stay(holder: weakref.ref[LeaseHolder], ended: threading.Event, pause_s: float) -> None:
    """Say it again and again, until nobody holds the lease any more, or it has ended."""
    while not ended.wait(pause_s):
        found = holder()
        if found is None:
            return
        try:
            found.stay()
        except (NotFound, Conflict):
            return
        except EddyError:
            continue
        finally:
            del found
