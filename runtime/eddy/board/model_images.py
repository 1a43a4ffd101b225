"""Images of the `model` board: what stands for one, which are in memory, and what it takes to read one."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from eddy.board.port import BoardDescription
from eddy.core.slots import Image


@dataclass(frozen=True, slots=True)
class LoadTime:
    """What a load of one slot takes, in seconds: reading the image from storage, then the configuration port."""

    storage_s: float
    port_s: float


class ImageCache:
    """Images in memory, or on their way there, the one used longest ago leaving first."""

    def __init__(self, capacity_bytes: int) -> None:
        self._left = capacity_bytes
        self._held: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def ready_s(self, sha256: str) -> float | None:
        """When an image is there, or None where it is not."""
        if sha256 not in self._held:
            return None
        self._held.move_to_end(sha256)
        return self._held[sha256][0]

    def holds(self, image: Image) -> bool:
        """Whether an image fits at all."""
        return image.bytes <= self._left + sum(size for _, size in self._held.values())

    def put(self, image: Image, ready_s: float) -> None:
        """Keep an image, if it fits at all."""
        if not self.holds(image):
            return
        while image.bytes > self._left:
            _, (_, size) = self._held.popitem(last=False)
            self._left += size
        self._held[image.sha256] = (ready_s, image.bytes)
        self._left -= image.bytes


class ImageReads:
    """The storage, which reads one image at a time, and the memory that images are read into.

    Args:
        description: What the board is.
        load_times: By slot; slots left out take their image's bytes over the description's port rate, from memory.
        cache_bytes: Memory for images that were read before.
    """

    def __init__(self, description: BoardDescription, load_times: Mapping[int, LoadTime], cache_bytes: int) -> None:
        self._description, self._load_times = description, dict(load_times)
        self._cache = ImageCache(cache_bytes)
        self._free_s = 0.0
        """When the storage has read everything that was asked of it."""

    def load_time(self, slot: int) -> LoadTime:
        """What a load of a slot takes."""
        known = self._load_times.get(slot)
        if known is not None:
            return known
        description = self._description
        return LoadTime(0.0, description.slots[slot].image_bytes / description.configuration_bytes_per_s)

    def in_memory_s(self, image: Image, now_s: float) -> float:
        """When an image is in memory, its read being started now if it must be."""
        ready_s = self._cache.ready_s(image.sha256)
        if ready_s is None:
            ready_s = max(now_s, self._free_s) + self.load_time(image.slot).storage_s
            self._free_s = ready_s
            self._cache.put(image, ready_s)
        return max(now_s, ready_s)

    def prefetch(self, image: Image, now_s: float) -> None:
        """Start the read of an image, where there is memory to keep it."""
        if self._cache.holds(image):
            self.in_memory_s(image, now_s)


def model_images(
    description: BoardDescription, modules: Iterable[str], scrubbed: Collection[str] = ()
) -> tuple[Image, ...]:
    """An image of every module for every slot, named by hashes of their names; of some a reset scrubs them."""
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
        )
        for module in modules
        for slot in description.slots
    )


def _build(module: str) -> str:
    return hashlib.sha256(module.encode()).hexdigest()[:16]
