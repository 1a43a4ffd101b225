# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Integer multiplication and division of a core, by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed

FOLDER = Path(__file__).parent
RTL = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_core" / "rtl" / "gpu_muldiv.sv"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]


def run_muldiv(threads: int, source: Path, folder: Path) -> None:
    filelist = folder / "gpu_muldiv.f"
    filelist.write_text(f"{source}\n", encoding="utf-8")
    bench = Bench("gpu_muldiv", filelist, parameters={"Threads": threads})
    bench.run("cocotb_gpu_muldiv", FOLDER, environment={"MULDIV_THREADS": str(threads)})


@pytest.mark.parametrize("threads", [1, 5])
def test_agrees_with_integers_in_the_stated_cycles(threads: int, tmp_path: Path) -> None:
    run_muldiv(threads, RTL, tmp_path)


@pytest.mark.mutant
def test_digits_left_out_in_a_division_by_zero_are_found(tmp_path: Path) -> None:
    text = RTL.read_text(encoding="utf-8")
    assert text.count("if (b != '0) begin") == 1
    mutant = tmp_path / RTL.name
    mutant.write_text(text.replace("if (b != '0) begin", "begin"), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_muldiv(1, mutant, tmp_path)
