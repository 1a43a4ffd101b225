# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_outer_product`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_outer_product() -> None:
    Bench("flow_outer_product", ROOT / "hw/ip/flow_outer_product/flow_outer_product.f").run(
        "cocotb_flow_outer_product", folder=Path(__file__).parent
    )
