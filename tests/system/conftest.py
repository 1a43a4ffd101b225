# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tests of the whole system share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import open_board
from pool_kit import Pool


@pytest.fixture
def board() -> Iterator[BoardPort]:
    """The smallest simulated board, through the board port; a test of another board has a `board` of its own."""
    opened = open_board("rtl", "tiny")
    yield opened
    opened.release()


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    with Pool(tmp_path).running() as running:
        yield running


@pytest.fixture
def patient() -> Iterator[None]:
    with Pool.patient():
        yield
