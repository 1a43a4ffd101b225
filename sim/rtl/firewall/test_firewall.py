"""Runs the benches of firewall."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench
from eddy_sim.bench import ROOT, Bench


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
def test_whole_path_on_unrelated_clocks() -> None:
    bench("path").run("cocotb_traffic", FOLDER, environment={"SLOT_CLK_PS": "7300"})


@pytest.mark.rtl
def test_the_table_of_windows() -> None:
    Bench("firewall_windows", ROOT / "hw/ip/firewall/firewall.f").run("cocotb_firewall_windows", Path(__file__).parent)
