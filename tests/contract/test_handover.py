"""Memory changes hands when nothing of its last user is under way: attacked by modules that lie about being done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract.harness import Harness, opened
from contract.lies import MODES, Eyes, Harm, attack
from eddy.board.port import EventKind

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


@pytest.fixture(scope="module", params=["rtl", "socket-rtl"])
def harness(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    with opened(request.param, tmp_path_factory.mktemp("board")) as harness:
        assert harness.load(1).kind is EventKind.CONFIGURED
        yield harness


@pytest.fixture(scope="module")
def eyes() -> Eyes:
    return Eyes()


@pytest.mark.parametrize("mode", MODES)
def test_a_lie_reaches_nobody_else(harness: Harness, eyes: Eyes, mode: str) -> None:
    _, harm = attack(harness, MODES[mode], eyes)
    assert harm == Harm(read=0, written=0, wrong=False, same=True)
