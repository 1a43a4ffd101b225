# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What operators change while jobs run: which slots are given to jobs, and which policies decide."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from eddy.core.slots import Pool
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import EngineWorker
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.policy.price.view import PricePolicy

SWITCHED_S = 5.0
"""Wall seconds within which another price policy is in force, while the board is there."""


class OperatorCommands:
    """Has an engine take what operators change.

    Args:
        engine: It makes changes durable, and its next step takes them.
    """

    def __init__(self, engine: Engine, worker: EngineWorker) -> None:
        self._engine, self._worker = engine, worker

    async def drain(self, slot: int, because: str) -> None:
        """Give a slot to nobody any more, which survives a restart: what runs there ends, its job goes on elsewhere.

        Args:
            because: Shown to operators; "" gives it to jobs again.

        Raises:
            NotFound: There is no such slot that jobs are given.
        """
        await self._worker.request(self._engine.intake.drain, slot, because)

    async def close_soon(self, closing: Mapping[int, tuple[float, str]]) -> None:
        """Hold back jobs that could not end before their slots close.

        Args:
            closing: By slot that closes: in how many seconds, and the maintenance window that closes it.
        """
        await self._worker.request(self._engine.intake.close_soon, closing)

    async def switch(
        self, policy: DispatchPolicy, pool: Pool = Pool.PIPELINE, kept: tuple[str, str] | None = None
    ) -> None:
        """Have another policy decide about a pool's slots; what runs goes on. `kept` as in `Intake.switch`."""
        await self._worker.request(self._engine.intake.switch, pool, policy, kept)

    async def switch_price(self, policy: PricePolicy, kept: tuple[str, str] | None = None) -> None:
        """Have another policy share the cores of clusters, and wait until it does; kernels that run go on."""
        intake = self._engine.intake
        await self._worker.request(intake.switch_price, policy, kept)
        price = self._engine.price
        with anyio.move_on_after(SWITCHED_S):  # longer only where the board went away, or somebody switched again
            while price is not None and intake.price is policy and price.policy_name != policy.name:
                await anyio.sleep(0.002)
