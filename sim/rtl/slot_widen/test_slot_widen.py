# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of slot_widen, and shows that it finds bytes in the wrong half."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("widen_bench", ROOT / "hw/ip/slot_widen/slot_widen.f", [HERE / "widen_bench.sv"])
MISTAKES = [
    Mutation("the half of the first beat", "widen_lane.sv", "inside_q ? addr_q : head_addr", "head_addr"),
    Mutation("FIXED goes on", "widen_lane.sv", "still = burst_i == eddy_pkg::BurstFixed;", "still = 1'b0;"),
    Mutation("data before its request", "slot_widen.sv", "wvalid_i && !w_unknown", "wvalid_i"),
]


@pytest.mark.rtl
def test_slot_widen() -> None:
    BENCH.run("cocotb_slot_widen", HERE)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_slot_widen", HERE)
