"""Runs the bench of the configuration engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench("icap_engine", ROOT / "hw/ip/icap_engine/icap_engine.f")


@pytest.mark.rtl
@pytest.mark.parametrize("port_ps", [5000, 10_000, 2500, 13_702, 40_000])
def test_icap_engine(port_ps: int) -> None:
    """The shell's clock has 10 ns: the port's is faster or slower, up to four times, and one no multiple."""
    BENCH.run("cocotb_icap_engine", HERE, environment={"EDDY_BENCH_PORT_PS": str(port_ps)})
