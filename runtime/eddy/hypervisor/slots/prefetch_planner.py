# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images that are read into the board's memory before a load needs them, and which of them policies see there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddy.core.applications import Application
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.pools import PoolState
from eddy.hypervisor.slots.resident_images import Near, ResidentImages

AHEAD = 4
"""Images of a module that are read ahead for a job, for as many slots."""


class PrefetchPlanner:
    """Decides which images are read ahead, while the board's storage is idle and as far as there is room.

    Args:
        near: The account of the images in the board's memory.
        pools: By name: their slots, and the images for them.
    """

    def __init__(self, near: ResidentImages, pools: Mapping[Pool, PoolState]) -> None:
        self._near, self._pools = near, pools

    @property
    def is_enabled(self) -> bool:
        """Whether images are read ahead at all: the board keeps images in memory."""
        return self._near.keeps_images

    def next_s(self, now_s: float) -> float | None:
        """When the next image will be in memory of those that are being read; None where none is."""
        return self._near.next_s(now_s)

    def request_image(self, slot: int, module: str, now_s: float) -> bool:
        """An image is loaded, or read because it will be next; answers whether it was near."""
        return self._near.request_image(slot, module, now_s)

    def all_images(self, now_s: float) -> tuple[str, ...]:
        """Every image, as far as there is room: the job that comes first finds its own there."""
        found: list[str] = []
        for pool in self._pools.values():
            slots = sorted(pool.slots)
            found += self._images(pool, [(slot, module) for slot in slots for module in sorted(pool.fits)], now_s)
        return tuple(found)

    def images_of_job(self, application: Application, which: Pool, now_s: float) -> tuple[str, ...]:
        """The images that a job will want: of each task that has none in memory, for slots of their own."""
        pool = self._pools[which]
        slots = sorted(pool.slots)
        modules = [task.module for task in application.tasks]
        far = [module for module in modules if not any(self._near.is_resident(slot, module) for slot in slots)]
        spread = [(slots[(i + turn) % len(slots)], module) for turn in range(AHEAD) for i, module in enumerate(far)]
        return self._images(pool, spread, now_s)

    def _images(self, pool: PoolState, wanted: Iterable[Near], now_s: float) -> tuple[str, ...]:
        if not self.is_enabled:
            return ()
        there = [(slot, module) for slot, module in wanted if slot in pool.fits.get(module, {})]
        return tuple(pool.fits[module][slot] for slot, module in self._near.images_to_prefetch(there, now_s))

    def show(self, slots: Mapping[int, MachineSlot], now_s: float) -> None:
        """Have slots show policies which images are near now."""
        for index in self._near.changes(now_s):
            slot = slots.get(index)
            if slot is not None:
                slot.near, slot.coming, slot.cached = (
                    self._near.resident_modules(index),
                    self._near.loading_modules(index),
                    None,
                )
