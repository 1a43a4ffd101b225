# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/image_back`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_image_back() -> None:
    sources = ROOT / "hw/ip/image_back/image_back.f"
    Bench("image_back", sources).run("cocotb_image_back", folder=Path(__file__).parent)
