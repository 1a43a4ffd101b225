"""What tests of the whole system share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import open_board


@pytest.fixture
def board() -> Iterator[BoardPort]:
    """The smallest simulated board, through the board port; a test of another board has a `board` of its own."""
    opened = open_board("rtl", "tiny")
    yield opened
    opened.release()
