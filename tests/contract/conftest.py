# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One fixture, `harness`, over every adapter of the board port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.harness import Harness, KernelRig, opened
from eddy_sim.kernel.board import unavailable

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
ADAPTERS = [
    "fake",
    "socket-fake",
    "model",
    pytest.param("rtl", marks=RTL),
    pytest.param("socket-rtl", marks=RTL),
]
WITH_FILES = [adapter for adapter in ADAPTERS if adapter != "model"]
"""Without the faked kernel: what is checked of a file before its load is checked above every device alike."""
KERNEL = pytest.param("kernel", marks=[pytest.mark.rtl, pytest.mark.xdist_group("board-kernel")])


@pytest.fixture(scope="module")
def kernel_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelRig]:
    """A faked kernel with `eddy boardd --board pynq` on it."""
    why = unavailable()
    if why:
        pytest.skip(why)
    rig = KernelRig(tmp_path_factory.mktemp("kernel"))
    yield rig
    rig.close()


def _open_any(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    if request.param != "kernel":
        yield from _open(request, tmp_path)
        return
    found = request.getfixturevalue("kernel_rig").harness()
    yield found
    found.close()


def _open(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    with opened(request.param, tmp_path) as harness:
        yield harness


harness = pytest.fixture(params=[*ADAPTERS, KERNEL])(_open_any)
"""A board of every adapter."""
still_harness = pytest.fixture(params=ADAPTERS)(_open)
"""A board whose time stands still between calls, so that what runs can be looked at while it runs."""
file_harness = pytest.fixture(params=WITH_FILES)(_open)
"""A board of every adapter whose images are files."""
