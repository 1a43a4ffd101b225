# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the monitor, and shows that it finds a bit of the bank that is not hashed."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("monitor", ROOT / "hw/ip/monitor/monitor.f", inner=True)


@pytest.mark.rtl
def test_monitor() -> None:
    BENCH.run("cocotb_monitor", HERE)


@pytest.mark.mutant
@pytest.mark.rtl
def test_a_mistake_is_found(tmp_path: Path) -> None:
    mistake = Mutation(
        "four bits hashed", "monitor_rows.sv", "for (int i = 0; i < 5; i++)", "for (int i = 0; i < 4; i++)"
    )
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_monitor", HERE, ["banks_are_hashed_as_told"])
