"""Runs the bench of the monitor."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench("monitor", ROOT / "hw/ip/monitor/monitor.f", inner=True)


@pytest.mark.rtl
def test_monitor() -> None:
    BENCH.run("cocotb_monitor", HERE)
