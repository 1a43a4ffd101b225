# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the benches of decoupler, and shows that they find gates that follow another's command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench
from eddy_sim.design.bench import BenchFailed
from eddy_sim.tools.prove import Mutation

GATES = ("ctrl", "mem", "irq")


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_traffic_passes_unharmed() -> None:
    bench("decoupler").run("cocotb_traffic", FOLDER)


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_gates() -> None:
    bench("decoupler").run("cocotb_decoupler", Path(__file__).parent)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("gate", GATES)
def test_a_gate_on_another_command_is_found(gate: str, tmp_path: Path) -> None:
    other = GATES[GATES.index(gate) - 1]
    mistake = Mutation("another's command", "decoupler.sv", f".d_i({gate}_open_i)", f".d_i({other}_open_i)")
    with pytest.raises(BenchFailed):
        bench("decoupler").broken(mistake, tmp_path).run("cocotb_decoupler", Path(__file__).parent)
