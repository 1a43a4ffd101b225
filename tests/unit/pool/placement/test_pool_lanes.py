# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calls at once: lanes keep their order, others do not wait for them, and a failure begins nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from eddy.pool.placement.leader import run_in_lanes


def test_a_lane_keeps_its_order_while_others_go_on() -> None:
    async def check() -> None:
        done, gate, under_way, most = list[str](), asyncio.Event(), 0, 0

        def call(name: str) -> Callable[[], Awaitable[None]]:
            async def it() -> None:
                nonlocal under_way, most
                under_way += 1
                most = max(most, under_way)
                if name == "a1":
                    await gate.wait()
                await asyncio.sleep(0)
                under_way -= 1
                done.append(name)

            return it

        names = ["a1", "b1", "a2", "b2", "c1", "a3", "b3", "d1"]
        running = asyncio.ensure_future(run_in_lanes([(name[0], call(name)) for name in names], at_once=3))
        for _ in range(100):
            await asyncio.sleep(0)
        assert sorted(done) == ["b1", "b2", "b3", "c1", "d1"], "a waits for its first; nobody waits for a"
        gate.set()
        await running
        assert [name for name in done if name[0] == "a"] == ["a1", "a2", "a3"]
        assert [name for name in done if name[0] == "b"] == ["b1", "b2", "b3"]
        assert most == 3

    asyncio.run(check())


def test_after_a_failure_nothing_begins_and_what_is_under_way_ends() -> None:
    async def check() -> None:
        began, ended, gate = list[str](), list[str](), asyncio.Event()

        async def fails() -> None:
            began.append("fails")
            raise OSError("away")

        async def slow() -> None:
            began.append("slow")
            await gate.wait()
            ended.append("slow")

        async def later() -> None:
            began.append("later")

        calls = [("a", slow), ("b", fails), ("b", later), ("c", later)]
        running = asyncio.ensure_future(run_in_lanes(calls, at_once=2))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not running.done()
        gate.set()
        with pytest.raises(OSError, match="away"):
            await running
        assert (began, ended) == (["slow", "fails"], ["slow"])

    asyncio.run(check())
