# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the adapter to the processing system's memory port, and shows that it finds mistakes in the ids."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("ps_hp", ROOT / "hw/ip/ps_hp/ps_hp.f")
SHARED = "gone.shared == shared && under_way != '1"
MISTAKES = [
    Mutation("another's id", "ps_ids.sv", SHARED, "under_way != '1"),
    Mutation("too many", "ps_ids.sv", SHARED, "gone.shared == shared"),
]


@pytest.mark.rtl
def test_ps_hp() -> None:
    BENCH.run("cocotb_ps_hp", HERE)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_ps_hp", HERE)
