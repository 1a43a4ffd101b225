"""Images of the `model` board: what stands for one, and which are in memory."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable

from eddy.board.port import BoardDescription
from eddy.core.slots import Image


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
