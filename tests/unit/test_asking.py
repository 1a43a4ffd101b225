"""Estimates for overviews while the board keeps the engine: the last ones, with their age."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from eddy.cli.expected import estimate_line, estimate_sentence
from eddy.hypervisor import messages as m
from eddy.hypervisor.forecast import asking as subject
from eddy.hypervisor.forecast.asking import Asking
from eddy.hypervisor.forecast.keeper import EstimateKeeper
from eddy.hypervisor.machine import Machine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from machine_kit import ONE


class Engine:
    """A machine with a job that waits."""

    def __init__(self) -> None:
        self.machine = Machine({0: 0.1}, POLICIES["fcfs"](pipelined=True), {ONE.tasks[0].module: {0: "i"}})
        self.machine.step(0.0, [m.Arrive(m.JobSpec(number, "a", ONE)) for number in (1, 2)])
        self.estimates = EstimateKeeper(Store(":memory:"))
        self.estimates.start(self.machine)
        self.now_s = 0.0


class Busy:
    """Makes calls in the engine's thread, as soon as the board lets it go."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.calls = 0

    async def __call__(self, call: Callable[..., Any], *arguments: object) -> Any:
        self.calls += 1
        await self.free.wait()
        return call(*arguments)


def test_while_the_board_keeps_the_engine_the_last_outlook_is_told_with_its_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subject, "LEAST_S", 0.0)
    monkeypatch.setattr(subject, "PART", 0.0)

    async def go() -> None:
        board = Busy()
        asking = Asking(Engine(), board)
        assert await asking.at_hand(None, 0.01) is None, "nothing was ever said"
        assert await asking.at_hand(None, 0.01) is None
        assert board.calls == 1, "who asks in vain does not end the look, nor begin another"
        board.free.set()
        first = await asking.at_hand(None, 60.0)
        assert first is not None
        assert first.of(2) is not None
        board.free.clear()
        again = await asking.at_hand(None, 0.05)
        assert again is first
        told = again.of(2)
        assert told is not None
        assert told.age_s >= 0.05
        board.free.set()
        later = await asking.at_hand(None, 60.0)
        assert later is not first, "the look went on, and is there for who asks next"

    asyncio.run(go())


def test_a_place_in_the_queue_is_told_in_a_sentence() -> None:
    times = {"start_p50_s": 2.0, "start_p90_s": 3.0, "end_p50_s": 4.0, "end_p90_s": 5.0}
    estimate = {"at_s": 1.0, "age_s": 0.0, "position": 5, "known": True, **times}
    assert estimate_sentence(estimate).startswith("It is at place 5 in the queue; starts in about 1")
    assert estimate_sentence({**estimate, "position": None, "start_p50_s": None}).startswith("It ends in about 3")
    assert "ago" not in estimate_line(estimate)
    assert estimate_line({**estimate, "age_s": 12.0}).endswith("estimated 12.0 s ago")
    assert estimate_sentence(None) == ""
