# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the memory crossbar, for three and ten slots."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.parametrize(("slots", "writes"), [(3, 4), (10, 8)])
def test_mem_xbar(slots: int, writes: int) -> None:
    bench = Bench(
        "mem_xbar_bench",
        ROOT / "hw/ip/mem_xbar/mem_xbar.f",
        sources=(HERE / "mem_xbar_bench.sv",),
        parameters={"NumSlots": slots, "MaxWrites": writes},
    )
    bench.run("cocotb_mem_xbar", HERE)
