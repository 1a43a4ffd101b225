# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every head says who it is, and of which release, to a head that asks: an operator asked that one."""

from __future__ import annotations

import contextlib
import json

from eddy.host.distribution import version
from eddy.pool.connection.refusals import UNDONE
from eddy.pool.connection.streams import HEADS
from eddy.pool.jetstream.link import Link


class RollCall:
    """One head's answers."""

    def __init__(self, link: Link, name: str) -> None:
        self._link, self._name = link, name

    async def run(self) -> None:
        """Answer until cancelled."""
        asked = await self._link.nats.subscribe(HEADS)
        try:
            async for message in asked.messages:
                with contextlib.suppress(*UNDONE):
                    await message.respond(json.dumps({"name": self._name, "release": version()}).encode())
        finally:
            with contextlib.suppress(*UNDONE):
                await asked.unsubscribe()
