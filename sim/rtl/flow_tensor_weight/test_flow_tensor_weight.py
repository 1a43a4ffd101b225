# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_tensor_weight`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_tensor_weight() -> None:
    Bench("flow_tensor_weight", ROOT / "hw/ip/flow_tensor_weight/flow_tensor_weight.f").run(
        "cocotb_flow_tensor_weight", folder=Path(__file__).parent
    )
