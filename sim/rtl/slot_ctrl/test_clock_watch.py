# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the clock watch, with faster and slower clocks than its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.xdist_group("clock_watch")
@pytest.mark.parametrize("far_ps", ["3300", "10000", "13700", "61000"])
def test_clock_watch(far_ps: str) -> None:
    sources = (HERE / "clock_watch_bench.sv",)
    bench = Bench("clock_watch_bench", ROOT / "hw/ip/slot_ctrl/slot_ctrl.f", sources=sources, inner=True)
    bench.run("cocotb_clock_watch", HERE, environment={"FAR_PS": far_ps})
