# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the benches of axi_cdc and of the pair of resets under it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
@pytest.mark.parametrize("slot_clk_ps", ["3300", "7300", "27100"])
def test_traffic_crosses_unharmed(slot_clk_ps: str) -> None:
    bench("axi_cdc").run("cocotb_traffic", FOLDER, environment={"SLOT_CLK_PS": slot_clk_ps})


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
@pytest.mark.parametrize("far_ps", ["3300", "10000", "61000"])
def test_a_crossing_is_never_reset_on_one_side_alone(far_ps: str) -> None:
    pair = Bench("reset_pair_bench", ROOT / "hw/ip/axi_cdc/axi_cdc.f", sources=(HERE / "reset_pair_bench.sv",))
    pair.run("cocotb_reset_pair", HERE, environment={"FAR_PS": far_ps})
