# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which warp of a core issues, by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed

FOLDER = Path(__file__).parent
RTL = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_core" / "rtl" / "gpu_warp_select.sv"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]


def run_select(warps: int, source: Path, folder: Path) -> None:
    filelist = folder / "gpu_warp_select.f"
    filelist.write_text(f"{source}\n", encoding="utf-8")
    bench = Bench("gpu_warp_select", filelist, parameters={"Warps": warps})
    bench.run("cocotb_gpu_warp_select", FOLDER, environment={"SELECT_WARPS": str(warps)})


@pytest.mark.parametrize("warps", [1, 5])
def test_warps_take_turns(warps: int, tmp_path: Path) -> None:
    run_select(warps, RTL, tmp_path)


@pytest.mark.mutant
def test_a_choice_that_forgets_the_last_is_found(tmp_path: Path) -> None:
    text = RTL.read_text(encoding="utf-8")
    assert text.count("if (later == '0) later = ready_i;") == 1
    mutant = tmp_path / RTL.name
    mutant.write_text(text.replace("if (later == '0) later = ready_i;", "later = ready_i;"), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_select(5, mutant, tmp_path)
