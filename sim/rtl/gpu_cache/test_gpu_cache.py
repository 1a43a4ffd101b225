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
        "DCACHE_BYTES": str(bench.parameters["Bytes"]),
        "DCACHE_LOCAL": str(bench.parameters["LocalBytes"]),
    }
    bench.run("cocotb_gpu_dcache", FOLDER, environment=environment)


@pytest.mark.parametrize(("size", "local", "threads"), [(128, 64, 3), (1024, 1024, 4)])
def test_data_cache(size: int, local: int, threads: int) -> None:
    run_dcache(dcache(size, local, threads))


@pytest.mark.parametrize("size", [64, 512])
def test_instruction_cache(size: int) -> None:
    Bench("gpu_icache", FILELIST, parameters={"Bytes": size}).run("cocotb_gpu_icache", FOLDER)


MISTAKES = [
    Mutation("store into a leaving line", "gpu_store_buffer.sv", "if (leaves_q) open[send_q] = 1'b0;", ""),
    Mutation(
        "fence keeps lines",
        "gpu_dcache.sv",
        "if (clear_i || end_fence || amo_finish_drop)",
        "if (clear_i || amo_finish_drop)",
    ),
    Mutation("store to a line on its way", "gpu_dcache.sv", "sb_ready && !coming &&", "sb_ready &&"),
    Mutation("atomic on an old copy", "gpu_dcache.sv", "if (whole || amo_drop) begin", "if (whole) begin"),
    Mutation("word before it was written", "gpu_dcache.sv", "if (wrote_banks_q[b] &&", "if (1'b0 &&"),
    Mutation("last beat before it was written", "gpu_dcache.sv", "stale = whole_q;", "stale = 1'b0;"),
    Mutation(
        "word of another part",
        "gpu_dcache.sv",
        "in_line[t] && place_q.parts[bank_q[t]] == part_of(addr_q[t][5:2])",
        "in_line[t]",
    ),
    Mutation("lanes of another line", "gpu_dcache.sv", "left_q[t] && in_line[t] &&", "left_q[t] &&"),
    Mutation(
        "beat in the wrong bank", "gpu_dcache_rows.sv", "{fill_beat_i, 1'b1}, Banks)", "{fill_beat_i, 1'b0}, Banks)"
    ),
    Mutation(
        "joined store loses the ones before", "gpu_store_buffer.sv", "(joins ? strb_ram[into] : '0) | stored", "stored"
    ),
    Mutation(
        "bytes of an older line leave", "gpu_store_buffer.sv", "(joins ? strb_ram[into] : '0) |", "strb_ram[into] |"
    ),
    Mutation("full buffer takes a store", "gpu_store_buffer.sv", "joins || waiting_q != '1", "1'b1"),
    Mutation("fence before stores have landed", "gpu_dcache.sv", "&& sb_empty && rsp_free", "&& rsp_free"),
    Mutation("idle before stores have landed", "gpu_dcache.sv", "touched_q == '0 && sb_empty", "touched_q == '0"),
    Mutation("line read before its stores", "gpu_dcache.sv", "!coming && !sb_waits && room", "!coming && room"),
    Mutation("line read before what was sent landed", "gpu_stores_sent.sv", "held_q <= told_o", "held_q <= 1'b0"),
    Mutation("lines of the last owner", "gpu_dcache.sv", "if (clear_i || end_fence ||", "if (end_fence ||"),
    Mutation("walks of the last owner", "gpu_dcache_streams.sv", "if (!rst_ni || clear_i) begin", "if (!rst_ni) begin"),
    Mutation("a place given twice", "gpu_dcache_fills.sv", "!busy_q[tail_q] && !held_i[tail_q]", "1'b1"),
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
        run_dcache(dcache(1024, 1024, 4).broken(mistake, tmp_path))
