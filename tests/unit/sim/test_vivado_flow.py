# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The build of a board, as far as it can be told without Vivado: a dry run records what the tools would be asked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fnmatch import translate
from functools import cache
from pathlib import Path

import pytest
from eddy.board.port.profile import load_profile
from eddy_drivers.regs import window
from eddy_sim.design.bitstreams import fits, modules
from eddy_sim.tools.filelist import include_folders, read_filelist, source_files

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
from board_flow.constraints import (  # noqa: E402
    ENGINE_FIFOS,
    ENGINE_SYNCHRONISERS,
    FIFOS,
    PORT_CLOCK,
    PORT_CLOCKS,
    SYNCHRONISERS,
    crossings,
    slot_cell,
    vivado_name,
)
from board_flow.floorplan import read_boards  # noqa: E402
from board_flow.netlist import Crossing, Netlist, elaborate  # noqa: E402
from board_flow.runs import static_hash  # noqa: E402

BOARDS = read_boards()
BY_NAME = pytest.mark.parametrize("name", BOARDS)
TCLSH = shutil.which("tclsh")
needs_tclsh = pytest.mark.skipif(TCLSH is None, reason="the dry run of the build needs tclsh (Debian: apt install tcl)")


def run(name: str, folder: Path, *only: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The flow with commands that only record."""
    assert TCLSH is not None
    parts = ["static", *(module.module for module in modules())]
    identities = folder / "identities.tcl"
    identities.write_text("".join(f"identity {part} 0123456789abcdef\n" for part in parts))
    command = [TCLSH, str(ROOT / "hw/vivado/tcl/dryrun.tcl"), str(ROOT), name, str(identities), *only]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=180
    )


@cache
def said(name: str, only: str = "") -> list[list[str]]:
    """What a dry run asked of the tools, word by word."""
    folder = ROOT / "build" / "dryrun" / (name + only)
    folder.mkdir(parents=True, exist_ok=True)
    result = run(name, folder, *only.split())
    assert result.returncode == 0, result.stderr
    return [words(line) for line in result.stdout.splitlines()]


def words(line: str) -> list[str]:
    """A Tcl list without nesting, as words."""
    return [braced or plain for braced, plain in re.findall(r"\{([^}]*)\}|(\S+)", line)]


def asked(name: str, command: str) -> list[list[str]]:
    return [line for line in said(name) if line[0] == command]


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_every_source_is_read_once_for_each_part(name: str) -> None:
    """The static part's list and each module's, in the order of the one reader of lists."""
    runs: list[list[Path]] = []
    for line in said(name):
        if line[0] == "create_project":
            runs.append([])
        if line[0] == "read_verilog":
            runs[-1].append(Path(line[-1]))
    lists = [module.files for module in modules()] + [ROOT / f"hw/top/{name}/{name}.f"]
    assert runs == [source_files(read_filelist(path)) for path in lists]
    assert all(len(set(files)) == len(files) for files in runs)


LISTS = """\
proc read_verilog {args} { puts "read_verilog $args" }
proc read_mem {args} { puts "read_mem $args" }
source [lindex $argv 0]
puts "folders [read_list [lindex $argv 1]]"
"""


@needs_tclsh
def test_every_kind_of_file_reaches_the_synthesizer_as_its_kind(tmp_path: Path) -> None:
    """Verilog as Verilog, headers by their folders, data where memories look for it: in the folder of the run."""
    for name in ("inc/deep/two.vh", "one.svh", "low.v", "rom.dat", "code.hex", "more/more.f"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "top.sv").write_text('`include "deep/two.vh"\n`include "one.svh"\n')
    listed = "-f more/more.f\n+incdir+inc\none.svh\nrom.dat // bytes\nlow.v\ncode.hex\ntop.sv\n"
    (tmp_path / "top.f").write_text(listed)
    (tmp_path / "lists.tcl").write_text(LISTS)
    (tmp_path / "run").mkdir()
    command = [str(TCLSH), str(tmp_path / "lists.tcl"), str(ROOT / "hw/vivado/tcl/lists.tcl"), str(tmp_path / "top.f")]
    done = subprocess.run(command, cwd=tmp_path / "run", capture_output=True, text=True, check=True, timeout=180)
    files = read_filelist(tmp_path / "top.f")
    low, top = (str(path) for path in source_files(files))
    *reads, folders = done.stdout.splitlines()
    assert reads == ["read_mem rom.dat", f"read_verilog {low}", f"read_verilog -sv {top}"]
    assert folders.split()[1:] == sorted(map(str, include_folders(files)))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["code.hex", "rom.dat"]


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_a_memory_whose_file_is_not_found_stops_the_build(name: str) -> None:
    """Else Vivado goes on with zeros; and each module has a folder of its own, where no other's data lies."""
    assert asked(name, "set_msg_config") == [["set_msg_config", "-id", "Synth 8-4445", "-new_severity", "ERROR"]]
    folder = ROOT / "build" / "dryrun" / name
    assert all((folder / "modules" / module.module).is_dir() for module in modules())


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_every_slot_and_module_has_one_run(name: str) -> None:
    profile = load_profile(name)
    wanted = [(slot.index, module.module) for slot in profile.slots for module in modules() if fits(module, slot)]
    written = [line for line in asked(name, "write_bitstream") if "-cell" in line]
    found = []
    for line in written:
        module, slot = re.fullmatch(r"(\w+)__slot(\d+)\.bit", line[-1]).groups()  # type: ignore[union-attr]
        assert line[line.index("-cell") + 1] == slot_cell(int(slot))
        found.append((int(slot), module))
    assert found == wanted
    verified = [line[line.index("-additional") + 1] for line in asked(name, "pr_verify")]
    assert verified == ["grey.dcp", *(f"{module}__slot{slot}.dcp" for slot, module in wanted)]


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_nothing_is_written_before_timing_was_looked_at(name: str) -> None:
    """Between a routing and the next bitstream there is a report of timing."""
    looked = False
    for line in said(name):
        if line[0] == "route_design":
            looked = False
        looked = looked or line[0] == "report_timing_summary"
        if line[0] in ("write_bitstream", "write_abstract_shell"):
            assert looked, line


@needs_tclsh
@pytest.mark.parametrize("slack", ["-0.001", ""])
def test_a_design_that_misses_timing_stops_the_build(slack: str, tmp_path: Path) -> None:
    result = run("kv260", tmp_path, DRYRUN_SLACK_NS=slack)
    assert result.returncode != 0
    assert "parent: setup slack is" in result.stderr
    assert "write_bitstream" not in result.stdout


@needs_tclsh
def test_a_module_alone_is_built_against_the_shells_that_are_there() -> None:
    lines = said("kv260", "dct")
    assert not [line for line in lines if line[0] in ("write_abstract_shell", "create_ip")]
    assert [line[-1] for line in lines if line[0] == "write_bitstream"] == [f"dct__slot{slot}.bit" for slot in range(4)]


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_the_floorplan_is_applied_whole(name: str) -> None:
    board = BOARDS[name]
    assert [line[1] for line in asked(name, "create_pblock")] == [f"slot{slot.index}" for slot in board.slots]
    added = Counter(line[-1] for line in asked(name, "resize_pblock"))
    assert added == Counter(sites for slot in board.slots for box in slot.boxes for sites in box.sites)
    cells = [line[-1] for line in asked(name, "add_cells_to_pblock")]
    assert cells == [slot_cell(slot.index) for slot in board.slots]


@cache
def found_crossings(slots: int) -> set[Crossing]:
    """The crossings of the fabric for so many slots: the boards' tops differ in nothing else (test_board_top)."""
    name = next(name for name, board in BOARDS.items() if len(board.slots) == slots)
    folder = ROOT / "build" / "netlist" / name
    folder.mkdir(parents=True, exist_ok=True)
    return Netlist(elaborate(name, folder)).crossings()


def covers(name: str) -> Callable[[str, Crossing], bool]:
    """Whether a line of the timing constraints, as it stands in the file, covers a crossing."""

    def matches(line: str, crossing: Crossing) -> bool:
        source, cells, clock = _parts(line)
        if not _is(source, crossing.source):
            return False
        if cells:
            return _is(cells, crossing.sink)
        if PORT_CLOCK.endswith(f"{clock}]"):
            return crossing.sink_clock == "u_zynqmp.port_clk"
        wizard = re.search(r"gen_slots\[(\d+)\]", clock)
        return crossing.sink_clock == (f"u_zynqmp.slot_clk[{wizard[1]}]" if wizard else "u_zynqmp.clk")

    return matches


@cache
def _parts(line: str) -> tuple[str, str, str]:
    """Of a line of the timing constraints: cells or pins it is from, cells it is to, clock it is to; one of the two."""
    source = re.search(r"-from \[get_(?:cells|pins) \{(.*?)\}\]", line)
    cells = re.search(r"-to \[get_cells \{(.*?)\}\]", line)
    clock = re.search(r"-to \[get_clocks (.*)\]$", line)
    assert source is not None
    assert (cells is None) != (clock is None)
    return source[1], cells[1] if cells else "", clock[1] if clock else ""


def _is(pattern: str, name: str) -> bool:
    """Whether a pattern of cells names a register of the netlist: index and pin left out."""
    wanted, pin = _pattern(pattern)
    return wanted(_vivado_name(name, not pin)) is not None


@cache
def _pattern(pattern: str) -> tuple[Callable[[str], re.Match[str] | None], bool]:
    bare = re.sub(r"\[(?:\*|0|95)\]$|\*$", "", pattern)
    pin = bare == "u_zynqmp/u_ps/u_ps8/EMIOGPIOO"
    return re.compile(translate(bare.replace("[", "[[]"))).match, pin


_vivado_name = cache(vivado_name)


@pytest.mark.rtl
@pytest.mark.xdist_group("board-netlist")
@BY_NAME
def test_every_crossing_has_exactly_one_constraint(name: str) -> None:
    lines = (ROOT / f"hw/vivado/{name}/timing.xdc").read_text(encoding="utf-8").splitlines()
    constraints = [line for line in lines if line.startswith(("set_max_delay", "set_false_path"))]
    found = found_crossings(len(BOARDS[name].slots))
    matches = covers(name)
    used: Counter[str] = Counter()
    for crossing in sorted(found):
        by = [line for line in constraints if matches(line, crossing)]
        assert len(by) == 1, (crossing, by)
        used[by[0]] += 1
    assert set(used) == set(constraints), "every constraint covers a crossing"
    assert len(found) > 50 * len(BOARDS[name].slots)


@pytest.mark.rtl
@pytest.mark.xdist_group("board-netlist")
@BY_NAME
def test_levels_and_pointers_cross_into_synchronisers_and_words_through_memories(name: str) -> None:
    """No crossing goes through logic into a plain register, but a memory's data, which stands still by then."""
    for crossing in found_crossings(len(BOARDS[name].slots)):
        into = crossing.sink.rsplit(".", 1)[1]
        assert into in ("sync_q", "read_gray_meta_q", "write_gray_meta_q") or crossing.source.endswith(".mem_q"), (
            crossing
        )


def test_a_crossing_that_nobody_thought_of_is_found() -> None:
    """Two registers on two clocks, with a gate between."""
    cells = {
        "a": ("$dff", {"CLK": [2], "D": [4], "Q": [5]}, {"CLK": "input", "D": "input", "Q": "output"}),
        "g": ("$not", {"A": [5], "Y": [6]}, {"A": "input", "Y": "output"}),
        "b": ("$dff", {"CLK": [3], "D": [6], "Q": [7]}, {"CLK": "input", "D": "input", "Q": "output"}),
    }
    names = {"one": 2, "two": 3, "a_q": 5, "b_q": 7}
    module = {
        "cells": {
            name: {"type": kind, "connections": ports, "port_directions": ways, "parameters": {}}
            for name, (kind, ports, ways) in cells.items()
        },
        "netnames": {name: {"bits": [bit], "hide_name": 0} for name, bit in names.items()},
    }
    assert Netlist(module).crossings() == {Crossing("a_q", "b_q", "one", "two")}


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_the_ports_clock_is_what_the_profile_has(name: str) -> None:
    """The wizard, the constraints and the profile with the engine mean one rate: at most ICAPE3's 200 MHz."""
    board = load_profile("kv260_icap")
    assert board.configuration.words_per_cycle == PORT_CLOCKS
    assert board.configuration.engine_hz <= 200e6
    (made,) = (" ".join(line) for line in asked(name, "set_property") if line[-1] == "port_clock")
    rate = re.search(r"CLKOUT1_REQUESTED_OUT_FREQ (\S+)", made)
    assert rate is not None
    assert float(rate[1]) * 1e6 == PORT_CLOCKS * board.shell_hz


@pytest.mark.xdist_group("board-dryrun")
@BY_NAME
@needs_tclsh
def test_wizards_take_the_clock_managers_that_are_counted(name: str) -> None:
    """A slot's takes an MMCM, the port's a PLL (`tools/area_report/clock_tiles.py`): a device has few of the former."""
    made = {line[-1]: " ".join(line) for line in asked(name, "set_property")}
    kinds = {wizard: re.search(r"CONFIG\.PRIMITIVE (\w+)", made[wizard]) for wizard in ("slot_clock", "port_clock")}
    assert {wizard: kind and kind[1] for wizard, kind in kinds.items()} == {"slot_clock": "MMCM", "port_clock": "PLL"}


@BY_NAME
def test_as_many_constraints_as_the_paths_have_crossings(name: str) -> None:
    board = BOARDS[name]
    listed = list(crossings(board, load_profile(name).shell_hz))
    engine = len(ENGINE_SYNCHRONISERS) + 3 * len(ENGINE_FIFOS)
    assert len(listed) == 1 + engine + len(board.slots) * (len(SYNCHRONISERS) + 3 * len(FIFOS))
    assert len({(each.source, each.sink) for each in listed}) == len(listed)


@BY_NAME
def test_the_static_part_has_an_identity(name: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", static_hash(BOARDS[name]))
    assert len({static_hash(board) for board in BOARDS.values()}) == len(BOARDS)


def overlay(name: str) -> str:
    return (ROOT / f"hw/vivado/{name}/eddy.dtso").read_text(encoding="utf-8")


@BY_NAME
def test_the_overlay_says_the_window_and_the_interrupt(name: str) -> None:
    """As the address map says; `pl_ps_irq0` is what the fabric's top drives, level high."""
    text = overlay(name)
    reg = re.search(r"reg = <0x0 (0x\w+) 0x0 (0x\w+)>", text)
    assert reg is not None
    assert (int(reg[1], 0), int(reg[2], 0)) == (window.BASE, window.BYTES)
    assert f"fabric@{window.BASE:x} {{" in text
    assert "interrupts = <0 89 4>" in text
    assert ".PLPSIRQ0({7'd0, irq_i})" in (ROOT / "hw/top/zynqmp/rtl/zynqmp_ps.sv").read_text(encoding="utf-8")


@BY_NAME
@pytest.mark.skipif(shutil.which("dtc") is None, reason="needs dtc (Debian: apt install device-tree-compiler)")
def test_the_overlay_compiles_without_a_warning(name: str, tmp_path: Path) -> None:
    command = ["dtc", "-@", "-I", "dts", "-O", "dtb", "-o", str(tmp_path / "eddy.dtbo")]
    command.append(str(ROOT / f"hw/vivado/{name}/eddy.dtso"))
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "eddy.dtbo").stat().st_size > 100
