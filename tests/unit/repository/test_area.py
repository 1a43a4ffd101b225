# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page of areas is that of these sources, and counts what it says."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
import area  # noqa: E402
from area_report import clock_tiles, clocks, synthesis  # noqa: E402
from area_report import levels as walk  # noqa: E402
from area_report.clusters import area_of, fits, label  # noqa: E402
from area_report.page import FILL, fit, render, shell_of  # noqa: E402
from area_report.routes import read_record  # noqa: E402
from area_report.synthesis import UnknownCell, count, synthesize  # noqa: E402
from area_report.tops import Device, Top, header, meaning, read_devices, read_tops  # noqa: E402
from eddy_sim.tools import yosys  # noqa: E402

SOURCE = """
// A comment.
module blink (
  input  logic clk_i,  /* the clock */
  output logic q_o
);
  always_ff @(posedge clk_i) q_o <= !q_o;
`ifndef SYNTHESIS
  Checked_A : assert property (@(posedge clk_i) 1);
`endif
endmodule
"""


def test_the_page_is_that_of_the_figures() -> None:
    assert area.page_is_current(), "docs/reference/area.md is not that of area.json; run `make area`"


def test_the_figures_are_those_of_the_sources() -> None:
    old = area.stale()
    known = area.read_figures()["tops"]
    missing = [name for name in old if name not in known]
    assert not missing, f"without figures: {', '.join(missing)}; run `make area` and commit the page"
    assert not old, f"changed since they were synthesized: {', '.join(old)}; run `make area` and commit the page"


def test_no_path_is_longer_than_its_budget() -> None:
    assert not area.too_deep()


def test_nothing_in_a_slot_is_clocked_faster_than_it_bears() -> None:
    figures = area.read_figures()
    assert not clocks.too_fast(figures)
    known = {each.name: each for each in clocks.clocked(figures)}
    assert {"level_shift", "gpu_core-4w4t", "gpu_rest-1"} <= set(known)
    assert known["level_shift"].clk_hz == 100e6


def test_the_page_says_where_nothing_is_doubtful() -> None:
    figures = area.read_figures()
    shallow = {name: {**top, "path": [1, "a", "b"]} for name, top in figures["tops"].items()}
    said = clocks.section({**figures, "tops": shallow})
    assert said.endswith(clocks.NOTHING)
    assert "at worst |" not in said


def test_a_module_too_deep_for_its_clock_is_named() -> None:
    figures = area.read_figures()
    name = "level_shift"
    for levels, wrong in ((22, False), (23, True)):
        deep = {**figures["tops"], name: {**figures["tops"][name], "path": [levels, "a", "b"]}}
        found = clocks.too_fast({**figures, "tops": deep})
        assert bool(found) == wrong
        assert all(text.startswith(f"{name}: {levels} levels") for text in found)
        assert f"| {name} | {levels} |" in clocks.section({**figures, "tops": deep})


def cell(kind: str, outputs: str = "O", parameters: dict[str, str] | None = None, **bits: int) -> dict[str, object]:
    """A cell as Yosys writes it: each port a bit; ports named in `outputs` go out."""
    ports = {port: [bit] for port, bit in bits.items()}
    directions = {port: "output" if port in outputs.split() else "input" for port in ports}
    return {"type": kind, "connections": ports, "port_directions": directions, "parameters": parameters or {}}


def netlist(**cells: dict[str, object]) -> dict[str, Any]:
    nets = {"a": 2, "b": 3, "q": 20, "r": 21, "s": 22}
    ports = {"a": {"direction": "input", "bits": [2]}, "b": {"direction": "input", "bits": [3]}}
    names = {name: {"bits": [bit], "hide_name": 0} for name, bit in nets.items()}
    return {"modules": {"top": {"cells": cells, "ports": ports, "netnames": names}}}


def register(d: int, q: int) -> dict[str, object]:
    return cell("FDRE", "Q", C=3, D=d, Q=q)


