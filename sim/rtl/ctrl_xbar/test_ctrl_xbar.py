# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the CPU's crossbar and its bridges, for one, three and ten slots."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.parametrize("slots", [1, 3, 10])
def test_ctrl_xbar(slots: int) -> None:
    bench = Bench(
        "ctrl_xbar_bench",
        ROOT / "hw/ip/ctrl_xbar/ctrl_xbar.f",
        sources=(HERE / "ctrl_xbar_bench.sv",),
        parameters={"NumSlots": slots},
    )
    bench.run("cocotb_ctrl_xbar", HERE)
