"""One fixture, `harness`, over every adapter of the board port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.harness import Harness, opened

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
ADAPTERS = [
    "fake",
    "socket-fake",
    "model",
    pytest.param("rtl", marks=RTL),
    pytest.param("socket-rtl", marks=RTL),
]
WITH_FILES = [adapter for adapter in ADAPTERS if adapter != "model"]


def _open(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    with opened(request.param, tmp_path) as harness:
        yield harness


harness = pytest.fixture(params=ADAPTERS)(_open)
"""A board of every adapter."""
file_harness = pytest.fixture(params=WITH_FILES)(_open)
"""A board of every adapter whose images are files."""
