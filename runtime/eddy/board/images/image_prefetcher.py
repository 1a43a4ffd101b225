"""Reads images into memory beside everything else the board does: one thread, one image at a time."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable

Read = Callable[[str, bool], bool]
"""Reads an image (its sha256) into memory; with True, only where none leaves for it. Answers whether it is there."""


class ImagePrefetcher:
    """The images that are to be read while nobody waits for them.

    The thread begins with the first image and ends with the last one, so a board that reads nothing ahead has none.

    Args:
        read: Reads an image; a method, called from the thread, whose object is not kept alive by it.
    """

    def __init__(self, read: Read) -> None:
        self._read = weakref.WeakMethod(read)
        self._lock = threading.Lock()
        self._wanted: deque[tuple[str, bool]] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def next(self, image: str) -> None:
        """Read an image next; others leave for it."""
        self._put([(image, False)])

    def prefetch(self, images: Iterable[str]) -> None:
        """Read images in this order, before those asked for earlier in this way, as far as there is room."""
        self._put([(image, True) for image in images])

    def wait_until_read(self, timeout_s: float = 60.0) -> bool:
        """Wait until everything was read; answers whether that came to be within so many wall seconds."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Read nothing more; what is being read is read to its end."""
        with self._lock:
            self._closed = True
            self._wanted.clear()
        self.wait_until_read()

    def _put(self, wanted: list[tuple[str, bool]]) -> None:
        with self._lock:
            if self._closed or not wanted:
                return
            names = {image for image, _ in wanted}
            self._wanted = deque(wanted + [each for each in self._wanted if each[0] not in names])
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="eddy-read-ahead", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                read = self._read()
                if not self._wanted or read is None:
                    self._thread = None
                    return
                image, modestly = self._wanted.popleft()
            read(image, modestly)
