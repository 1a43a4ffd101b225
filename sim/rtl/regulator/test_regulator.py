"""Runs the bench of the regulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench("regulator_bench", ROOT / "hw/ip/regulator/regulator.f", sources=(HERE / "regulator_bench.sv",))


@pytest.mark.rtl
def test_regulator() -> None:
    BENCH.run("cocotb_regulator", HERE)
