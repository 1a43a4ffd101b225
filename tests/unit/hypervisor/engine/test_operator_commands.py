# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What operators change reaches the engine's inbox once it takes requests, and a price policy is in force on return."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.core.errors import NotFound
from eddy.core.slots import Pool
from eddy.hypervisor.engine import operator_commands
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import EngineWorker
from eddy.hypervisor.engine.job_subscriptions import JobSubscriptions
from eddy.hypervisor.engine.operator_commands import OperatorCommands
from eddy.policy.dispatch import POLICIES as DISPATCH
from eddy.policy.price import POLICIES
from eddy.store import Store


class Intake:
    """An inbox that keeps what is put there."""

    def __init__(self) -> None:
        self.put: list[tuple[Any, ...]] = []
        self.price: Any = None

    def drain(self, slot: int, because: str) -> None:
        if slot > 1:
            raise NotFound("There is no such slot.")
        self.put.append((slot, because))

    def switch(self, pool: Pool, policy: Any, kept: Any) -> None:
        self.put.append((pool, policy))

    def switch_price(self, policy: Any, kept: Any) -> None:
        self.price = policy
        self.put.append((policy,))


def made(price: Any = None) -> tuple[OperatorCommands, EngineWorker, Intake]:
    intake = Intake()
    engine = cast(Engine, SimpleNamespace(intake=intake, price=price))
    worker = EngineWorker(engine, cast(Store, None), JobSubscriptions(), lambda: False)
    return OperatorCommands(engine, worker), worker, intake


def test_a_request_waits_until_requests_are_taken_and_is_looked_at() -> None:
    async def run() -> None:
        operates, worker, intake = made()
        asked = asyncio.ensure_future(operates.drain(1, "a new fan"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert intake.put == []
        worker.ready.set()
        wake = worker._woken
        assert not wake.is_set()
        await asked
        assert wake.is_set()
        fcfs = DISPATCH["fcfs"]()
        await operates.switch(fcfs)
        assert intake.put == [(1, "a new fan"), (Pool.PIPELINE, fcfs)]
        with pytest.raises(NotFound):
            await operates.drain(7, "")

    asyncio.run(run())


def test_a_price_policy_is_in_force_on_return_unless_somebody_switched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_commands, "SWITCHED_S", 180.0)

    async def run() -> None:
        price = SimpleNamespace(policy_name="entitlement")
        operates, worker, intake = made(price)
        worker.ready.set()
        asked = asyncio.ensure_future(operates.switch_price(POLICIES["market"]()))
        while not intake.put:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        assert not asked.done(), "it is asked for, and not yet in force"
        price.policy_name = "market"
        await asked
        again = asyncio.ensure_future(operates.switch_price(POLICIES["hsm_fair"]()))
        while len(intake.put) < 2:
            await asyncio.sleep(0.001)
        intake.price = POLICIES["market"]()
        await again

    asyncio.run(run())


def test_without_a_market_there_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_commands, "SWITCHED_S", 180.0)

    async def run() -> None:
        operates, worker, intake = made()
        worker.ready.set()
        await operates.switch_price(POLICIES["market"]())
        assert len(intake.put) == 1

    asyncio.run(run())
