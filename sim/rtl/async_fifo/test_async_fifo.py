# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the FIFO's bench over depths and clock ratios."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.parametrize("periods_ps", ["10000,7300", "3100,20000", "10000,10000"])
def test_async_fifo(periods_ps: str) -> None:
    bench = Bench("async_fifo", ROOT / "hw/ip/async_fifo/async_fifo.f", parameters={"Width": 13, "Depth": 8})
    bench.run("cocotb_async_fifo", HERE, environment={"PERIODS_PS": periods_ps})


@pytest.mark.rtl
@pytest.mark.parametrize("depth", [1, 2])
def test_smallest_fifos(depth: int) -> None:
    bench = Bench("async_fifo", ROOT / "hw/ip/async_fifo/async_fifo.f", parameters={"Width": 8, "Depth": depth})
    bench.run("cocotb_async_fifo", HERE)
