# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/row_probe`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_row_probe() -> None:
    Bench("row_probe", ROOT / "hw/ip/row_probe/row_probe.f").run("cocotb_row_probe", folder=Path(__file__).parent)
