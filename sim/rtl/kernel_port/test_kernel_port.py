# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/kernel_port`, for every width that AXI ports of kernels have."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
SIZES = [(64, 32, 64), (512, 8, 64), (128, 16, 32), (1024, 256, 40)]


@pytest.mark.rtl
@pytest.mark.parametrize(("first", "second", "address"), SIZES)
def test_kernel_port(first: int, second: int, address: int) -> None:
    parameters = {"DataA": first, "DataB": second, "AddrA": address}
    files = ROOT / "hw/ip/kernel_port/kernel_port.f"
    Bench("kernel_bench", files, [HERE / "kernel_bench.sv"], parameters).run("cocotb_kernel_port", HERE)