def test_levels_of_a_known_netlist() -> None:
    """q goes over two LUTs, a chain of two CARRY8 and a wide multiplexer to r; a goes over one LUT to s."""
    cells = {
        "q_reg": register(30, 20),
        "one": cell("LUT2", I0=20, I1=2, O=31),
        "low": cell("CARRY8", "CO O", S=31, DI=20, CI=3, CO=32, O=33),
        "high": cell("CARRY8", "CO O", S=2, DI=2, CI=32, CO=34, O=35),
        "two": cell("LUT3", I0=35, I1=33, O=36),
        "wide": cell("MUXF7", I0=36, I1=2, S=3, O=37),
        "r_reg": register(37, 21),
        "three": cell("LUT1", I0=2, O=38),
        "s_reg": register(38, 22),
    }
    assert walk.longest(netlist(**cells), "top") == walk.Path(3, "q", "r")
    cells["store"] = cell("RAM32X1D", "DPO SPO", A0=36, D=36, DPRA0=20, DPO=40, SPO=41)
    cells["r_reg"] = register(41, 21)
    assert walk.longest(netlist(**cells), "top") == walk.Path(4, "q", "r"), "reading over the write address"
    cells["r_reg"] = register(40, 21)
    assert walk.longest(netlist(**cells), "top").levels == 3, "the other port does not see it, and data ends there"


def test_the_deepest_path_into_each_register() -> None:
    cells = {
        "one": cell("LUT1", I0=20, O=30),
        "two": cell("LUT2", I0=30, I1=2, O=31),
        "q_reg": register(2, 20),
        "r0_reg": register(30, 21),
        "r1_reg": register(31, 23),
        "s_reg": register(31, 22),
    }
    found = netlist(**cells)
    found["modules"]["top"]["netnames"]["r"] = {"bits": [21, 23], "hide_name": 0}
    paths = walk.deepest(found, "top")
    assert paths[:2] == [walk.Path(2, "q", "r[1]"), walk.Path(2, "q", "s")]
    assert [path.end for path in paths].count("r[0]") == 0, "a register's bits are taken together"
    assert paths[0] == walk.longest(found, "top")


def test_multipliers_are_as_deep_as_their_registers_leave_them() -> None:
    def levels(**registers: str) -> int:
        cells = {"m": cell("DSP48E2", "P", registers, A=2, P=30), "lut": cell("LUT1", I0=30, O=31)}
        return walk.longest(netlist(**cells, r_reg=register(31, 21)), "top").levels

    assert levels(AREG="00000000000000000000000000000000") == walk.DSP_LEVELS + 1
    assert levels(PREG="00000000000000000000000000000001") == 1


def test_logic_that_feeds_itself_is_refused() -> None:
    loop = {"x": cell("LUT1", I0=30, O=31), "y": cell("LUT1", I0=31, O=30), "r_reg": register(30, 21)}
    with pytest.raises(ValueError, match="feeds itself"):
        walk.longest(netlist(**loop), "top")


def test_everything_reconfigurable_and_the_shell_is_listed() -> None:
    names = {top.name for top in read_tops()}
    modules = {path.parent.name for path in TOOLS.parent.glob("bitstreams/*/manifest.yaml")}
    assert {"slot_path", "shell-1", "shell-10", "dct", "knn_search"} <= names
    assert len(modules & names) >= 9


