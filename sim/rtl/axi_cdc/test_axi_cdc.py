"""Runs the benches of axi_cdc."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
@pytest.mark.parametrize("slot_clk_ps", ["3300", "7300", "27100"])
def test_traffic_crosses_unharmed(slot_clk_ps: str) -> None:
    bench("axi_cdc").run("cocotb_traffic", FOLDER, environment={"SLOT_CLK_PS": slot_clk_ps})
