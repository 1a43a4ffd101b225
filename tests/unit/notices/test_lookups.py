# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant whose names are never answered for holds up no look-up of others."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest
from eddy.notices.lookups import AT_ONCE
from eddy.notices.targets import parse_webhook
from eddy.notices.webhook import AttemptFailed, addresses_of

SLOW = parse_webhook("https://slow.example/hook")
QUICK = parse_webhook("https://quick.example/hook")


def test_names_that_are_not_answered_for_hold_up_their_tenant_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hangs = threading.Event()

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        if host == SLOW.host:
            hangs.wait(60)
            raise OSError("no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("203.0.113.7", port))]

    async def attack() -> list[Any]:
        slow = [asyncio.create_task(addresses_of(SLOW, "mallory")) for _ in range(64)]
        await asyncio.sleep(0)
        found = [await addresses_of(QUICK, "ada") for _ in range(20)]
        with pytest.raises(AttemptFailed, match="still being looked up"):
            await addresses_of(QUICK, "mallory")
        threads = sum(thread.name == "eddy-look-up" for thread in threading.enumerate())
        hangs.set()
        failed = await asyncio.gather(*slow, return_exceptions=True)
        assert sum("cannot be resolved" in str(each) for each in failed) == AT_ONCE
        assert await addresses_of(QUICK, "mallory")
        return [threads, *found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    threads, *found = asyncio.run(attack())
    assert threads <= AT_ONCE + 1
    assert {str(address) for each in found for address in each} == {"203.0.113.7"}
