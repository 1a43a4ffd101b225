# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Barriers across the cores of a context, by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed

FOLDER = Path(__file__).parent
IP = Path(__file__).resolve().parents[3] / "hw" / "ip"
RTL = IP / "gpu_cluster" / "rtl" / "gpu_cluster_barriers.sv"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cluster")]


def run_barriers(cores: int, source: Path, folder: Path) -> None:
    filelist = folder / "gpu_cluster_barriers.f"
    filelist.write_text(f"{IP / 'eddy_pkg' / 'rtl' / 'eddy_pkg.sv'}\n{source}\n", encoding="utf-8")
    bench = Bench("gpu_cluster_barriers", filelist, parameters={"Cores": cores})
    bench.run("cocotb_gpu_cluster_barriers", FOLDER, environment={"BARRIER_CORES": str(cores)})


@pytest.mark.parametrize("cores", [1, 3, 8])
def test_barriers_open_and_deadlocks_are_told(cores: int, tmp_path: Path) -> None:
    run_barriers(cores, RTL, tmp_path)


@pytest.mark.mutant
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("context_i[c] == context_q && id_i[c] == id_q", "id_i[c] == id_q"),
        ("(waits_q & ~same_q) == '0 && runs_q == '0", "(waits_q & ~same_q) == '0"),
        ("hopeless && doubt_q[leader_q]", "hopeless"),
        ("here = bar_i & running_i", "here = bar_i"),
        ("(phase_q == Decide && waits_q[c] && opens != '0)", "1'b0"),
        ("if (later == '0) later = here;", "later = here;"),
    ],
)
def test_a_rule_that_is_left_out_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    text = RTL.read_text(encoding="utf-8")
    assert right in text
    mutant = tmp_path / RTL.name
    mutant.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_barriers(8, mutant, tmp_path)
