# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/flow_calc`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_flow_calc() -> None:
    Bench("flow_calc", ROOT / "hw/ip/flow_calc/flow_calc.f").run("cocotb_flow_calc", folder=Path(__file__).parent)
