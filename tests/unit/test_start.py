"""The start of a server: boardd may come up beside it, and the search for cycles is put off for imports alone."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from typing import Any

import pytest
from eddy.api import collecting
from eddy.board import factory
from eddy.core.errors import BoardUnreachable


class ComingUp:
    """A boardd that listens at the third attempt."""

    attempts = 0

    def __init__(self, path: Path) -> None:
        type(self).attempts += 1
        if self.attempts < 3:
            raise BoardUnreachable(f"no boardd answers at {path}")


def test_a_boardd_that_comes_up_meanwhile_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(factory, "SocketBoard", type("Fresh", (ComingUp,), {"attempts": 0}))
    monkeypatch.setattr(factory, "RETRY_S", 0.0)
    found = factory.connect(Path("/run/eddy.sock"), 60.0, said.append)
    assert isinstance(found, ComingUp)
    assert found.attempts == 3
    assert said == ["waiting up to 60 s for boardd at /run/eddy.sock"]


def test_one_that_does_not_come_up_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = type("Fresh", (ComingUp,), {"attempts": 0})
    monkeypatch.setattr(factory, "SocketBoard", made)
    with pytest.raises(BoardUnreachable, match=r"no boardd answers at /run/eddy\.sock"):
        factory.connect(Path("/run/eddy.sock"))
    assert made.attempts == 1


@pytest.mark.parametrize("looked", [True, False])
def test_cycles_are_looked_for_again_after_imports_even_those_that_fail(looked: bool) -> None:
    before = gc.isenabled()
    (gc.enable if looked else gc.disable)()
    try:
        with contextlib.suppress(ModuleNotFoundError), collecting.put_off():
            assert not gc.isenabled()
            raise ModuleNotFoundError
        assert gc.isenabled() == looked
    finally:
        (gc.enable if before else gc.disable)()