def test_a_key_follows_the_meaning_and_not_the_layout(tmp_path: Path) -> None:
    source, filelist = tmp_path / "blink.sv", tmp_path / "blink.f"
    filelist.write_text("blink.sv\n")

    def key(text: str, **parameters: int) -> str:
        source.write_text(text)
        return Top("blink", "part", "blink", filelist, parameters).key()

    first = key(SOURCE)
    assert (
        key(SOURCE.replace("A comment", "Another").replace("  ", "      ").replace("property (", "property  ("))
        == first
    )
    assert key(SOURCE.replace("!q_o", "q_o")) != first
    assert key(SOURCE, Width=3) != first
    # A header counts where it is included, as if its text stood there.
    (tmp_path / "ports.svh").write_text("output logic q_o\n")
    filelist.write_text("ports.svh\nblink.sv\n")
    assert key(SOURCE.replace("output logic q_o", '`include "ports.svh"')) == first
    (tmp_path / "ports.svh").write_text("output logic q_o, output logic r_o\n")
    assert key(SOURCE.replace("output logic q_o", '`include "ports.svh"')) != first
    # Of a box only the ports count.
    box = Top("blink", "part", "blink", filelist, {}, ("blink",))
    source.write_text(SOURCE)
    first = box.key()
    source.write_text(SOURCE.replace("!q_o", "q_o"))
    assert box.key() == first
    source.write_text(SOURCE.replace("q_o\n);", "q_o,\n  input logic a_i\n);"))
    assert box.key() != first


FOREIGN = """\
`timescale 1 ns / 1 ps
`include "sizes.vh"
module foreign(input clk, input [1:0] at, output reg [7:0] bit);
  reg [7:0] logic [0:`DEPTH-1];
  reg do;
  initial begin
    #0 do = 1'b0;
    $readmemh("./rom.dat", logic);
  end
  always @(posedge clk) begin
    do <= #1 !do;
    bit <= #1 logic[at] ^ {8{do}};
  end
endmodule
"""


