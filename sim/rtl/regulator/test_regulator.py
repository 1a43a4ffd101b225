# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the regulator, and shows that it finds mistakes in what the monitor is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("regulator_bench", ROOT / "hw/ip/regulator/regulator.f", sources=(HERE / "regulator_bench.sv",))
MISTAKES = [
    Mutation("the other one waits", "regulator.sv", "token_stall_write_o = write;", "token_stall_write_o = !write;"),
    Mutation(
        "a write waits if one is there", "regulator.sv", "token_stall_write_o = write;", "token_stall_write_o = aw_can;"
    ),
]


@pytest.mark.rtl
def test_regulator() -> None:
    BENCH.run("cocotb_regulator", HERE)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_regulator", HERE)
