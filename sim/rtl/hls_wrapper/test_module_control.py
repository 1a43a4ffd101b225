# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The check finds out by which control protocol a module speaks, and what else of HLS output it takes or refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from eddy.packages.manifests import CHECK_RECORD, SCRUB_RECORD, load_module_manifest
from eddy_sim.design.bench import ROOT
from eddy_sim.modcheck import composition, runner
from eddy_sim.modcheck.finding import Finding
from eddy_sim.modcheck.runner import CHECKS, WITHOUT_RUNS, check_module
from eddy_sim.tools.toolchain import BuildFailed

pytestmark = pytest.mark.rtl

MODULES = ROOT / "tests" / "modules"
Edit = tuple[str, str, str]


def copied(folder: Path, module: str, *edits: Edit) -> Path:
    """A module in a folder of its own, with edits (file, text, other text); its manifest."""
    for block in ("hw/ip/eddy_pkg", "hw/ip/slot_ports", "tests/modules/hls", f"tests/modules/{module}"):
        shutil.copytree(ROOT / block, folder / block)
    place = folder / "tests" / "modules" / module
    for record in (CHECK_RECORD, SCRUB_RECORD):
        (place / record).unlink(missing_ok=True)
    for name, good, bad in edits:
        path = place / name
        text = path.read_text(encoding="utf-8")
        assert text.count(good) == 1, f"{name} has no {good!r}"
        path.write_text(text.replace(good, bad), encoding="utf-8")
    return place / "manifest.yaml"


def saying(control: str, instead_of: str) -> Edit:
    """A manifest that says another protocol."""
    return ("manifest.yaml", f"control: {instead_of}", f"control: {control}")


@pytest.fixture
def bench_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the checks that compare whole runs, and their model: they take most of the time."""
    monkeypatch.setattr(runner, "build_checked", lambda path, progress: (path, 0))
    monkeypatch.setattr(runner, "_check_runs", lambda path: Finding("runs", "left out", True, ""))
    found = Finding("scrub", "left out", True, "")
    monkeypatch.setattr(runner, "check_scrubbing", lambda path, record, progress: found)


@pytest.mark.parametrize("module", ["hls_words", "hls_table"])
def test_the_shapes_of_hls_output_pass(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composition, "PASTS", 1)
    manifest = copied(tmp_path, module)
    findings = check_module(manifest, record=True)
    assert [f.check for f in findings] == list(CHECKS)
    assert [f for f in findings if not f.passed] == []
    assert load_module_manifest(manifest).checked_build


def test_a_module_that_nothing_starts_is_checked_without_runs_and_has_no_record(tmp_path: Path) -> None:
    manifest = copied(tmp_path, "hls_free")
    findings = check_module(manifest, record=True)
    assert [f.check for f in findings] == list(WITHOUT_RUNS)
    assert [f for f in findings if not f.passed] == []
    assert not (manifest.parent / CHECK_RECORD).exists()


@pytest.mark.usefixtures("bench_only")
@pytest.mark.parametrize(
    ("module", "has", "says", "reason"),
    [
        ("hls_table", "chain", "hs", "ap_done does not clear on read, but goes with ap_continue: say control: chain"),
        ("hls_words", "hs", "chain", "ap_done clears on read, without ap_continue: say control: hs"),
        ("hls_words", "hs", "none", "it says done after a start: it has a control protocol; say control: hs or chain"),
        ("hls_table", "chain", "none", "it says done after a start"),
    ],
)
def test_a_manifest_that_says_another_protocol_is_refused(
    module: str, has: str, says: str, reason: str, tmp_path: Path
) -> None:
    """And what was on record of the module goes: no job is given it any more."""
    manifest = copied(tmp_path, module, saying(says, has))
    (manifest.parent / CHECK_RECORD).write_text('build: "0123456789abcdef"\n', encoding="utf-8")
    failed = {f.check: f.reason for f in check_module(manifest, record=True) if not f.passed}
    assert reason in failed["control"]
    assert not (manifest.parent / CHECK_RECORD).exists()
    if says == "hs":
        assert "ap_done is still set from a run before" in failed["backpressure"]


@pytest.mark.usefixtures("bench_only")
def test_a_module_without_a_start_does_not_pass_for_one_with(tmp_path: Path) -> None:
    example = ("manifest.yaml", "scrub: load\n", "scrub: load\nexample: {step: 3}\n")
    failed = {
        f.check for f in check_module(copied(tmp_path, "hls_free", saying("hs", "none"), example)) if not f.passed
    }
    assert {"control", "protocol", "reset"} <= failed


@pytest.mark.usefixtures("bench_only")
def test_interrupts_may_clear_when_they_are_read(tmp_path: Path) -> None:
    """As `config_interface -s_axilite_interrupt_mode cor` makes them: the driver reads what it clears."""
    clears = ("rtl/hls_words.v", ".C_S_AXI_DATA_WIDTH( 32 ))", ".C_S_AXI_DATA_WIDTH( 32 ), .CLEAR_ON_READ( 1 ))")
    assert [f for f in check_module(copied(tmp_path, "hls_words", clears)) if not f.passed] == []


@pytest.mark.usefixtures("bench_only")
@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (("int_isr[0] <= 1'b1;", "int_isr[0] <= 1'b0;"), "the run's end did not raise it"),
        (("int_isr[0] ^ WDATA[0];", "int_isr[0];"), "does not clear it"),
        (("rdata[2] <= int_ap_idle", "rdata[2] <= 1'b1"), "ap_idle is set while the module runs"),
    ],
)
def test_what_the_driver_needs_of_the_registers_is_checked(edit: tuple[str, str], reason: str, tmp_path: Path) -> None:
    manifest = copied(tmp_path, "hls_words", ("../hls/rtl/hls_control_s_axi.v", *edit))
    failed = {f.check: f.reason for f in check_module(manifest) if not f.passed}
    assert reason in failed["control"]


def test_the_shapes_that_cannot_be_simulated_are_refused_with_their_lines(tmp_path: Path) -> None:
    """Errors come first, though HLS output has lint by the hundred."""
    waits = ("rtl/hls_words.v", "#0 i_fu_70 = 32'd0;", "@(posedge ap_clk) i_fu_70 = 32'd0;")
    with pytest.raises(BuildFailed, match=r"(?s)failed \(exit 1\):\n%Error-NOTIMING: \S+hls_words.v:\d+.*warnings: "):
        check_module(copied(tmp_path, "hls_words", waits))


def test_a_rom_that_is_short_is_said_before_anything_is_driven(tmp_path: Path) -> None:
    short = ("rtl/hls_table_sbox_rom.dat", "0d\nb4\n5b\n", "0d\nb4\n")
    with pytest.raises(BuildFailed, match=r"hls_table_sbox_rom.dat holds 255 words, and the memory .* takes 256"):
        check_module(copied(tmp_path, "hls_table", short))
    unlisted = ("hls_table.f", "rtl/hls_table_sbox_rom.dat\n", "")
    (tmp_path / "b").mkdir()
    with pytest.raises(BuildFailed, match=r"which is no data file of its \.f list \(there are none\)"):
        check_module(copied(tmp_path / "b", "hls_table", unlisted))
