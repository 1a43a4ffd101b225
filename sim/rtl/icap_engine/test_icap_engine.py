"""Runs the bench of the configuration engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench("icap_engine", ROOT / "hw/ip/icap_engine/icap_engine.f")


@pytest.mark.rtl
def test_icap_engine() -> None:
    BENCH.run("cocotb_icap_engine", HERE)
