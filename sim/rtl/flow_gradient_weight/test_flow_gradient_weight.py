# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_gradient_weight`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_gradient_weight() -> None:
    Bench("flow_gradient_weight", ROOT / "hw/ip/flow_gradient_weight/flow_gradient_weight.f").run(
        "cocotb_flow_gradient_weight", folder=Path(__file__).parent
    )
