# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""SIGTERM, SIGINT and SIGHUP, for commands that hold a board, a store or a socket.

Within `catch_signals`, a signal never cuts in where something must be done whole. What it does is said where it is
known:

- within `raise_on_signal` (models are built, a lock is waited for) it raises `Stopped` there;
- within `call_on_signal` (a server's loop runs) it calls what ends the loop;
- SIGHUP within `call_on_reload` calls what reads the configuration again, and does nothing else;
- anywhere else, a shutdown among it, it is noted, and acts as soon as one of the two is entered.

So a second signal never breaks off what the first one began. Signals reach the main thread only; in any other one, and
where nobody is within `catch_signals`, all of this does nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """The process was told to end, in a place where that can be done at once."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class _Catcher:
    """What came, and what to do about the next."""

    def __init__(self) -> None:
        self.number = 0
        self.interruptible = False
        self.act: Callable[[], None] | None = None
        self.reload: Callable[[], None] | None = None

    def handle(self, number: int, _frame: FrameType | None = None) -> None:
        """Deal with a signal."""
        if number == signal.SIGHUP and self.reload is not None:
            self.reload()
            return
        self.number = self.number or number
        if self.interruptible:
            self.interruptible = False  # what is given back on the way out is given back whole
            raise Stopped(number)
        if self.act is not None:
            self.act()


_catcher: _Catcher | None = None
_last = False


def mark_last_command() -> None:
    """Say that the process ends with the command, so that a late signal has nothing left to stop."""
    global _last
    _last = True


@contextmanager
def catch_signals() -> Iterator[None]:
    """Catch the signals while the block runs; SIGHUP only where it is not ignored (`nohup`)."""
    global _catcher
    if _catcher is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _catcher = catcher = _Catcher()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, catcher.handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if _last else handler)
        _catcher = None


@contextmanager
def raise_on_signal() -> Iterator[None]:
    """Let a signal raise `Stopped` while the block runs, or as it is entered, if one has come already."""
    catcher = _own_catcher()
    if catcher is None:
        yield
        return
    check()
    catcher.interruptible = True
    try:
        yield
    finally:
        catcher.interruptible = False


@contextmanager
def call_on_signal(act: Callable[[], None]) -> Iterator[None]:
    """Let each signal call `act` while the block runs, and once as it is entered, if one has come already."""
    catcher = _own_catcher()
    if catcher is None:
        yield
        return
    catcher.act = act
    try:
        if catcher.number:
            act()
        yield
    finally:
        catcher.act = None


@contextmanager
def call_on_reload(act: Callable[[], None] | None) -> Iterator[None]:
    """Let SIGHUP call `act` while the block runs, and end nothing; as any other signal where `act` is None."""
    catcher = _own_catcher()
    if catcher is None:
        yield
        return
    before, catcher.reload = catcher.reload, act
    try:
        yield
    finally:
        catcher.reload = before


def check() -> None:
    """Raise `Stopped` if a signal has come.

    Raises:
        Stopped: One has.
    """
    catcher = _own_catcher()
    if catcher is not None and catcher.number:
        raise Stopped(catcher.number)


def _own_catcher() -> _Catcher | None:
    """The catcher, for the one thread that signals reach."""
    return _catcher if threading.current_thread() is threading.main_thread() else None
