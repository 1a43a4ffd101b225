# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/conv_pool`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_conv_pool() -> None:
    Bench("conv_pool", ROOT / "hw/ip/conv_pool/conv_pool.f").run("cocotb_conv_pool", folder=Path(__file__).parent)
