# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_gradient_xy`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_gradient_xy() -> None:
    Bench("flow_gradient_xy", ROOT / "hw/ip/flow_gradient_xy/flow_gradient_xy.f").run(
        "cocotb_flow_gradient_xy", folder=Path(__file__).parent
    )
