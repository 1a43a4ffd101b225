# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/kernel_port`, for every width that AXI ports of kernels have."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
SIZES = [(64, 64, 128, 64), (64, 512, 8, 64), (128, 512, 64, 32), (128, 1024, 128, 40)]


def bench(port: int, first: int, second: int, address: int) -> Bench:
    """The bench around ports of these widths, on a slot's port of so many bits."""
    parameters = {"DataA": first, "DataB": second, "AddrA": address}
    files = ROOT / "hw/ip/kernel_port/kernel_port.f"
    return Bench("kernel_bench", files, [HERE / "kernel_bench.sv"], parameters, {"EDDY_MEMORY_BITS": str(port)})


@pytest.mark.rtl
@pytest.mark.parametrize(("port", "first", "second", "address"), SIZES)
def test_kernel_port(port: int, first: int, second: int, address: int) -> None:
    bench(port, first, second, address).run("cocotb_kernel_port", HERE)
