# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_gradient_z`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_gradient_z() -> None:
    Bench("flow_gradient_z", ROOT / "hw/ip/flow_gradient_z/flow_gradient_z.f").run(
        "cocotb_flow_gradient_z", folder=Path(__file__).parent
    )
