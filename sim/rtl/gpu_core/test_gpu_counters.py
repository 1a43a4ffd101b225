# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The counters of a core, by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed

FOLDER = Path(__file__).parent
RTL = Path(__file__).resolve().parents[3] / "hw" / "ip" / "gpu_core" / "rtl"
SOURCE = RTL / "gpu_counters.sv"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]


def run_counters(threads: int, source: Path, folder: Path) -> None:
    filelist = folder / "gpu_counters.f"
    filelist.write_text(f"{RTL / 'gpu_pkg.sv'}\n{source}\n", encoding="utf-8")
    bench = Bench("gpu_counters", filelist, parameters={"Threads": threads})
    bench.run("cocotb_gpu_counters", FOLDER, environment={"COUNTER_THREADS": str(threads)})


@pytest.mark.parametrize("threads", [1, 16])
def test_counters_agree_with_integers(threads: int, tmp_path: Path) -> None:
    run_counters(threads, SOURCE, tmp_path)


@pytest.mark.mutant
def test_a_snapshot_that_takes_a_carry_of_a_later_cycle_is_found(tmp_path: Path) -> None:
    text = SOURCE.read_text(encoding="utf-8")
    kept = "copy ? copy_carry_q : carry_q"
    assert text.count(kept) == 1
    mutant = tmp_path / SOURCE.name
    mutant.write_text(text.replace(kept, "carry_q"), encoding="utf-8")
    with pytest.raises(BenchFailed):
        run_counters(1, mutant, tmp_path)
