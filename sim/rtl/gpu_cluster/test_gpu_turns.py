# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whose turn it is among cores and their readers, by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed

FOLDER = Path(__file__).parent
RTL = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_cluster" / "rtl" / "gpu_turns.sv"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cluster")]


def run_turns(number: int, source: Path, folder: Path) -> None:
    filelist = folder / "gpu_turns.f"
    filelist.write_text(f"{source}\n", encoding="utf-8")
    bench = Bench("gpu_turns", filelist, parameters={"Number": number})
    bench.run("cocotb_gpu_turns", FOLDER, environment={"TURNS_NUMBER": str(number)})


@pytest.mark.parametrize("number", [1, 2, 5, 16])
def test_everybody_has_a_turn(number: int, tmp_path: Path) -> None:
    run_turns(number, RTL, tmp_path)


@pytest.mark.mutant
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("later = candidates & behind_q;", "later = candidates;"),
        ("want_i & ~chosen_q", "want_i"),
    ],
)
def test_a_rule_that_is_left_out_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    text = RTL.read_text(encoding="utf-8")
    assert right in text
    mutant = tmp_path / RTL.name
    mutant.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_turns(5, mutant, tmp_path)
