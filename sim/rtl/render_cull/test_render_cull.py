# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/render_cull`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_render_cull() -> None:
    Bench("render_cull", ROOT / "hw/ip/render_cull/render_cull.f").run(
        "cocotb_render_cull", folder=Path(__file__).parent
    )
