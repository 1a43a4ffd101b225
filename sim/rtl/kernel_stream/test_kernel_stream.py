# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/kernel_stream`'s streams: beats narrower and wider than a word, uneven ones."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
SIZES = [(64, 8), (3, 64), (1, 12)]


@pytest.mark.rtl
@pytest.mark.parametrize(("inward", "outward"), SIZES)
def test_kernel_stream(inward: int, outward: int) -> None:
    parameters = {"BytesIn": inward, "BytesOut": outward}
    files = ROOT / "hw/ip/kernel_stream/kernel_stream.f"
    Bench("stream_bench", files, [HERE / "stream_bench.sv"], parameters).run("cocotb_kernel_stream", HERE)
