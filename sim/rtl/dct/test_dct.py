# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/dct`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_dct() -> None:
    Bench("dct", ROOT / "hw/ip/dct/dct.f").run("cocotb_dct", folder=Path(__file__).parent)
