# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the benches of the burst buffer and of the FIFO it is made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
LIST = ROOT / "hw/ip/burst_buffer/burst_buffer.f"


@pytest.mark.rtl
@pytest.mark.parametrize("depth", [2, 8])
def test_sync_fifo(depth: int) -> None:
    bench = Bench("sync_fifo_bench", LIST, sources=(HERE / "sync_fifo_bench.sv",), parameters={"Depth": depth})
    bench.run("cocotb_sync_fifo", HERE)


@pytest.mark.rtl
@pytest.mark.parametrize(("outstanding", "beats"), [(8, 512), (2, 1024)])
def test_burst_buffer(outstanding: int, beats: int) -> None:
    bench = Bench(
        "burst_bench",
        HERE.parent / "burst_bench.f",
        parameters={"MaxOutstanding": outstanding, "Beats": beats},
    )
    bench.run("cocotb_burst_buffer", HERE)
