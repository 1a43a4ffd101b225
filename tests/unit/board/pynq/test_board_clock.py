# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Wall time of a real board: waits end by a bell, by an end of work, or by the time."""

from __future__ import annotations

import asyncio
import threading

import pytest
from eddy.board.port.clock import WallClock, run_due


def test_a_wait_ends_at_its_time() -> None:
    clock, loop, bell = WallClock(), asyncio.new_event_loop(), asyncio.Event()
    until_s = clock.now_s() + 0.01
    clock.wait(until_s, loop, bell)
    assert clock.now_s() >= until_s
    clock.wait(0.0, loop, bell)
    loop.close()


def test_a_bell_ends_a_wait() -> None:
    clock, loop, bell = WallClock(), asyncio.new_event_loop(), asyncio.Event()
    threading.Timer(0.01, lambda: loop.call_soon_threadsafe(bell.set)).start()
    clock.wait(clock.now_s() + 60, loop, bell)
    assert bell.is_set()
    loop.close()


def test_work_ends_with_its_error_and_rings() -> None:
    clock, loop, bell = WallClock(), asyncio.new_event_loop(), asyncio.Event()

    def work() -> None:
        raise OSError("refused")

    def ring() -> None:
        loop.call_soon_threadsafe(bell.set)

    future = clock.start(work, ring)
    clock.wait(clock.now_s() + 60, loop, bell)
    with pytest.raises(OSError, match="refused"):
        future.result(180)
    loop.close()


def test_due_callbacks_and_what_they_schedule() -> None:
    loop = asyncio.new_event_loop()
    seen: list[str] = []
    loop.call_soon(lambda: loop.call_soon(seen.append, "second"))
    run_due(loop)
    assert seen == ["second"]
    loop.close()