def test_verilog_with_headers_data_and_delays_is_synthesized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As HLS writes it: another ROM is another figure, and a ROM that is not there is no figure."""
    monkeypatch.setattr(synthesis, "ROOT", tmp_path)
    # The same version, as compiled for the machine.
    monkeypatch.setattr(synthesis, "COMMAND", yosys.COMMAND)
    (tmp_path / "foreign.v").write_text(FOREIGN)
    (tmp_path / "sizes.vh").write_text("`define DEPTH 4\n")
    (tmp_path / "rom.dat").write_text("11\n22\n33\n44\n")
    (tmp_path / "foreign.f").write_text("sizes.vh\nforeign.v\nrom.dat\n")
    top = Top("foreign", "part", "foreign", tmp_path / "foreign.f")
    figures, _ = synthesize(top)
    assert figures["ff"] == 1 + 4, "the two halves of each word are one; of an empty ROM all bits would be"
    first = top.key()
    (tmp_path / "rom.dat").write_text("00\n00\n00\n00\n")
    assert top.key() != first
    (tmp_path / "foreign.f").write_text("sizes.vh\nforeign.v\n")
    with pytest.raises(subprocess.CalledProcessError):
        synthesize(top)


def test_what_no_source_names_makes_no_figure_old(tmp_path: Path) -> None:
    (tmp_path / "two.f").write_text("inner.sv\nblink.sv\nouter.sv\n")
    (tmp_path / "blink.sv").write_text(SOURCE.replace("!q_o", "!q_o; inner u_inner ()"))
    (tmp_path / "outer.sv").write_text("module outer;\n  blink u_blink ();\nendmodule\n")

    def key(inner: str, *boxes: str) -> str:
        (tmp_path / "inner.sv").write_text(f"module inner;\n{inner}\nendmodule\n")
        return Top("outer", "part", "outer", tmp_path / "two.f", {}, boxes).key()

    assert key("logic a;") != key("logic b;")
    assert key("logic a;", "blink") == key("logic b;", "blink"), "it is named inside a box only"


def test_a_box_has_ports_and_nothing_inside() -> None:
    assert header(SOURCE) == "module blink ( input logic clk_i, output logic q_o );\nendmodule\n"
    assert "Checked_A" not in meaning(SOURCE)


def test_cells_are_counted_as_the_page_says() -> None:
    cells = {
        "LUT2": 3,
        "LUT6": 2,
        "RAM32M16": 2,
        "SRL16E": 4,
        "FDRE": 7,
        "FDSE": 1,
        "RAMB18E2": 3,
        "DSP48E2": 5,
        "MUXF7": 9,
    }
    assert count({**cells, "box": 2}, ("box",)) == {"lut": 25, "ff": 8, "bram": 1.5, "dsp": 5}
    with pytest.raises(UnknownCell, match="LDCE"):
        count({"LDCE": 1})


def test_room_is_what_shell_and_filled_slots_leave() -> None:
    def figures(lut: float) -> dict[str, float]:
        return {"lut": lut, "ff": 0, "bram": 0, "dsp": 0}

    have = {"slot_path": figures(100), "s2": figures(50), "s10": figures(80), "m": figures(70)}
    shells = [
        Top("s2", "shell", "shell", Path(), {"NumSlots": 2}),
        Top("s10", "shell", "shell", Path(), {"NumSlots": 10}),
    ]
    groups = {"shell": shells}
    assert shell_of(2, have, shells)["lut"] == 250
    assert shell_of(3, have, shells)["lut"] == 380
    # A slot takes 100 for its path and 70 / FILL for the module.
    assert FILL == 0.7
    for lut, slots in ((249, 0), (250, 1), (449, 1), (450, 2), (679, 2), (680, 3), (99999, 10)):
        device = Device("tiny", "X", {"lut": lut, "ff": 0, "bram": 0, "dsp": 0}, 16, "here")
        assert fit(device, have, groups, have["m"]) == slots, lut
    for tiles, slots in ((0, 0), (3, 3), (10, 10), (11, 10)):
        device = Device("tiny", "X", {"lut": 99999, "ff": 0, "bram": 0, "dsp": 0}, tiles, "here")
        assert fit(device, have, groups, have["m"]) == slots, tiles


def test_boards_with_fewer_clock_managers_than_slots_are_named() -> None:
    devices = read_devices()
    assert not clock_tiles.too_few(devices)
    known = {device.device: device for device in devices}
    fewer = [*known.values(), replace(known["XCK26"], tiles=3)]
    (found,) = clock_tiles.too_few(fewer)
    assert found.startswith("kv260: a XCK26 lacks clock managers: 4 of 3 MMCM, 1 of 6 PLL;")


def test_the_page_has_a_row_for_each_figure() -> None:
    figures = area.read_figures()
    tops = read_tops()
    page = render(figures, tops, [], read_record())
    for top in tops:
        assert f"| {figures['tops'][top.name]['lut']:,.0f} |" in page


def test_a_cluster_is_its_cores_and_the_rest_and_fits_where_all_of_it_does() -> None:
    have = {"core": {"lut": 100.0, "dsp": 3.0}, "rest": {"lut": 7.0, "dsp": 0.0}, "rest-l2": {"lut": 99.0, "dsp": 9.0}}
    core = Top("core", "gpu", "gpu_core", Path(), {"Warps": 4, "Threads": 8, "Fpu": 0})
    rests = [
        Top("rest-l2", "gpu_rest", "gpu_cluster", Path(), {"Cores": 2, "L2Bytes": 1024}),
        Top("rest", "gpu_rest", "gpu_cluster", Path(), {"Cores": 2}),
    ]
    assert label(core, 2) == "2c4w8t without FPU"
    assert area_of(core, 2, have, rests) == {"lut": 207.0, "dsp": 6.0}
    shell, others = {"lut": 50.0, "dsp": 0.0}, {"lut": 10.0, "dsp": 1.0}
    for lut, dsp, answer in ((484, 14, "yes"), (483, 14, "no, LUT"), (484, 13, "no, DSP")):
        device = Device("tiny", "X", {"lut": lut, "dsp": dsp}, 3, "here")
        assert fits({"lut": 207.0, "dsp": 6.0}, device, shell, others, 0.5) == answer
