# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Cores that keep something of one tenant for the next are found out, whatever they keep it in."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
from eddy.cli.boards.module import create
from eddy.packages.manifests import SCRUB_RECORD, load_module_manifest
from eddy_sim.design.bench import ROOT
from eddy_sim.modcheck import composition
from eddy_sim.modcheck.composition import Leak, check_runs, check_scrub
from eddy_sim.modcheck.model import UP_RECORD, OutputTrace
from eddy_sim.modcheck.outcome import RunOutcome
from eddy_sim.modcheck.scrubbing import check_scrubbing
from eddy_sim.modcheck.work import RUN_CYCLES

pytestmark = pytest.mark.rtl

WRAPPER, CORE = "hw/ip/hls_wrapper/rtl", "hw/ip/fresh/rtl/fresh_core.sv"
NEEDED = ("hw/ip/hls_wrapper", "hw/ip/eddy_pkg", "hw/ip/slot_ports", "hw/regs/generated")
MANIFEST = "bitstreams/fresh/manifest.yaml"
Edit = tuple[str, str, str]
SUM = "    if (in_ready_o) out_data_o <= in_data_i + 64'(addend_i);"


def ending(more: str) -> Edit:
    """Add logic to the core."""
    return (CORE, "\nendmodule", f"\n{more}\nendmodule")


def giving(value: str) -> Edit:
    """Let the core give something else."""
    return (CORE, SUM, f"    if (in_ready_o) out_data_o <= {value};")


TAKEN = "in_valid_i && in_ready_o"
LEAKS: dict[str, tuple[Edit, ...]] = {
    "a register that no reset clears": (
        ending(f"  logic [63:0] sum_q;\n  always_ff @(posedge clk_i) if ({TAKEN}) sum_q <= sum_q ^ in_data_i;"),
        giving("in_data_i + sum_q"),
    ),
    "a register that a start clears, on show until then": (
        (f"{WRAPPER}/hls_ctrl.sv", "      status_q       <= '0;\n", ""),
    ),
    "a memory that is read where this run has not written": (
        ending(
            "  logic [63:0] mem_q [256];\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN} && in_data_i[8]) mem_q[in_data_i[7:0]] <= in_data_i;"
        ),
        giving("mem_q[in_data_i[7:0]]"),
    ),
    "a queue whose words stay": (
        ending(
            "  logic [63:0] kept_q [4];\n  logic [1:0] at_q;\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN}) begin at_q <= at_q + 2'd1; kept_q[at_q] <= in_data_i; end"
        ),
        giving("in_data_i[0] ? in_data_i : kept_q[at_q]"),
    ),
    "a random sequence that goes on": (
        ending(
            "  logic [15:0] random_q = 16'd1;\n"
            "  always_ff @(posedge clk_i) if (!rst_ni) random_q <= random_q; else if (clear_i)\n"
            "    random_q <= {random_q[14:0], random_q[15] ^ random_q[13] ^ random_q[12] ^ random_q[10]};"
        ),
        giving("in_data_i + 64'(random_q)"),
    ),
    "a counter that changes nothing but time": (
        ending(
            "  logic [5:0] words_q = '0;\n  logic [1:0] wait_q = '0;\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN}) words_q <= words_q + 6'(in_data_i[1:0]);\n"
            "  always_ff @(posedge clk_i) wait_q <= (wait_q != 2'd0) ? wait_q - 2'd1 : (&words_q[2:0] ? 2'd2 : 2'd0);"
        ),
        (
            CORE,
            "in_ready_o = !out_valid_o || out_ready_i;",
            "in_ready_o = (!out_valid_o || out_ready_i) && wait_q == 0;",
        ),
        (
            CORE,
            "else if (in_ready_o) out_valid_o <= in_valid_i;",
            "else if (in_ready_o || out_ready_i) out_valid_o <= in_valid_i && in_ready_o;",
        ),
    ),
    "the last address, kept in an error register": (
        (
            f"{WRAPPER}/hls_ctrl.sv",
            "\nendmodule",
            "\n  always_ff @(posedge clk_i) if (ap_done_i && status_i != '0) last_q <= pointers_o[0];\nendmodule",
        ),
        (f"{WRAPPER}/hls_ctrl.sv", "  // Read channel.\n", "  logic [63:0] last_q;\n"),
        (f"{WRAPPER}/hls_ctrl.sv", "    rdata = '0;\n", "    rdata = (raddr == 16'h4000) ? last_q[31:0] : '0;\n"),
    ),
    "a flag that one value of the data sets": (
        ending(
            "  logic seen_q = 1'b0;\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN} && in_data_i[63:48] == 16'hBEEF) seen_q <= 1'b1;"
        ),
        giving("in_data_i + 64'(seen_q)"),
    ),
    "a memory that one value of the next tenant's data opens": (
        ending(
            "  logic [63:0] kept_q = '0;\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN} && in_data_i[0]) kept_q <= in_data_i;"
        ),
        giving("in_data_i[31:0] == 32'h600D_CAFE ? kept_q : in_data_i"),
    ),
    "a flag that one value of an argument sets": (
        ending(
            "  logic seen_q = 1'b0;\n"
            f"  always_ff @(posedge clk_i) if ({TAKEN} && addend_i == 32'd3141592) seen_q <= 1'b1;"
        ),
        giving("in_data_i + 64'(seen_q)"),
    ),
    "arguments in the wrapper": ((f"{WRAPPER}/hls_ctrl.sv", "      scalars_o  <= '0;\n", ""),),
    "a pending interrupt in the wrapper": ((f"{WRAPPER}/hls_ctrl.sv", "      isr_q   <= '0;\n", ""),),
    "half a write in the wrapper": (
        (f"{WRAPPER}/hls_ctrl.sv", "      aw_held_q      <= 1'b0;\n      w_held_q ", "      w_held_q "),
    ),
    "words under way in the wrapper": (
        (f"{WRAPPER}/hls_fifo.sv", "if (!rst_ni || clear_i) begin", "if (clear_i && rst_ni) begin"),
    ),
}
"""What is kept, and the edits of a fresh module that make it so."""
READ_AT = "a memory that is read where this run has not written"


