# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Estimates for overviews while the board keeps the engine: the last ones, with their age."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from eddy.cli.support.expected import estimate_line, estimate_sentence
from eddy.hypervisor.forecast import forecast_service as subject
from eddy.hypervisor.forecast.estimator_feed import EstimatorFeed
from eddy.hypervisor.forecast.forecast_service import ForecastService
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from machine_kit import ONE


class Engine:
    """A machine with a job that waits."""

    def __init__(self) -> None:
        self.machine = Machine({0: 0.1}, POLICIES["fcfs"](pipelined=True), {ONE.tasks[0].module: {0: "i"}})
        self.machine.step(0.0, [m.Arrive(m.JobSpec(number, "a", ONE)) for number in (1, 2)])
        self.estimates = EstimatorFeed(Store(":memory:"))
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
    monkeypatch.setattr(subject, "MIN_S", 0.0)
    monkeypatch.setattr(subject, "PART", 0.0)

    async def go() -> None:
        board = Busy()
        asking = ForecastService(Engine(), board)
        assert await asking.recent_estimates(None, 0.01) is None, "nothing was ever said"
        assert await asking.recent_estimates(None, 0.01) is None
        assert board.calls == 1, "who asks in vain does not end the look, nor begin another"
        board.free.set()
        first = await asking.recent_estimates(None, 60.0)
        assert first is not None
        assert first.estimate_of(2) is not None
        board.free.clear()
        again = await asking.recent_estimates(None, 0.05)
        assert again is first
        told = again.estimate_of(2)
        assert told is not None
        assert told.age_s >= 0.05
        board.free.set()
        later = await asking.recent_estimates(None, 60.0)
        assert later is not first, "the look went on, and is there for who asks next"

    asyncio.run(go())


class FailingEstimator:
    """Makes calls in the engine's thread until the board is away; then none, from the call of that number on."""

    def __init__(self) -> None:
        self.calls = 0
        self.away_from: int | None = None

    async def __call__(self, call: Callable[..., Any], *arguments: object) -> Any:
        self.calls += 1
        if self.away_from is not None and self.calls >= self.away_from:
            raise ConnectionError("the board is away")
        return call(*arguments)


def test_where_a_look_fails_the_last_outlook_is_told_and_there_is_none_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subject, "MIN_S", 0.0)
    monkeypatch.setattr(subject, "PART", 0.0)
    monkeypatch.setattr(subject, "REST_S", 60.0)

    async def go() -> None:
        board = FailingEstimator()
        asking = ForecastService(Engine(), board)
        first = await asking.recent_estimates(None, 60.0)
        assert first is not None
        board.away_from = board.calls + 1
        for _ in range(20):
            assert await asking.recent_estimates(None, 60.0) is first
        assert board.calls == board.away_from, "one look failed"
        with pytest.raises(ConnectionError):
            await asking.outlook()
        monkeypatch.setattr(subject, "REST_S", 0.0)
        with pytest.raises(ConnectionError):
            await asking.outlook()
        board.away_from = None
        again = await asking.recent_estimates(None, 60.0)
        assert again is not None
        assert again is not first

    asyncio.run(go())


def test_where_nothing_was_ever_said_a_look_that_fails_says_nothing() -> None:
    async def go() -> None:
        board = FailingEstimator()
        board.away_from = 1
        asking = ForecastService(Engine(), board)
        for _ in range(20):
            assert await asking.recent_estimates(1, 60.0) is None
        assert board.calls == 1

    asyncio.run(go())


def test_an_outlook_that_could_not_be_noted_makes_no_older_one_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MIN_S", 0.0)
    monkeypatch.setattr(subject, "PART", 0.0)

    async def go() -> None:
        board = FailingEstimator()
        asking = ForecastService(Engine(), board)
        first = await asking.outlook()
        monkeypatch.setattr(subject, "MIN_S", 60.0)
        await asyncio.sleep(0.01)
        board.away_from = board.calls + 2
        with pytest.raises(ConnectionError):
            await asking.outlook()
        board.away_from = None
        assert await asking.outlook() is not first

    asyncio.run(go())


def test_who_joins_a_look_for_another_job_is_told_of_his_own() -> None:
    async def go() -> None:
        board, engine = Busy(), Engine()
        asking = ForecastService(engine, board)
        board.free.set()
        drawn = asyncio.Event()
        make = board.__call__

        async def slowly(call: Callable[..., Any], *arguments: object) -> Any:
            made = await make(call, *arguments)
            if not drawn.is_set():  # the queues were drawn; another job comes while they are forecast
                drawn.set()
                await asyncio.sleep(0.05)
            return made

        asking._on_board = slowly
        first = asyncio.create_task(asking.recent_estimates(2, 60.0))
        await drawn.wait()
        engine.machine.step(0.0, [m.Arrive(m.JobSpec(3, "a", ONE))])
        told = await asyncio.gather(*(asking.recent_estimates(3, 60.0) for _ in range(5)))
        assert all(each is not None and each.estimate_of(3) is not None for each in told)
        assert len({id(each) for each in told}) == 1, "one look more for all of them"
        other = await first
        assert other is not None
        assert other.estimate_of(3) is None

    asyncio.run(go())


def test_who_has_no_time_for_another_look_is_told_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "SOON_S", 60.0)

    async def go() -> None:
        asking = ForecastService(Engine(), FailingEstimator())
        first, other = await asyncio.gather(asking.recent_estimates(2, 5.0), asking.recent_estimates(99, 5.0))
        assert first is not None
        assert other is first

    began_s = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - began_s < 5.0


def test_a_place_in_the_queue_is_told_in_a_sentence() -> None:
    times = {"start_p50_s": 2.0, "start_p90_s": 3.0, "end_p50_s": 4.0, "end_p90_s": 5.0}
    estimate = {"at_s": 1.0, "age_s": 0.0, "position": 5, "known": True, **times}
    assert estimate_sentence(estimate).startswith("It is at place 5 in the queue; starts in about 1")
    assert estimate_sentence({**estimate, "position": None, "start_p50_s": None}).startswith("It ends in about 3")
    assert "ago" not in estimate_line(estimate)
    assert estimate_line({**estimate, "age_s": 12.0}).endswith("estimated 12.0 s ago")
    assert estimate_sentence(None) == ""
