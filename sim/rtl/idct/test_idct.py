# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/idct`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_idct() -> None:
    Bench("idct", ROOT / "hw/ip/idct/idct.f").run("cocotb_idct", folder=Path(__file__).parent)
