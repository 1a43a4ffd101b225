# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which images lie in the board's memory, as the machine accounts for it: loads of those take the port alone.

All that changes there comes from the machine's own commands, so it keeps the same account as the board
(`eddy.board.images.image_memory`), and no decision has to ask the board. Where the account is wrong, because a read
failed or was slower than its rate says, a load takes longer; nothing else follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eddy.board.images.image_memory import ImageMemory

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
