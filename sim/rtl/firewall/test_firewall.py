# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the benches of firewall, and shows that they find faults that are blamed on another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HEAD = "blamed = '{addr: head.addr, context_id: head.context_id};"
MISTAKES = [
    Mutation("what nobody offers is told", "firewall_write.sv", "if (aw_valid_i || isolate_o)", "if (aw_valid_i)"),
    Mutation("context of what is offered", "firewall_write.sv", HEAD, HEAD.replace("head.context_id", "aw_i.user")),
    Mutation("context of the latest", "firewall_write.sv", HEAD, HEAD.replace("head.context_id", "aw_o.user")),
    Mutation("no context", "firewall_read.sv", "<= {ar_o.addr, ar_o.user};", "<= {ar_o.addr, 4'd0};"),
]


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_traffic_passes_unharmed() -> None:
    bench("firewall").run("cocotb_traffic", FOLDER)


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
@pytest.mark.parametrize("tests", ["cocotb_firewall_ctrl", "cocotb_firewall_mem"])
def test_firewall(tests: str) -> None:
    bench("firewall").run(tests, Path(__file__).parent)


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_bursts_of_a_wide_port_are_judged() -> None:
    """Beats of up to 16 bytes, and wider ones; pages, windows and contexts are what they are for a port of 64 bits."""
    judged = ("every_burst_is_judged_as_the_specification_does", "windows_hold_per_page_direction_and_context")
    bench("firewall", 128).run("cocotb_firewall_mem", Path(__file__).parent, judged)


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_whole_path_on_unrelated_clocks() -> None:
    bench("path", 128).run("cocotb_traffic", FOLDER, environment={"SLOT_CLK_PS": "7300"})


@pytest.mark.rtl
def test_the_table_of_windows() -> None:
    Bench("firewall_windows", ROOT / "hw/ip/firewall/firewall.f").run("cocotb_firewall_windows", Path(__file__).parent)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_fault_blamed_on_another_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        bench("firewall").broken(mistake, tmp_path).run("cocotb_firewall_mem", Path(__file__).parent)
