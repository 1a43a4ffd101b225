# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images in memory and the storage they are read from: what is held, what is being read, and what is read ahead.

The storage reads one image at a time. A load's own image goes first; what is read ahead is read in pieces, so it gives
way at once and goes on later from where it was. It never makes an image leave, what is needed does: the image used
longest ago goes. The `model` board counts time by this, and the hypervisor keeps the same account of a board's memory.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K")


class ImageMemory(Generic[K]):
    """What a board's memory for images holds over time.

    Args:
        capacity_bytes: Memory for images; with 0 every image is read whenever it is needed.
        size_bytes: Of an image.
        read_s: Seconds its read from storage takes.
    """

    def __init__(self, capacity_bytes: int, size_bytes: Callable[[K], int], read_s: Callable[[K], float]) -> None:
        self._capacity_bytes, self._left = capacity_bytes, capacity_bytes
        self._size_bytes, self._read_s = size_bytes, read_s
        self._held: OrderedDict[K, float] = OrderedDict()
        """When each is there, the one used longest ago first."""
        self._ahead: OrderedDict[K, float] = OrderedDict()
        """Images to be read ahead, and seconds of each that are left."""
        self._free_s = 0.0
        """When the storage has read everything that was needed."""
        self._now_s = 0.0
        self._coming: dict[K, float] = {}
        """Images whose reads were under way when `changes` was asked last, or began since, and when they end."""
        self._changed: set[K] = set()

    def __contains__(self, image: K) -> bool:
        """Whether an image is held, or being read because it is needed."""
        return image in self._held

    def ready(self, image: K, now_s: float) -> bool:
        """Whether an image is there."""
        return self._held.get(image, math.inf) <= now_s

    def next_s(self, now_s: float) -> float | None:
        """When the next image will be there of those that are being read; None where none is."""
        self._pass(now_s)
        coming = [ready_s for ready_s in self._coming.values() if ready_s > now_s]
        if self._ahead:
            coming.append(max(self._now_s, self._free_s) + next(iter(self._ahead.values())))
        return min(coming, default=None)

    def changes(self, now_s: float) -> frozenset[K]:
        """Images that came, left or began to be read since this was asked last; time passes until `now_s`."""
        self._pass(now_s)
        came = {image for image, ready_s in self._coming.items() if ready_s <= now_s}
        for image in came:
            del self._coming[image]
        changed, self._changed = frozenset(self._changed | came), set()
        return changed

    def request_image(self, image: K, now_s: float) -> float:
        """An image is needed; answers when it is in memory, its read beginning now if it must."""
        self._pass(now_s)
        if image in self._held:
            self._held.move_to_end(image)
            return max(now_s, self._held[image])
        left_s = self._ahead.pop(image, None)
        ready_s = max(now_s, self._free_s) + (self._read_s(image) if left_s is None else left_s)
        self._free_s = ready_s
        size = self._size_bytes(image)
        if size <= self._capacity_bytes:
            while size > self._left:
                leaving, _ = self._held.popitem(last=False)
                self._left += self._size_bytes(leaving)
                self._coming.pop(leaving, None)
                self._changed.add(leaving)
            self._put(image, ready_s)
        return ready_s

    def fetch(self, image: K, now_s: float) -> None:
        """The same ahead of the need, where there is memory to keep it."""
        if self._size_bytes(image) <= self._capacity_bytes:
            self.request_image(image, now_s)

    def read_ahead(self, images: Iterable[K], now_s: float) -> tuple[K, ...]:
        """Read images while the storage has nothing else to do, before those asked for earlier.

        Answers those that are not there yet and fit.
        """
        self._pass(now_s)
        new = [image for image in dict.fromkeys(images) if image not in self._held]
        new = [image for image in new if self._size_bytes(image) <= self._left]
        first = OrderedDict((image, self._ahead.get(image, self._read_s(image))) for image in new)
        self._ahead = OrderedDict([*first.items(), *(each for each in self._ahead.items() if each[0] not in first)])
        return tuple(new)

    def _pass(self, now_s: float) -> None:
        """Let the storage read ahead until now."""
        at_s = max(self._now_s, self._free_s)
        self._now_s = max(self._now_s, now_s)
        while self._ahead and at_s <= now_s:
            image, left_s = next(iter(self._ahead.items()))
            if self._size_bytes(image) > self._left:
                del self._ahead[image]
            elif at_s + left_s <= now_s:
                at_s += left_s
                del self._ahead[image]
                self._put(image, at_s)
            else:
                self._ahead[image] = left_s - (now_s - at_s)
                return

    def _put(self, image: K, ready_s: float) -> None:
        self._held[image] = self._coming[image] = ready_s
        self._left -= self._size_bytes(image)
        self._changed.add(image)
