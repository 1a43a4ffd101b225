# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy module new` makes a module that passes `eddy module check`; modules with defects are found out."""

import re
import shutil
from pathlib import Path

import pytest
from eddy.cli.boards.module import create
from eddy.core.errors import InvalidRequest
from eddy_sim.design.bench import ROOT, Bench
from eddy_sim.modcheck import runner
from eddy_sim.modcheck.finding import Finding
from eddy_sim.modcheck.runner import CHECKS, check_module

WRAPPER = "hw/ip/hls_wrapper"
NEEDED = (WRAPPER, "hw/ip/eddy_pkg", "hw/ip/slot_ports", "hw/regs/generated")
STUCK_DONE = ("hls_ctrl.sv", "        done_q  <= 1'b0;\n        ready_q <= 1'b0;\n", "        ready_q <= 1'b0;\n")
STUCK_ISR = ("hls_ctrl.sv", "isr_q ^ wdata_q[1:0]", "isr_q | wdata_q[1:0]")
LATE_WRITES = ("hls_wrapper.sv", ".addr_i(write_addr_i)", ".addr_i(write_addr_i + 40'd8)")
WRONG_MAP = ("hls_wrapper.sv", "RegMap = 16'h0100", "RegMap = 16'h0203")
EARLY_DONE = ("hls_writer.sv", "done && open_q == '0;", "done;")
NO_STROBES = ("hls_ctrl.sv", "wmask = {{8{wstrb_q[3]}}", "wmask = 32'hFFFF_FFFF | {{8{wstrb_q[3]}}")
WRONG_STROBES = (
    "hls_ctrl.sv",
    "wmask = {{8{wstrb_q[3]}}, {8{wstrb_q[2]}}",
    "wmask = {{8{wstrb_q[3]}}, {8{wstrb_q[1]}}",
)
PAGE_CROSSING = ("hls_bursts.sv", "10'd512 -", "10'd900 -")


def failing(tmp_path: Path, *defects: tuple[str, str, str]) -> set[str]:
    """The checks a fresh module fails when its wrapper has some defects."""
    for block in NEEDED:
        shutil.copytree(ROOT / block, tmp_path / block)
    for file, good, bad in defects:
        path = tmp_path / WRAPPER / "rtl" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(good) == 1, f"{file} has no {good!r} to break"
        path.write_text(text.replace(good, bad), encoding="utf-8")
    create("fresh", tmp_path, tmp_path)
    return failing_checks(tmp_path)


