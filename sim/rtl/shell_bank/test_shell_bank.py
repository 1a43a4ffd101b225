# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the shell's own bank."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

HERE = Path(__file__).parent
BENCH = Bench(
    "shell_bank",
    ROOT / "hw/ip/shell_bank/shell_bank.f",
    parameters={"NumSlots": 7, "BuildHash": "64'h0123_4567_89AB_CDEF", "CacheBytes": 4096, "CacheWays": 4},
)


@pytest.mark.rtl
def test_shell_bank() -> None:
    BENCH.run("cocotb_shell_bank", HERE)
