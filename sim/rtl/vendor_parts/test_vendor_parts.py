# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/vendor_parts`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
def test_vendor_parts() -> None:
    files = ROOT / "hw/ip/vendor_parts/vendor_parts.f"
    Bench("parts_bench", files, [HERE / "parts_bench.sv"]).run("cocotb_vendor_parts", HERE)


@pytest.mark.rtl
def test_memories_and_delays() -> None:
    files = ROOT / "hw/ip/vendor_parts/vendor_parts.f"
    Bench("memories_bench", files, [HERE / "memories_bench.sv"]).run("cocotb_memories", HERE)
