# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_read_input`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_read_input() -> None:
    Bench("flow_read_input", ROOT / "hw/ip/flow_read_input/flow_read_input.f").run(
        "cocotb_flow_read_input", folder=Path(__file__).parent
    )
