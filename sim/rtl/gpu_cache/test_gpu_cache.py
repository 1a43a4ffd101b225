# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The first-level caches of a GPU core by themselves; small ones, down to one line, so that all is thrown out."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

FOLDER = Path(__file__).parent
FILELIST = ROOT / "hw/ip/gpu_cache/gpu_cache.f"

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cache")]


def dcache(size: int, local: int, threads: int) -> Bench:
    parameters = {"Bytes": size, "LocalBytes": local, "Threads": threads, "TagWidth": 8}
    return Bench("gpu_dcache", FILELIST, parameters=parameters)


def run_dcache(bench: Bench) -> None:
    environment = {
        "DCACHE_THREADS": str(bench.parameters["Threads"]),
        "DCACHE_LOCAL": str(bench.parameters["LocalBytes"]),
    }
    bench.run("cocotb_gpu_dcache", FOLDER, environment=environment)


@pytest.mark.parametrize(("size", "local", "threads"), [(128, 64, 3), (512, 1024, 4)])
def test_data_cache(size: int, local: int, threads: int) -> None:
    run_dcache(dcache(size, local, threads))


@pytest.mark.parametrize("size", [64, 512])
def test_instruction_cache(size: int) -> None:
    Bench("gpu_icache", FILELIST, parameters={"Bytes": size}).run("cocotb_gpu_icache", FOLDER)


MISTAKES = [
    Mutation("store into a leaving line", "gpu_store_buffer.sv", "if (wr_valid_o) open[send_q] = 1'b0;", ""),
    Mutation(
        "fence keeps lines",
        "gpu_dcache.sv",
        "if (clear_i || end_fence || amo_finish_drop)",
        "if (clear_i || amo_finish_drop)",
    ),
    Mutation("store to a line on its way", "gpu_dcache.sv", "sb_ready && !coming &&", "sb_ready &&"),
    Mutation("atomic on an old copy", "gpu_dcache.sv", "if (whole || amo_drop) begin", "if (whole) begin"),
    Mutation(
        "row before it was written", "gpu_dcache.sv", "stale = whole_q || (wrote_q &&", "stale = whole_q || (1'b0 &&"
    ),
    Mutation("last beat before it was written", "gpu_dcache.sv", "stale = whole_q ||", "stale ="),
    Mutation("hit in a line on its way", "gpu_dcache.sv", "((hit0 || hit1) && !coming)", "hit0 || hit1"),
    Mutation("unlocked before it landed", "gpu_dcache_amo.sv", "if (!conflict_i) begin", "if (1'b1) begin"),
    Mutation(
        "fence over a line ahead", "gpu_dcache.sv", "!parked_any && !fills_any && sb_empty", "!parked_any && sb_empty"
    ),
]


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        run_dcache(dcache(512, 1024, 4).broken(mistake, tmp_path))
