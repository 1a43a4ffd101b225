# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The configuration port: one load at a time, over all pools, and neither pool keeps it from the other."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.core.slots import Pool
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.pools import PoolState


class ConfigurationPort:
    """What is loading, for whom the port is kept, and who had it last.

    Attributes:
        loading: The slot that is being loaded, or None.
    """

    def __init__(self) -> None:
        self.loading: MachineSlot | None = None
        self._promised: Pool | None = None
        self._last: Pool | None = None

    def is_closed_to(self, pool: Pool) -> bool:
        """Whether a pool cannot load anything now: a load is under way, or the port is kept for another pool."""
        return self.loading is not None or self._promised not in (None, pool)

    def reserve(self, pool: Pool) -> None:
        """Keep the port for a pool whose job has just asked for memory, to be loaded as soon as it has it.

        The first one it is promised to has it; a port that is loading is promised to nobody.
        """
        if self.loading is None and self._promised is None:
            self._promised = pool

    def open(self) -> None:
        """Keep it for nobody any more."""
        self._promised = None

    def begin(self, slot: MachineSlot, pool: Pool) -> None:
        """A slot of a pool is being loaded."""
        self.loading, self._last = slot, pool

    def end(self, slot: MachineSlot) -> None:
        """The load of a slot is over."""
        if self.loading is slot:
            self.loading = None

    def pools_in_turn(self, pools: Iterable[PoolState]) -> list[PoolState]:
        """Pools in the order they are asked in: the one that was loaded last comes last."""
        return sorted(pools, key=lambda pool: pool.pool is self._last)
