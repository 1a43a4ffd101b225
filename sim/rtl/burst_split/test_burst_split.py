# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the burst split."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench

HERE = Path(__file__).parent


@pytest.mark.rtl
@pytest.mark.parametrize("parts", [2, 8])
def test_burst_split(parts: int) -> None:
    bench = Bench(
        "burst_bench",
        HERE.parent / "burst_bench.f",
        parameters={"Split": 1, "MaxParts": parts},
    )
    bench.run("cocotb_burst_split", HERE)
