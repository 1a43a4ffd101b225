"""A lock that is given in the order it was asked for, so that nobody who commits starves behind somebody who commits
more often."""

from __future__ import annotations

import threading
from collections import deque


class WriterLock:
    """Who may write. A thread that has its turn must not ask for another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()
        self._owner: int | None = None

    @property
    def is_owner(self) -> bool:
        """Whether it is this thread's turn."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> None:
        with self._lock:
            gate = self._join() if self._taken else None
            self._taken = True
        if gate is not None:
            gate.acquire()
        self._owner = threading.get_ident()

    def _join(self) -> threading.Lock:
        """Stand in the queue: a gate that is opened when it is one's turn."""
        gate = threading.Lock()
        gate.acquire()
        self._waiting.append(gate)
        return gate

    def __exit__(self, *_: object) -> None:
        self._owner = None
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
