# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who leads: one entry that the leader renews, and that JetStream forgets when it does not."""

from __future__ import annotations

import time
from collections.abc import Callable

from nats.js.errors import KeyWrongLastSequenceError

from eddy.pool.connection.refusals import AWAY
from eddy.pool.connection.streams import LEASE_S, RENEW_S
from eddy.pool.jetstream.link import Link

ENTRY = "head"


class LeaderLease:
    """The lease of the head that places.

    It gives up `LEASE_S - RENEW_S` after it was last renewed, before JetStream can give it to another. Should two
    heads place nevertheless (clocks drift, a process stands still), records are changed from the revision they were
    read at, so a job is placed once.

    Args:
        clock: Seconds that never jump.
    """

    def __init__(self, link: Link, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._link, self.name, self._clock = link, name, clock
        self._revision = 0
        self._renewed_s = float("-inf")

    @property
    def is_leader(self) -> bool:
        """Whether this head leads."""
        return self._clock() - self._renewed_s < LEASE_S - RENEW_S

    async def renew(self) -> bool:
        """Take or renew it; answers whether this head leads. While the pool is away the lease runs out."""
        asked_s = self._clock()
        try:
            if self._revision:
                self._revision = await self._link.leader.update(ENTRY, self.name.encode(), last=self._revision)
            else:
                self._revision = await self._link.leader.create(ENTRY, self.name.encode())
        except KeyWrongLastSequenceError:
            self._revision = 0
            self._renewed_s = float("-inf")
        except AWAY:
            pass
        else:
            self._renewed_s = asked_s
        return self.is_leader

    async def release(self) -> None:
        """Let another lead at once."""
        if self.is_leader:
            self._renewed_s = float("-inf")
            await self._link.leader.delete(ENTRY, last=self._revision)
