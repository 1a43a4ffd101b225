# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images of the `model` board: what stands for one, which are in memory, and what it takes to read one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from eddy.board.images.image_memory import ImageMemory
from eddy.board.port.port import BoardDescription
from eddy.core.slots import Image


@dataclass(frozen=True, slots=True)
class LoadTime:
    """What a load of one slot takes, in seconds: reading the image from storage, then the configuration port."""

    storage_s: float
    port_s: float


class ImageReads:
    """The storage, which reads one image at a time, and the memory that images are read into.

    Args:
        description: What the board is.
        load_times: By slot; slots left out take their image's bytes over the description's port rate, from memory.
        cache_bytes: Memory for images that were read before.
    """

    def __init__(self, description: BoardDescription, load_times: Mapping[int, LoadTime], cache_bytes: int) -> None:
        self._description, self._load_times = description, dict(load_times)
        self._memory: ImageMemory[Image] = ImageMemory(
            cache_bytes, lambda image: image.bytes, lambda image: self.load_time(image.slot).storage_s
        )

    def load_time(self, slot: int) -> LoadTime:
        """What a load of a slot takes."""
        known = self._load_times.get(slot)
        if known is not None:
            return known
        description = self._description
        return LoadTime(0.0, description.slots[slot].image_bytes / description.configuration_bytes_per_s)

    def in_memory_s(self, image: Image, now_s: float) -> float:
        """When an image is in memory, its read being started now if it must be."""
        return self._memory.request_image(image, now_s)

    def prefetch(self, image: Image, now_s: float) -> None:
        """Start the read of an image, where there is memory to keep it."""
        self._memory.fetch(image, now_s)

    def read_ahead(self, images: Iterable[Image], now_s: float) -> None:
        """Read images while the storage has nothing else to do."""
        self._memory.read_ahead(images, now_s)


def model_images(
    description: BoardDescription,
    modules: Iterable[str],
    scrubbed: Collection[str] = (),
    unchecked: Collection[str] = (),
) -> tuple[Image, ...]:
    """An image of every module for every slot, named by hashes of their names.

    Args:
        description: What the board is.
        modules: The modules.
        scrubbed: Those that a reset makes clean for another tenant.
        unchecked: Those that have no check on record.
    """
    return tuple(
        Image(
            sha256=hashlib.sha256(f"model:{module}:{slot.index}".encode()).hexdigest(),
            module=module,
            build=_build(module),
            shell=description.shell,
            slot=slot.index,
            bytes=slot.image_bytes,
            clk_hz=slot.clk_hz,
            scrub_build=_build(module) if module in scrubbed else "",
            checked_build="" if module in unchecked else _build(module),
        )
        for module in modules
        for slot in description.slots
    )


def _build(module: str) -> str:
    return hashlib.sha256(module.encode()).hexdigest()[:16]
