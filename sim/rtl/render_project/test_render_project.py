# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/render_project`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_render_project() -> None:
    Bench("render_project", ROOT / "hw/ip/render_project/render_project.f").run(
        "cocotb_render_project", folder=Path(__file__).parent
    )
