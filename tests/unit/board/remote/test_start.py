# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The start of a server: boardd may come up beside it, and the search for cycles is put off for imports alone."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.board.remote import factory
from eddy.cli.boards import serve
from eddy.core.errors import BoardUnreachable
from eddy.host import interpreter_switching, memory_tuning


class LateBoardd:
    """A boardd that listens at the third attempt."""

    attempts = 0

    def __init__(self, path: Path) -> None:
        type(self).attempts += 1
        if self.attempts < 3:
            raise BoardUnreachable(f"no boardd answers at {path}")


def test_a_boardd_that_comes_up_meanwhile_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(factory, "SocketBoard", type("Fresh", (LateBoardd,), {"attempts": 0}))
    monkeypatch.setattr(factory, "RETRY_S", 0.0)
    found = factory.connect(Path("/run/eddy.sock"), 60.0, said.append)
    assert isinstance(found, LateBoardd)
    assert found.attempts == 3
    assert said == ["waiting up to 60 s for boardd at /run/eddy.sock"]


def test_one_that_does_not_come_up_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = type("Fresh", (LateBoardd,), {"attempts": 0})
    monkeypatch.setattr(factory, "SocketBoard", made)
    with pytest.raises(BoardUnreachable, match=r"no boardd answers at /run/eddy\.sock"):
        factory.connect(Path("/run/eddy.sock"))
    assert made.attempts == 1


@pytest.mark.parametrize(("busy_s", "attempts"), [(30.0, 3), (0.0, 1)])
def test_one_that_listens_and_is_busy_is_waited_for_longer(
    monkeypatch: pytest.MonkeyPatch, busy_s: float, attempts: int
) -> None:
    made = list[Path]()

    def busy(path: Path) -> str:
        made.append(path)
        if len(made) < 3:
            raise BoardUnreachable("the connection was lost (timed out)") from TimeoutError("timed out")
        return "there"

    monkeypatch.setattr(factory, "SocketBoard", busy)
    monkeypatch.setattr(factory, "RETRY_S", 0.0)
    monkeypatch.setattr(factory, "BUSY_S", busy_s)
    patience_s = 1e-9
    if attempts == 3:
        found: Any = factory.connect(Path("/run/eddy.sock"), patience_s)
        assert found == "there"
    else:
        with pytest.raises(BoardUnreachable, match="timed out"):
            factory.connect(Path("/run/eddy.sock"), patience_s)
    assert len(made) == attempts


@pytest.mark.parametrize("looked", [True, False])
def test_cycles_are_looked_for_again_after_imports_even_those_that_fail(looked: bool) -> None:
    before = gc.isenabled()
    (gc.enable if looked else gc.disable)()
    try:
        with contextlib.suppress(ModuleNotFoundError), memory_tuning.pause_collection():
            assert not gc.isenabled()
            raise ModuleNotFoundError
        assert gc.isenabled() == looked
    finally:
        (gc.enable if before else gc.disable)()


HEAPS = """
import ctypes, threading
from eddy.host import memory_tuning as collecting
told = collecting.limit_heaps()
hold, ready = threading.Event(), threading.Barrier(9)
def work():
    kept = [bytes(1000) for _ in range(200)]
    ready.wait(); hold.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
ready.wait()
libc, out = ctypes.CDLL(None), ctypes.CDLL(None).fopen
out.restype = ctypes.c_void_p
file = out(b"/dev/stdout", b"w")
libc.malloc_info(0, ctypes.c_void_p(file)); libc.fflush(ctypes.c_void_p(file))
hold.set()
print(told)
"""


def test_eight_threads_share_two_heaps_of_the_c_library() -> None:
    found = subprocess.run(
        [sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True, timeout=180
    ).stdout
    if not found.endswith("True\n"):
        pytest.skip("this C library has no mallopt")
    assert 1 <= found.count("<heap nr=") <= memory_tuning.HEAPS


def test_threads_of_a_server_take_short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that computes gives the interpreter away sooner than by Python's default, once there is a server."""
    before, seen = sys.getswitchinterval(), []

    class Watched:
        failed = False

        def __init__(self, *_: object, **__: object) -> None:
            seen.append(sys.getswitchinterval())

        def run(self, ready: object) -> None:
            seen.append(sys.getswitchinterval())

        def close(self) -> None:
            pass

    monkeypatch.setattr("eddy.api.service.server.Server", Watched)
    monkeypatch.setattr(memory_tuning, "freeze_objects", lambda: None)
    settings: Any = SimpleNamespace(host="127.0.0.1", tls=None)
    reloader: Any = SimpleNamespace(ask=None)
    try:
        serve._run(settings, reloader, False, [], True)
    finally:
        sys.setswitchinterval(before)
    assert seen[0] == before
    assert seen[1] == pytest.approx(interpreter_switching.TURN_S) != before


def test_what_was_there_before_the_first_test_is_left_out_of_searches_for_cycles() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000
