# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No source calls programs, files or C++ of the machine its model runs on, however that is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy.core.errors import InvalidRequest, NotFound
from eddy_sim.design import build
from eddy_sim.design.model_unit import data_source
from eddy_sim.tools.products import ROOT
from eddy_sim.tools.reaching import find_reaching, refuse_calls_out, refuse_reaching
from eddy_sim.tools.toolchain import BuildFailed, preprocess, verilate

HARMLESS = """// $system("x"), import "DPI-C", `verilator_config
/* $fopen */
package p; endpackage
module m (input clk_i);
  import p::*;
  wire \\$system = 1'b0; // an escaped name
  initial $display("$system import \\"DPI-C\\" %0d", $clog2(4));
endmodule
"""
REACHING = {
    "two macros": ("`define D $\n`define S system\n", 'initial `D`S("touch owned");'),
    "pasted": ("`define RUN $sys``tem\n", 'initial `RUN("touch owned");'),
    "import by a macro": ("`define I import\n", '`I "DPI-C" function int system(string what);'),
    "standard by a macro": ('`define W "DPI-C"\n', "import `W function int system(string what);"),
    "import glued to a directive": ("", '`unconnected_drive pull0import "DPI-C" function int system(string what);'),
    "only in Verilator": ("", '`ifdef VERILATOR\ninitial $system("touch owned");\n`endif'),
    "in a header": ("", '`include "inner.svh"'),
    "in data": ("", '`include "inner.txt"'),
    "after a name that ends otherwise here": ("", 'wire \\a\x1c" ; initial $c("system();"); wire \\b\x1c" ;'),
    "between lines that are dropped": ("", '`pragma x """\ninitial $c("system();");\n`pragma x """'),
    "pure": ("", 'wire [31:0] a = "$cpure(f())";'),
}


def test_comments_strings_and_escaped_names_are_no_code(tmp_path: Path) -> None:
    (tmp_path / "m.sv").write_text(HARMLESS)
    assert find_reaching(HARMLESS) is None
    refuse_reaching([tmp_path / "m.sv"])


@pytest.mark.parametrize(("before", "body"), REACHING.values(), ids=REACHING)
def test_macros_and_included_files_hide_nothing(before: str, body: str, tmp_path: Path) -> None:
    for name in ("inner.svh", "inner.txt"):
        (tmp_path / name).write_text('initial $system("touch owned");\n')
    (tmp_path / "m.sv").write_text(f"{before}module m (input clk_i);\n{body}\nendmodule\n")
    with pytest.raises((InvalidRequest, BuildFailed), match=r"which reaches programs|is no file of the module's"):
        refuse_reaching([tmp_path / "m.sv", tmp_path / "inner.svh"])


@pytest.mark.parametrize("folder", ["plain", "h\u00e9", "a b"])
def test_a_file_that_is_not_the_modules_is_not_included(tmp_path: Path, folder: str) -> None:
    tmp_path /= folder
    tmp_path.mkdir()
    (tmp_path / "other.svh").write_text("wire a;\n")
    (tmp_path / "m.sv").write_text(f'module m;\n`include "{tmp_path}/other.svh"\nendmodule\n')
    with pytest.raises(InvalidRequest, match="is no file of the module's"):
        refuse_reaching([tmp_path / "m.sv"])
    refuse_reaching([tmp_path / "m.sv", tmp_path / "other.svh"])


@pytest.mark.parametrize(
    "manifest", sorted((ROOT / "bitstreams").glob("*/manifest.yaml")), ids=lambda at: at.parent.name
)
def test_modules_that_are_shipped_pass(manifest: Path) -> None:
    files = build._module_rtl(manifest).files
    refuse_reaching(files)
    assert "endmodule" in preprocess(files)


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ('import "DPI-C" function int system(string what); initial void\'(system("true"));', "Vdpiimwrap"),
        ('initial $system("true");', "VL_SYSTEM"),
    ],
)
def test_what_verilator_made_of_sources_is_looked_at_too(line: str, called: str, tmp_path: Path) -> None:
    """Whatever the reader of the sources may miss."""
    source = tmp_path / "m.sv"
    source.write_text(f"module m (input clk_i, output logic a_o);\n{line}\nassign a_o = clk_i;\nendmodule\n")
    verilate("m", "Vm", [source], (), tmp_path / "out")
    with pytest.raises(InvalidRequest, match=called):
        refuse_calls_out(tmp_path / "out", "m")


def test_a_data_files_name_is_no_code(tmp_path: Path) -> None:
    named = tmp_path / 'x"+(system("touch owned"),0)+".mem'
    named.write_bytes(b"00\n")
    text = data_source([named])
    assert '"+(' not in text
    assert r"x\042+(system(\042touch owned\042),0)+\042.mem" in text


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", ".", ".."])
def test_a_modules_name_from_a_bitstream_leads_out_of_no_folder(name: str) -> None:
    with pytest.raises(NotFound):
        build.manifest_path(name)
