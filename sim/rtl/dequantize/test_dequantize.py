# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/dequantize`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_dequantize() -> None:
    Bench("dequantize", ROOT / "hw/ip/dequantize/dequantize.f").run("cocotb_dequantize", folder=Path(__file__).parent)
