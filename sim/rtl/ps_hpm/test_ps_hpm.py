# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the adapter from the processing system's manager port."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
def test_ps_hpm() -> None:
    Bench("ps_hpm", ROOT / "hw/ip/ps_hpm/ps_hpm.f").run("cocotb_ps_hpm", HERE)
