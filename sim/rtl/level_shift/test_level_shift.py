# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/level_shift`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_level_shift() -> None:
    Bench("level_shift", ROOT / "hw/ip/level_shift/level_shift.f").run(
        "cocotb_level_shift", folder=Path(__file__).parent
    )