@pytest.fixture
def bench_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the checks that compare whole runs: they take most of the time, and other defects are for them."""
    monkeypatch.setattr(runner, "_check_runs", lambda path: Finding("runs", "left out", True, ""))
    found = Finding("scrub", "left out", True, "")
    monkeypatch.setattr(runner, "check_scrubbing", lambda path, record, progress: found)


def failing_checks(tmp_path: Path) -> set[str]:
    """The checks that the module `fresh` in a folder fails."""
    findings = check_module(tmp_path / "bitstreams/fresh/manifest.yaml")
    assert [f.check for f in findings] == list(CHECKS)
    assert all(f.passed or f.reason for f in findings)
    return {f.check for f in findings if not f.passed}


@pytest.mark.rtl
def test_a_fresh_module_passes(tmp_path: Path) -> None:
    assert failing(tmp_path) == set()


@pytest.mark.rtl
def test_the_tutorials_module_does_what_its_page_says(tmp_path: Path) -> None:
    """What docs/tutorials/your-own-module.md shows, put where it says, under the bench that comes with the module."""
    page = (ROOT / "docs/tutorials/your-own-module.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^```(systemverilog|python)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE))
    for block in NEEDED:
        shutil.copytree(ROOT / block, tmp_path / block)
    create("brighten", tmp_path, tmp_path)
    core = tmp_path / "hw/ip/brighten/rtl/brighten_core.sv"
    text = core.read_text(encoding="utf-8")
    core.write_text(text[: text.rindex("  always_ff")] + shown["systemverilog"] + "\nendmodule\n", encoding="utf-8")
    bench = tmp_path / "sim/rtl/brighten/cocotb_brighten.py"
    before, after = bench.read_text(encoding="utf-8").split("def make(")
    tests = after[after.index("@cocotb.test()") :]
    bench.write_text(before + shown["python"] + "\n\n" + tests, encoding="utf-8")
    Bench("brighten", tmp_path / "hw/ip/brighten/brighten.f").run("cocotb_brighten", bench.parent)


@pytest.mark.rtl
@pytest.mark.usefixtures("bench_only")
@pytest.mark.parametrize(("defect", "found"), [(NO_STROBES, set()), (WRONG_STROBES, {"registers"})])
def test_strobes_may_be_ignored_but_not_mistaken(defect: tuple[str, str, str], found: set[str], tmp_path: Path) -> None:
    assert failing(tmp_path, defect) == found


@pytest.mark.rtl
def test_interrupt_status_bit_by_bit() -> None:
    Bench("dct", ROOT / "hw/ip/dct/dct.f").run("cocotb_interrupt_status", Path(__file__).parent)


@pytest.mark.rtl
@pytest.mark.usefixtures("bench_only")
def test_defects_are_found(tmp_path: Path) -> None:
    # Writes beside the buffer also miss the address at which memory was told to fail.
    found = failing(tmp_path, STUCK_ISR, LATE_WRITES, WRONG_MAP)
    assert {"control", "windows", "identity", "errors"} <= found


@pytest.mark.rtl
@pytest.mark.usefixtures("bench_only")
def test_page_crossing_and_stuck_done_are_found(tmp_path: Path) -> None:
    assert {"protocol", "control"} <= failing(tmp_path, PAGE_CROSSING, STUCK_DONE)


@pytest.mark.rtl
@pytest.mark.usefixtures("bench_only")
def test_a_module_that_is_done_before_its_writes_are_answered_is_found(tmp_path: Path) -> None:
    assert "protocol" in failing(tmp_path, EARLY_DONE)


@pytest.mark.rtl
@pytest.mark.usefixtures("bench_only")
def test_a_core_that_drops_words_under_backpressure_is_found(tmp_path: Path) -> None:
    """The skeleton's example moves more words than the wrapper keeps, so that the core is held up, too."""
    for block in NEEDED:
        shutil.copytree(ROOT / block, tmp_path / block)
    create("fresh", tmp_path, tmp_path)
    core = tmp_path / "hw/ip/fresh/rtl/fresh_core.sv"
    text, good = core.read_text(encoding="utf-8"), "assign in_ready_o = !out_valid_o || out_ready_i;"
    assert text.count(good) == 1
    core.write_text(text.replace(good, "assign in_ready_o = 1'b1;"), encoding="utf-8")
    assert "backpressure" in failing_checks(tmp_path)


@pytest.mark.rtl
def test_a_check_that_did_not_come_to_it_is_not_passed(tmp_path: Path, bench_only: None) -> None:
    """An example that moves no data says nothing of bursts."""
    create("fresh", tmp_path, ROOT)
    manifest = tmp_path / "bitstreams/fresh/manifest.yaml"
    text = manifest.read_text(encoding="utf-8")
    example = re.search(r"^example:.*$", text, re.MULTILINE)
    assert example is not None
    manifest.write_text(text.replace(example[0], re.sub(r"(words|blocks|count): \d+", r"\1: 0", example[0])), "utf-8")
    found = {each.check: each for each in check_module(manifest)}
    for check in ("backpressure", "windows", "errors", "reset"):
        assert (found[check].passed, found[check].shown) == (False, False), found[check]
        assert found[check].reason == "the example moved no data"
    assert (found["protocol"].passed, found["protocol"].shown) == (False, True)


def test_a_top_that_is_not_there_is_named(tmp_path: Path) -> None:
    create("fresh", tmp_path, ROOT)
    manifest = tmp_path / "bitstreams/fresh/manifest.yaml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("top: fresh", "top: nosuch"), encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"top is 'nosuch'.*at the top there: fresh") as refused:
        check_module(manifest)
    assert refused.value.details["field"] == "top"