def fresh(folder: Path, *edits: Edit) -> Path:
    """A new module with edits; its manifest."""
    for block in NEEDED:
        shutil.copytree(ROOT / block, folder / block)
    create("fresh", folder, folder)
    for file, good, bad in edits:
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(good) >= 1, f"{file} has no {good!r}"
        path.write_text(text.replace(good, bad, 1), encoding="utf-8")
    return folder / MANIFEST


@pytest.mark.parametrize("kept", LEAKS)
def test_what_outlives_a_reset_is_found(kept: str, tmp_path: Path) -> None:
    verdict = check_scrub(fresh(tmp_path, *LEAKS[kept]))
    assert isinstance(verdict.leak, Leak), f"{kept}: nothing found in {verdict.looks} looks"
    assert verdict.leak.found != verdict.leak.wanted


def test_time_alone_gives_it_away(tmp_path: Path) -> None:
    """The core that waits gives the right words, so that nothing but a cycle tells."""
    leak = check_scrub(fresh(tmp_path, *LEAKS["a counter that changes nothing but time"])).leak
    assert leak is not None
    assert leak.signal in ("m_axi_awvalid", "m_axi_wvalid", "m_axi_arvalid", "irq"), str(leak)
    assert {leak.found, leak.wanted} == {0, 1}


def test_a_core_that_only_reset_clears_is_scrubbed_and_yet_no_module(tmp_path: Path) -> None:
    """One run shows in the next, but not beyond a reset."""
    state = (
        "  logic [63:0] sum_q;\n  always_ff @(posedge clk_i) if (!rst_ni) sum_q <= '0;\n"
        f"    else if ({TAKEN}) sum_q <= sum_q ^ in_data_i;"
    )
    manifest = fresh(tmp_path, ending(state), giving("in_data_i + sum_q"))
    assert check_scrub(manifest).leak is None
    leak = check_runs(manifest).leak
    assert leak is not None
    assert leak.signal == "m_axi_wdata"


