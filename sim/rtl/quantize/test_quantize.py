# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/quantize`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_quantize() -> None:
    Bench("quantize", ROOT / "hw/ip/quantize/quantize.f").run("cocotb_quantize", folder=Path(__file__).parent)
