# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the interrupt controller."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench("axi_intc", ROOT / "hw/ip/axi_intc/axi_intc.f")


@pytest.mark.rtl
def test_axi_intc() -> None:
    BENCH.run("cocotb_axi_intc", HERE)
