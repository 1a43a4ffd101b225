# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/render_rasterise`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_render_rasterise() -> None:
    Bench("render_rasterise", ROOT / "hw/ip/render_rasterise/render_rasterise.f").run(
        "cocotb_render_rasterise", folder=Path(__file__).parent
    )
