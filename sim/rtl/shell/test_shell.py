# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the whole static region, two slots on clocks of their own, and shows that it finds wrong wires."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("shell_bench", ROOT / "hw/top/shell/shell.f", sources=(HERE / "shell_bench.sv",))

TESTS = (
    "it_says_what_it_is",
    "a_closed_slot_answers_poison",
    "registers_and_memory_reach_the_right_places",
    "a_burst_outside_its_windows_is_refused_and_reported",
    "a_module_that_never_answers_costs_one_bound",
    "a_lost_clock_harms_nobody_else",
    "a_write_without_data_holds_up_nobody_else",
    "a_flooding_slot_leaves_the_other_its_share",
    "the_engine_takes_an_image_from_memory_to_the_port",
    "a_load_leaves_the_slots_their_share",
    "the_monitor_counts_what_went_by",
    "each_gate_follows_its_own_command",
    "software_ends_an_interrupt_whose_clock_stands",
    "a_fault_of_any_kind_is_an_interrupt_of_its_slot",
    "stalls_are_counted_for_who_waits",
    "each_bit_of_the_bank_has_its_register",
    "a_slot_can_be_swapped_in_mid_burst",
    "an_idle_shell_is_still",
)


@pytest.mark.rtl
@pytest.mark.parametrize("name", TESTS)
def test_shell(name: str) -> None:
    BENCH.run("cocotb_shell", HERE, tests=[name])


MISTAKES = {
    "each_gate_follows_its_own_command": Mutation(
        "another's command", "slot_path.sv", ".irq_open_i(open_interrupt)", ".irq_open_i(open_memory)"
    ),
    "stalls_are_counted_for_who_waits": Mutation(
        "another's context", "slot_path.sv", "? checked_req.aw.user : checked_req.ar.user", "? checked_req.ar.user : '0"
    ),
}


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(MISTAKES[name], tmp_path).run("cocotb_shell", HERE, tests=[name])