def test_another_time_alone_is_unusual(tmp_path: Path) -> None:
    """A core that waits as long as the run before says gives the right words: nobody's job is wrong for it."""
    verdict = check_runs(fresh(tmp_path, *LEAKS["a counter that changes nothing but time"]))
    assert verdict.leak is None
    assert verdict.unusual is not None
    assert verdict.unusual.signal in ("m_axi_awvalid", "m_axi_wvalid", "m_axi_arvalid", "irq"), str(verdict.unusual)


def outcome(answers: int, written: int, end: int | None, page: bytes = b"") -> RunOutcome:
    """A run that writes a word, ends, and reads a register."""
    cycles = np.zeros(8000, UP_RECORD)
    cycles["m_axi_awvalid"][2], cycles["m_axi_wvalid"][3], cycles["m_axi_wdata"][3] = 1, 1, written
    if end is not None:
        cycles["irq"][end:] = 1
        cycles["s_axil_rvalid"][end + 2], cycles["s_axil_rdata"][end + 2] = 1, answers
    return RunOutcome(OutputTrace(cycles, ()), {7: page.ljust(4096, b"\0")})


def test_what_a_run_leaves_is_told_from_what_measures_time() -> None:
    alone, slower = outcome(50, 9, 100, b"\x50"), outcome(80, 9, 130, b"\x80")
    assert outcome(50, 9, 105, b"\x50").is_right(alone, slower), "only later"
    assert outcome(55, 9, 105, b"\x55").is_right(alone, slower), "and it measures that"
    assert not outcome(55, 9, 100, b"\x50").is_right(alone, slower), "another result in the same time"
    assert not outcome(50, 9, 105, b"\x50\x01").is_right(alone, slower), "another byte that measures nothing"
    assert not outcome(0, 9, None).is_right(alone, slower), "no end"
    endless = outcome(0, 9, None)
    assert outcome(0, 9, None).is_right(endless, endless)
    assert not outcome(0, 8, None).is_right(endless, endless), "other data, though it has not ended"
    late = outcome(0, 9, RUN_CYCLES + 100)
    assert late.is_right(endless, endless), "in the time that only one of them came to"


def test_what_a_record_is_worth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts for the build it names; another build is loaded, and one that leaks loses it."""
    monkeypatch.setattr(composition, "PASTS", 1)
    manifest, record = fresh(tmp_path), tmp_path / "bitstreams/fresh" / SCRUB_RECORD
    found = check_scrubbing(manifest)
    assert found.passed
    assert "record is missing" in found.what
    assert not record.exists()
    assert "recorded for this build" in check_scrubbing(manifest, record=True).what
    build = load_module_manifest(manifest).verified_build
    assert len(build) == 16
    assert load_module_manifest(manifest).scrubs(build)
    for edit in LEAKS[READ_AT]:
        path = tmp_path / edit[0]
        path.write_text(path.read_text(encoding="utf-8").replace(edit[1], edit[2], 1), encoding="utf-8")
    found = check_scrubbing(manifest, record=True)
    assert not found.passed
    assert "m_axi_wdata is" in found.reason
    assert "in cycle" in found.reason
    assert not record.exists(), "what does not hold is not on record"


def test_a_module_that_leaks_may_be_loaded(tmp_path: Path) -> None:
    manifest = fresh(tmp_path, *LEAKS[READ_AT])
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("scrub: reset", "scrub: load"), encoding="utf-8")
    found = check_scrubbing(manifest)
    assert found.passed
    assert "a reset would not do: after" in found.what
    assert not dataclasses.replace(load_module_manifest(manifest), verified_build="0" * 16).scrubs("0" * 16)
