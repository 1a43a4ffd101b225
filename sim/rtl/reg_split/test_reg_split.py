# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of what parts register accesses between shell and clocking wizards."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.parametrize("slots", [1, 4, 10])
def test_reg_split(slots: int) -> None:
    Bench("reg_split", ROOT / "hw/ip/reg_split/reg_split.f", parameters={"NumSlots": slots}).run(
        "cocotb_reg_split", HERE, environment={"SLOTS": str(slots)}
    )
