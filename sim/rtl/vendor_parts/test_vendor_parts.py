# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the benches of `hw/ip/vendor_parts`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
FILES = ROOT / "hw/ip/vendor_parts/vendor_parts.f"
PARTS = Bench("parts_bench", FILES, [HERE / "parts_bench.sv"])
MEMORIES = Bench("memories_bench", FILES, [HERE / "memories_bench.sv"])

pytestmark = pytest.mark.rtl


def test_vendor_parts() -> None:
    PARTS.run("cocotb_vendor_parts", HERE)


def test_memories_and_delays() -> None:
    MEMORIES.run("cocotb_memories", HERE)


IN_MEMORIES = [
    Mutation("a write that is not enabled", "xpm_memory_parts.sv", "if (en_b_i && we_b_i[i])", "if (we_b_i[i])"),
    Mutation(
        "old and new change places",
        "xpm_memory_read.sv",
        '"write_first" ? new_i : old_i',
        '"read_first" ? new_i : old_i',
    ),
    Mutation("a read while it writes", "xpm_memory_read.sv", '&& Mode == "no_change")', "&& 1'b0)"),
    Mutation("a last stage that always moves", "xpm_memory_read.sv", "if (i < Latency - 1 || regce_i) ", ""),
    Mutation("a reset that leaves a stage", "xpm_memory_read.sv", "if (rst_i) stages_q", "if (1'b0) stages_q"),
    Mutation("letters that count from zero", "xpm_memory_parts.sv", "(digit & 8'h1F) + 9)", "(digit & 8'h1F))"),
    Mutation("a bit a cycle early", "xpm_cdc_single.sv", "DEST_SYNC_FF + ", "DEST_SYNC_FF - 1 + "),
    Mutation("a count without its register", "xpm_cdc_gray.sv", "DEST_SYNC_FF + 1 + REG_OUTPUT", "DEST_SYNC_FF + 1"),
    Mutation("a reset that begins late", "xpm_cdc_async_rst.sv", "(asked || stages_q", "(stages_q"),
]
IN_PARTS = [
    Mutation("a full FIFO that takes a word", "xpm_fifo_sync.sv", "if (put) mem_q[", "if (wr_en) mem_q["),
    Mutation("a packet before its end", "xpm_fifo_axis.sv", "lasts_q != '0 || forced_q", "!empty"),
    Mutation(
        "a long packet that stays for ever", "xpm_fifo_axis.sv", "else if (full && lasts_q == '0)", "else if (1'b0)"
    ),
    Mutation(
        "a beat without what goes beside it", "xpm_fifo_axis.sv", ".din({s_axis_tuser,", ".din({4'(s_axis_tlast),"
    ),
    Mutation("less or equal without equal", "fp_model.sv", "!unordered && a <= b", "!unordered && a < b"),
    Mutation("a half that is cut off", "fp_model.sv", "(low == half && cut[0])", "1'b0"),
    Mutation("a zero without its sign", "fp_model.sv", "return 64'(sign) << (ToExp", "return 64'(1'b0) << (ToExp"),
]


@pytest.mark.mutant
@pytest.mark.parametrize(
    ("bench", "module", "mistake"),
    [
        *((MEMORIES, "cocotb_memories", mistake) for mistake in IN_MEMORIES),
        *((PARTS, "cocotb_vendor_parts", mistake) for mistake in IN_PARTS),
    ],
    ids=lambda value: value.name if isinstance(value, Mutation) else "",
)
def test_a_mistake_is_found(bench: Bench, module: str, mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        bench.broken(mistake, tmp_path).run(module, HERE)
