"""Runs the benches of decoupler."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_traffic_passes_unharmed() -> None:
    bench("decoupler").run("cocotb_traffic", FOLDER)


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_gates() -> None:
    bench("decoupler").run("cocotb_decoupler", Path(__file__).parent)
