# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which images lie in the board's memory, as the machine accounts for it: loads of those take the port alone; and which
are read there before a load needs them.

All that changes there comes from the machine's own commands, so it keeps the same account as the board
(`eddy.board.images.image_memory`), and no decision has to ask the board. Where the account is wrong, because a read
failed or was slower than its rate says, a load takes longer; nothing else follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddy.board.images.image_memory import ImageMemory
from eddy.core.applications import Application
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.pools import PoolState

Near = tuple[int, str]
"""Slot and module."""


class ResidentImages:
    """The account of the images in memory.

    Args:
        capacity_bytes: Memory for images; 0 where none is kept.
        image_bytes: Bytes of an image, by slot.
        read_s: Seconds its read from storage takes, by slot.
    """

    def __init__(
        self,
        capacity_bytes: int = 0,
        image_bytes: Mapping[int, int] | None = None,
        read_s: Mapping[int, float] | None = None,
    ) -> None:
        sizes, reads_s = dict(image_bytes or {}), dict(read_s or {})
        self._memory: ImageMemory[Near] = ImageMemory(
            capacity_bytes, lambda image: sizes.get(image[0], 0), lambda image: reads_s.get(image[0], 0.0)
        )
        self._kept = capacity_bytes > 0
        self._modules: dict[int, frozenset[str]] = {}
        self._coming: dict[int, frozenset[str]] = {}

    @property
    def keeps_images(self) -> bool:
        """Whether the board keeps images in memory at all."""
        return self._kept

    def resident_modules(self, slot: int) -> frozenset[str]:
        """Modules whose image for a slot is near."""
        return self._modules.get(slot, frozenset())

    def loading_modules(self, slot: int) -> frozenset[str]:
        """Modules whose image for a slot is being read because it is needed."""
        return self._coming.get(slot, frozenset())

    def is_resident(self, slot: int, module: str) -> bool:
        """Whether the image of a module for a slot is near, or will be as soon as it can."""
        return (slot, module) in self._memory

    def request_image(self, slot: int, module: str, now_s: float) -> bool:
        """An image is needed; answers whether it was near."""
        if not self._kept:
            return False
        near = self._memory.ready((slot, module), now_s)
        self._memory.fetch((slot, module), now_s)
        return near

    def images_to_prefetch(self, wanted: Iterable[Near], now_s: float) -> tuple[Near, ...]:
        """Of images that will be wanted, those to be read ahead."""
        return self._memory.read_ahead(wanted, now_s)

    def next_s(self, now_s: float) -> float | None:
        """When the next image will be near of those that are being read; None where none is."""
        return self._memory.next_s(now_s)

    def changes(self, now_s: float) -> frozenset[int]:
        """Slots for which other images are near or coming than when this was asked last."""
        near: dict[int, set[str]] = {}
        coming: dict[int, set[str]] = {}
        for slot, module in self._memory.changes(now_s):
            here = near.setdefault(slot, set(self.resident_modules(slot)))
            under_way = coming.setdefault(slot, set(self.loading_modules(slot)))
            ready = self._memory.ready((slot, module), now_s)
            (here.add if ready else here.discard)(module)
            (under_way.add if not ready and self.is_resident(slot, module) else under_way.discard)(module)
        self._modules.update((slot, frozenset(modules)) for slot, modules in near.items())
        self._coming.update((slot, frozenset(modules)) for slot, modules in coming.items())
        return frozenset(near)


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
