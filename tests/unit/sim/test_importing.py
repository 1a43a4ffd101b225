# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is read of others' kernels: ports, registers, sources, vendors' parts; and what is refused, and why."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.core.errors import InvalidRequest, NotFound
from eddy.host.distribution import find_extra, install_hint
from eddy_sim.importing import sources
from eddy_sim.importing.arrays import find_arrays
from eddy_sim.importing.design import TopPort, read_design, synthesised_text
from eddy_sim.importing.interfaces import group_ports
from eddy_sim.importing.kernel import KernelChoices, import_kernel
from eddy_sim.importing.overlay import read_overlay
from eddy_sim.importing.package import KernelArgument, address_doubt, dtype_of
from eddy_sim.importing.registers import read_bundle, read_bundles, read_types
from eddy_sim.importing.sources import find_sources
from eddy_sim.importing.vendor import float_text, read_float_part
from eddy_sim.tools.products import ROOT
from typer.testing import CliRunner

TOTAL = ROOT / "tests" / "kernels" / "hls_total"

LITE = """
  input s_axi_control_awvalid, output s_axi_control_awready, input [5:0] s_axi_control_awaddr,
  input s_axi_control_wvalid,
  output s_axi_control_wready, input [31:0] s_axi_control_wdata, input [3:0] s_axi_control_wstrb,
  output s_axi_control_bvalid, input s_axi_control_bready, output [1:0] s_axi_control_bresp,
  input s_axi_control_arvalid,
  output s_axi_control_arready, input [5:0] s_axi_control_araddr, output s_axi_control_rvalid,
  input s_axi_control_rready, output [31:0] s_axi_control_rdata, output [1:0] s_axi_control_rresp,
"""
COMMENTS = """
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
// 0x10 : Data signal of n
//        bit 31~0 - n[31:0] (Read/Write)
// 0x18 : Data signal of ap_return
//        bit 31~0 - ap_return[31:0] (Read)
"""


ARRAY = "// 0x40 ~\n// 0x7f : Memory 'taps' (32 * 12b)\n"


def kernel(folder: Path, ports: str = "", body: str = "", comments: str = COMMENTS, clock: str = "ap_clk") -> Path:
    """A kernel of one file, which need not work: what is refused is refused before it is built."""
    text = (
        f"module k (input {clock}, input ap_rst_n, {LITE} {ports} output interrupt);\n{body}\n{comments}\nendmodule\n"
    )
    (folder / "k.v").write_text(text)
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(InvalidRequest) as refused:
        import_kernel(folder, KernelChoices())
    return refused.value.message


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"ports": "output [31:0] x_Addr_A, output x_EN_A, input [7:0] x_Dout_A,"},
            "nothing tells how many elements x has; say --elements x=N",
        ),
        ({"ports": "output [3:0] x_address0, x_ce0, input [1031:0] x_q0,"}, "x has elements of 1032 bits"),
        ({"ports": "output [15:0] x_address0, output x_ce0, input [7:0] x_q0,"}, "take 0x10500 bytes; a slot's"),
        (
            {"ports": "".join(f"output [3:0] x_address{i}, x_ce{i}, input [7:0] x_q{i}," for i in range(3))},
            "x has 3 ports to one memory block",
        ),
        ({"ports": "output [7:0] out_tdata, output out_tvalid,"}, "out has no TREADY, so that beats would be lost"),
        ({"ports": "input [519:0] in_tdata, input in_tvalid,"}, "in has 520 bits of data, more than 512"),
        ({"body": "fancy_ip u (.clk(ap_clk));"}, "k instantiates fancy_ip, of which"),
        ({"comments": ""}, "no comment says which registers s_axi_control has"),
        ({"comments": COMMENTS.replace("ap_start", "reserved")}, "no register bundle has ap_start at 0x00"),
        ({"comments": COMMENTS.replace("(Read)", "(Read/Write)")}, "neither a memory port nor a result"),
        ({"clock": "tick"}, "no input is a clock by its name"),
        ({"body": "skid u (.clk_i(ap_clk));"}, "its block skid has the name of one of Eddy's"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_slot_cannot_run_is_refused_with_why(changes: dict[str, str], why: str, tmp_path: Path) -> None:
    folder = kernel(tmp_path, **changes)
    if "skid" in why:
        (folder / "skid.v").write_text("module skid (input clk_i);\nendmodule\n")
    assert why in refusal(folder)


@pytest.mark.parametrize(
    "body",
    [
        'initial $system("touch owned");',
        '`define RUN $sys``tem\ninitial `RUN("touch owned");',
        'integer f; initial f = $fopen(".profile");',
        '`ifdef VERILATOR\ninitial $system("touch owned");\n`endif',
        'import "DPI-C" function int system(string what);',
        'import /* a comment */ "DPI-C" function int system(string what);',
        'import // a comment\n"DPI-C" function int system(string what);',
        '`define DPI "DPI-C"\nimport `DPI function int system(string what);',
        'initial $dumpfile("owned");',
        "integer f; initial f = $fgetc(0);",
    ],
)
def test_a_kernel_that_reaches_the_machine_is_refused_with_the_line(body: str, tmp_path: Path) -> None:
    said = refusal(kernel(tmp_path, body=body))
    assert re.match(r"k.v:\d+ has '.+', which reaches programs or files of the machine", said), said
    off = f"// synthesis translate_off\n{body}\n// synthesis translate_on"
    assert "no comment says which registers" in refusal(kernel(tmp_path, body=off, comments=""))


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a b", "..", "x" * 65, "a\nb", "Evil", "é"])
def test_a_module_is_called_by_a_plain_name_that_leads_nowhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="is no module's name: say --name"):
        import_kernel(kernel(tmp_path), KernelChoices(name=name))


def test_escaped_names_and_files_that_break_lists_are_refused(tmp_path: Path) -> None:
    text = (kernel(tmp_path) / "k.v").read_text()
    (tmp_path / "k.v").write_text(text.replace("module k ", "module \\../../evil "))
    assert "is an escaped name" in refusal(tmp_path)
    (tmp_path / "k.v").write_text(text.replace("output interrupt", "output \\interrupt);initial(a "))
    assert "is an escaped name" in refusal(tmp_path)
    (tmp_path / "k.v").rename(tmp_path / "k\n-f list.v")
    (tmp_path / "k\n-f list.v").write_text(text)
    assert "cannot be in a list of files" in refusal(tmp_path)


def test_a_link_to_a_file_elsewhere_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "secret.mem").write_text("41")
    folder = tmp_path / "given"
    folder.mkdir()
    kernel(folder)
    (folder / "table.mem").symlink_to(tmp_path / "secret.mem")
    assert find_sources(folder).data == ()


def test_vhdl_alone_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    (tmp_path / "k.vhd").write_text("entity k is end k;")
    with pytest.raises(InvalidRequest, match="ghdl synth --out=verilog"):
        find_sources(tmp_path)
    with pytest.raises(NotFound):
        find_sources(tmp_path / "nowhere")


def test_a_pointer_to_a_source_is_told_from_a_source(tmp_path: Path) -> None:
    (tmp_path / "k.v").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5000000\n")
    with pytest.raises(InvalidRequest, match=r"k\.v in .* Git LFS .* git lfs pull"):
        find_sources(tmp_path)


def test_what_does_not_parse_is_refused_with_the_line(tmp_path: Path) -> None:
    kernel(tmp_path, body="assign = 1;")
    assert "k.v:" in refusal(tmp_path)


def test_a_bench_beside_the_kernel_is_passed_over(tmp_path: Path) -> None:
    """What cannot be read is left out where the kernel does not need it, and named; else its line is told."""
    kernel(tmp_path)
    (tmp_path / "helpers.sv").write_text("package helpers;\n  import nowhere::*;\nendpackage\n")
    assert [path.name for path in read_design(find_sources(tmp_path)).unread] == ["helpers.sv"]
    kernel(tmp_path, body="part u (.clk(ap_clk));")
    (tmp_path / "part.v").write_text("module part (input clk);\nassign = 1;\nendmodule\n")
    assert "part.v:2" in refusal(tmp_path)


@pytest.mark.parametrize("form", ["kernel.zip", "kernel.xo", "folder"])
def test_an_archive_is_read_as_what_it_holds(form: str, tmp_path: Path) -> None:
    inside = tmp_path / "inside" / "hdl" / "verilog"
    inside.mkdir(parents=True)
    kernel(inside)
    given = tmp_path / form
    if form == "folder":
        given.mkdir()
    archive = given / "ip.zip" if form == "folder" else given
    with zipfile.ZipFile(archive, "w") as file:
        file.write(inside / "k.v", "ip/hdl/verilog/k.v")
    assert [path.name for path in find_sources(given).verilog] == ["k.v"]


def test_an_archive_that_is_none_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "k.zip"
    broken.write_bytes(b"PK no archive")
    with pytest.raises(InvalidRequest, match="cannot be unpacked"):
        find_sources(broken)
    with zipfile.ZipFile(broken, "w") as file:
        file.writestr("k.v", " " * 4096)
    monkeypatch.setattr(sources, "MOST_ARCHIVE_BYTES", 1000)
    with pytest.raises(InvalidRequest, match="an archive of sources has"):
        find_sources(broken)


def test_several_tops_are_told_apart_by_name(tmp_path: Path) -> None:
    kernel(tmp_path)
    (tmp_path / "other.v").write_text((tmp_path / "k.v").read_text().replace("module k", "module other"))
    with pytest.raises(InvalidRequest, match="say which with --top") as refused:
        read_design(find_sources(tmp_path))
    assert refused.value.details["allowed"] == ["k", "other"]
    assert read_design(find_sources(tmp_path), "other").files == (tmp_path / "other.v",)


def test_spare_parts_of_a_library_are_no_tops(tmp_path: Path) -> None:
    text = (kernel(tmp_path) / "k.v").read_text()
    (tmp_path / "k_gmem_m_axi.v").write_text(text.replace("module k", "module k_gmem_m_axi_spare"))
    assert read_design(find_sources(tmp_path)).top == "k"
    spare = text.replace("module k", "module bridge").replace("output interrupt", "output busy")
    (tmp_path / "bridge.v").write_text(spare)
    assert read_design(find_sources(tmp_path)).top == "k"


def test_of_an_export_without_axi_the_top_is_what_its_parts_are_called_after(tmp_path: Path) -> None:
    (tmp_path / "add.v").write_text("module add (input ap_clk, input [7:0] a, output [7:0] b);\nendmodule\n")
    (tmp_path / "add_slice.v").write_text("module add_slice (input ap_clk);\nendmodule\n")
    assert read_design(find_sources(tmp_path)).top == "add"
    (tmp_path / "other.v").write_text("module other (input ap_clk);\nendmodule\n")
    with pytest.raises(InvalidRequest, match="3 modules that nothing instantiates"):
        read_design(find_sources(tmp_path))


def test_of_a_project_the_export_is_read_and_not_what_vivado_made_of_it(tmp_path: Path) -> None:
    export, build = tmp_path / "p/s/impl/ip/hdl/verilog", tmp_path / "p/s/impl/verilog"
    for folder in (export, build, build / "project.gen/ip"):
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.v").write_text("module m; endmodule")
    assert find_sources(tmp_path).verilog == (export / "verilog.v",)
    (export / "verilog.v").unlink()
    export.rmdir()
    assert find_sources(tmp_path).verilog == (build / "verilog.v",)


def exported(folder: Path, top: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"{top}.v").write_text(
        f"module {top} (input ap_clk, output [7:0] y);\nreg [7:0] y;\nreg [7:0] rom [0:3];\n"
        f'initial $readmemh("./{top}_rom.dat", rom);\nalways @(posedge ap_clk) y <= rom[0];\nendmodule\n'
    )
    (folder / f"{top}_control_s_axi.v").write_text(f"module {top}_control_s_axi; endmodule\n")


def test_of_a_project_the_kernel_that_is_named_is_read_with_its_data(tmp_path: Path) -> None:
    """Vivado puts sources under `ipshared`, each block's by themselves, and data files beside a block's instance."""
    shared, instance = (tmp_path / f"p.gen/sources_1/bd/d/{each}" for each in ("ipshared", "ip/d_b_0"))
    exported(shared / "11/hdl/verilog", "a")
    exported(shared / "22/hdl/verilog", "b")
    exported(instance / "hdl/verilog/copy/hdl/verilog", "b")
    (shared / "33/hdl/verilog").mkdir(parents=True)
    (shared / "33/hdl/verilog/axi_thing.v").write_text("module axi_thing; endmodule\n")
    (instance / "b_rom.dat").write_text("00\n")
    (instance / "stray.dat").symlink_to("/etc/hostname")
    design = read_design(find_sources(tmp_path, "b"), "b")
    assert design.files == ((shared / "22/hdl/verilog/b.v").resolve(),)
    assert design.data == ((instance / "b_rom.dat").resolve(),)
    with pytest.raises(InvalidRequest, match="holds exports of 2 kernels; say which with --top"):
        find_sources(tmp_path)
    with pytest.raises(InvalidRequest, match="holds no export of c"):
        find_sources(tmp_path, "c")


def test_the_command_refuses_in_json_and_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "kernel"
    folder.mkdir()
    arguments = ["module", "import", str(kernel(folder, comments="")), "--root", str(tmp_path / "out"), "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert json.loads(done.stderr)["code"] == "invalid-request"
    assert not (tmp_path / "out").exists()


def test_what_it_needs_is_in_the_extra_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eddy_sim.importing.kernel", None)
    done = CliRunner().invoke(app, ["module", "import", str(kernel(tmp_path))])
    assert install_hint(str(find_extra("cocotb"))) in done.output


def test_sources_are_read_as_synthesizers_read_them(tmp_path: Path) -> None:
    """What is not for synthesis goes, and with it what it includes; a generate block left out names its file."""
    body = (
        '// synthesis translate_off\n`include "watch.vh"\n// synthesis translate_on\n'
        "generate if (0) begin spare u (); end else begin used u (); end endgenerate"
    )
    kernel(tmp_path, body=body)
    for name in ("spare", "used", "stray"):
        (tmp_path / f"{name}.v").write_text(f"module {name}; endmodule\n")
    (tmp_path / "watch.vh").write_text("initial wait (0);\n")
    design = read_design(find_sources(tmp_path), "k")
    assert [path.name for path in design.files] == ["k.v", "spare.v", "used.v"]
    assert design.headers == ()
    assert design.missing == ()


def test_what_one_source_defines_holds_for_others_as_in_the_model(tmp_path: Path) -> None:
    """Sources that use what others define are one unit, those first that define it or include what does."""
    kernel(tmp_path, body="part u (.clk(ap_clk));\nrest v (.clk(ap_clk));")
    (tmp_path / "part.v").write_text("module part (input clk);\nwire [`WIDTH-1:0] x = `ONE;\nendmodule\n")
    (tmp_path / "rest.v").write_text('`include "widths.vh"\nmodule rest (input clk);\nendmodule\n')
    (tmp_path / "widths.vh").write_text("`define WIDTH 8\n`define ONE 8'd1\n")
    assert [path.name for path in read_design(find_sources(tmp_path)).files] == ["rest.v", "k.v", "part.v"]
    (tmp_path / "widths.vh").write_text("`define WIDTH 8\n")
    assert "part.v:2" in refusal(tmp_path)


def wide(folder: Path, body: str = "") -> Path:
    """A kernel of 32 bits, where nobody says another width before."""
    ports = "input [`W-1:0] in_tdata, input in_tvalid, output in_tready"
    text = f"`ifndef W\n`define W 32\n`endif\nmodule k (input ap_clk, {ports});\n{body}\nendmodule\n"
    (folder / "k.v").write_text(text)
    return folder


def width_and_files(folder: Path) -> tuple[int, list[str]]:
    design = read_design(find_sources(folder))
    return next(port.width for port in design.ports if port.name == "in_tdata"), [path.name for path in design.files]


def test_what_is_read_of_macros_is_what_is_packaged(tmp_path: Path) -> None:
    """What others define counts where the kernel needs it, and is packaged then, in the order that was read."""
    wide(tmp_path)
    (tmp_path / "defs.v").write_text("`define DEPTH 4\n`define W `WIDTH\n")
    (tmp_path / "a_first.v").write_text("`define WIDTH 64\n")
    (tmp_path / "spare.v").write_text("module spare (output [`DEPTH-1:0] q);\nendmodule\n")
    assert width_and_files(tmp_path) == (32, ["k.v"])
    assert [path.name for path in read_design(find_sources(tmp_path)).unread] == ["spare.v"]
    wide(tmp_path, "wire [`DEPTH-1:0] q;")
    assert width_and_files(tmp_path) == (64, ["defs.v", "a_first.v", "k.v"])
    # What a header of its own defines, it need not have from others that include it.
    (tmp_path / "defs.vh").write_text((tmp_path / "defs.v").read_text())
    (tmp_path / "defs.v").write_text('`include "defs.vh"\nmodule other;\nendmodule\n')
    (tmp_path / "k.v").write_text('`include "defs.vh"\n' + (tmp_path / "k.v").read_text())
    assert width_and_files(tmp_path) == (64, ["a_first.v", "k.v"])


def test_what_is_another_kernel_alone_is_refused(tmp_path: Path) -> None:
    """Its model is built of its own sources, read as one; in a file of its own, each is what it says itself."""
    wide(tmp_path, "a_part u ();")
    (tmp_path / "a_part.v").write_text("`define W 64\nmodule a_part;\nendmodule\n")
    assert "in_tdata of 32 bits differ. A macro of one source decides" in refusal(tmp_path)
    wide(tmp_path, "a_part u ();\n`ifdef MORE\nb_part v ();\n`endif")
    (tmp_path / "a_part.v").write_text("`define MORE\nmodule a_part;\nendmodule\n")
    assert ": b_part differ. A macro of one source decides" in refusal(tmp_path)
    # What proof tools define is cut out of what is packaged.
    wide(tmp_path, "`define FORMAL\n`ifdef FORMAL\nb_part v ();\n`endif")
    assert ": b_part differ" in refusal(tmp_path)
    (tmp_path / "a_part.v").write_text("`define MORE\n")
    (tmp_path / "k.v").write_text('`include "a_part.v"\n' + wide(tmp_path).joinpath("k.v").read_text())
    assert "without sources that k does not need, the sources in" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n`ifdef FORMAL\n$x\n`ifdef Q\n$y\n`else\n`endif\n`endif\nb\n", "a\n//\n\nb\n"),
        ("a\n`ifdef FORMAL\n$x\n`else\nb\n`ifdef Q\nc\n`endif\n`endif d\n", "a\n//\n\nb\n`ifdef Q\nc\n`endif\n d\n"),
        *((text, text) for text in ("`ifdef FORMAL\n$x\n", "`endif\n`ifdef FORMAL\n$x\n`endif\n")),
        *((text, text) for text in ("// `ifdef FORMAL\n$x\n", "`ifdef FORMAL\n`elsif B\n$x\n`endif\n")),
        ("`ifndef FORMAL\n$x\n`endif\n", "`ifndef FORMAL\n$x\n`endif\n"),
        # Of a macro's lines nothing is taken, and with what is left out a macro goes whole.
        *(
            (text, text)
            for text in ("`define M \\\n`ifdef FORMAL \\\n$x \\\n`endif \\\nb\n", "`define M `ifdef FORMAL\n")
        ),
        (
            '`define M "\\\n//" // \\\n/*\n*/ `endif\n`ifdef FORMAL\n`define N \\\n`else\n`endif\nb\n',
            '`define M "\\\n//" // \\\n/*\n*/ `endif\n//\n\nb\n',
        ),
    ],
)
def test_what_is_for_proof_tools_is_left_out(text: str, kept: str, tmp_path: Path) -> None:
    (tmp_path / "k.v").write_text(text)
    assert synthesised_text(tmp_path / "k.v").replace("// left out: for proof tools", "//") == kept


def test_an_export_that_lacks_sources_is_read_from_what_it_was_made_of(tmp_path: Path) -> None:
    for place in ("hdl/verilog", "syn/verilog"):
        (tmp_path / place).mkdir(parents=True)
        kernel(tmp_path / place, body="k_part u (.clk(ap_clk));", comments="")
    assert "hdl/verilog holds no Verilog" in refusal(tmp_path)
    (tmp_path / "syn" / "verilog" / "k_part.v").write_text("module k_part (input clk);\nendmodule\n")
    assert "no comment says which registers" in refusal(tmp_path)


def test_lengths_of_block_ports_come_from_what_tools_wrote(tmp_path: Path) -> None:
    told = {"Addr_A": 32, "EN_A": 1, "WEN_A": 4, "Din_A": 32, "Dout_A": 32, "Clk_A": 1, "Rst_A": 1}
    blocks = group_ports([TopPort(f"x_{name}", name != "Dout_A", width) for name, width in told.items()]).blocks
    script, component = tmp_path / "k.tbgen.tcl", tmp_path / "component.xml"
    component.write_text('<v spirit:id="BUSIFPARAM_VALUE.X_PORTA.MEM_SIZE">400</v>')
    (array,), _ = find_arrays(blocks, "k", [component], {})
    assert (array.count, [*array.registers()]) == (100, [("x", False), ("x_out", True)])
    script.write_text(
        'set C_modelArgList {\n\t{ x int 32 regular {bram 96 { 1 3 } 1 1 }  }\n}\n{ "Name" : "x", "interface" :'
        ' "bram", "bitwidth" : 32, "direction" : "READONLY"} ,'
    )
    (array,), _ = find_arrays(blocks, "k", [script, component], {})
    assert (array.count, [*array.registers()]) == (96, [("x", False)])


def test_arrays_that_are_updated_are_results(tmp_path: Path) -> None:
    """Of a kernel that has nothing else; it is refused for the next reason."""
    comments = "// 0x00 : Control signals\n//        bit 0  - ap_start (Read/Write/COH)\n" + ARRAY
    ports = "// wire taps_q0, taps_we0;\n"
    assert "neither a memory port nor a result" in refusal(kernel(tmp_path, clock="tick", comments=comments))
    told = refusal(kernel(tmp_path, clock="tick", comments=comments + ports))
    assert "no input is a clock" in told
    assert "neither" not in told


def test_parameters_of_the_top_are_set(tmp_path: Path) -> None:
    ports = "output m_axi_arvalid, output [W-1:0] m_axi_araddr, input [31:0] m_axi_rdata"
    (tmp_path / "k.v").write_text(f"module k #(parameter W = 16, localparam L = 2) (input clk, {ports});\nendmodule\n")
    sources = find_sources(tmp_path)
    assert [port.width for port in read_design(sources).ports if port.name == "m_axi_araddr"] == [16]
    design = read_design(sources, None, {"W": 40})
    assert [port.width for port in design.ports if port.name == "m_axi_araddr"] == [40]
    assert design.parameters == (("W", 40),)
    for name in ("L", "W=1,.X", "w"):
        with pytest.raises(InvalidRequest, match="k has no parameter"):
            read_design(sources, None, {name: 40})


def described(folder: Path, top: str, offset: str, kind: str) -> Path:
    """A solution of a kernel, with what its driver and its data say."""
    exported(folder / "syn/verilog", top)
    driver = folder / f"impl/ip/drivers/{top}_v1_0/src/x{top}_hw.h"
    driver.parent.mkdir(parents=True)
    driver.write_text(COMMENTS.replace("0x10", offset))
    data = {"Top": top, "Args": {"n": {"srcType": kind, "hwRefs": []}}}
    (folder / f"{folder.name}_data.json").write_text(json.dumps(data))
    (folder / f"syn/verilog/{top}_ip.tcl").write_text(f"create_ip -module_name {top}")
    return driver


def test_of_a_project_what_is_said_of_other_kernels_is_not_read(tmp_path: Path) -> None:
    own = described(tmp_path / "b/solution1", "b", "0x10", "int")
    other = described(tmp_path / "c/solution1", "c", "0x20", "float")
    for folder in (tmp_path, tmp_path / "b", tmp_path / "b/solution1"):
        found = find_sources(folder, "b")
        home = (tmp_path / "b/solution1").resolve()
        assert set(found.about) == {own.resolve(), home / "solution1_data.json"}
        assert found.scripts == (home / "syn/verilog/b_ip.tcl",)
        assert read_types(found.about, "b")["n"].type == "int"
    # Of an archive, what lies beside its only export is of it.
    (tmp_path / "b/kernel.xml").write_text('<root><kernel name="b"/></root>')
    assert (tmp_path / "b/kernel.xml").resolve() in find_sources(tmp_path / "b").about
    texts = {path: path.read_text() for path in (other, own)}
    assert read_bundles("d", ["s_axi_control"], {tmp_path / "a_hw.h": "// 0x10 : a mark", own: texts[own]})[
        "s_axi_control"
    ].registers, "what tells of no register contradicts nothing"
    for top, offset in (("b", 0x10), ("c", 0x20)):
        assert read_bundles(top, ["s_axi_control"], texts)["s_axi_control"].registers[0].offset == offset
    with pytest.raises(InvalidRequest, match="say different registers of s_axi_control"):
        read_bundles("d", ["s_axi_control"], texts)
    both = [tmp_path / f"{each}/solution1/solution1_data.json" for each in "cb"]
    assert [read_types(both, top)["n"].type for top in "bc"] == ["int", "float"]
    assert read_types(both, "d") == {}
    for path in both:
        path.write_text(path.read_text().replace("Top", "Was"))
    with pytest.raises(InvalidRequest, match="say different types of n, and nothing tells which is of b"):
        read_types(both, "b")


def test_of_data_files_of_one_name_the_nearest_is_read_or_none(tmp_path: Path) -> None:
    exported(tmp_path / "hdl/verilog", "b")
    for folder, text in (("ip/b_0", "1\n"), ("ip/a_0", "1\n")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "b_rom.dat").write_text(text)
    assert len(read_design(find_sources(tmp_path, "b"), "b").data) == 1
    (tmp_path / "ip/a_0/b_rom.dat").write_text("2\n")
    with pytest.raises(InvalidRequest, match=r"b.v reads b_rom.dat, and .* have that name and differ"):
        read_design(find_sources(tmp_path, "b"), "b")
    source = tmp_path / "hdl/verilog/b.v"
    text = source.read_text()
    source.write_text(text.replace("./b_rom.dat", "../../ip/b_0/b_rom.dat"))
    assert read_design(find_sources(tmp_path, "b"), "b").data == ((tmp_path / "ip/b_0/b_rom.dat").resolve(),)
    source.write_text(text)
    (tmp_path / "hdl/b_rom.dat").write_text("3\n")
    assert read_design(find_sources(tmp_path, "b"), "b").data == ((tmp_path / "hdl/b_rom.dat").resolve(),)
    # Two sources that each mean their own cannot both have it under one name.
    source.write_text(text.replace("endmodule", 'initial $readmemh("a_0/b_rom.dat", rom);\nendmodule'))
    with pytest.raises(InvalidRequest, match="rename one and what reads it"):
        read_design(find_sources(tmp_path, "b"), "b")


def port(name: str, width: int = 1) -> TopPort:
    return TopPort(name.lstrip(">"), name.startswith(">"), width)


@pytest.mark.parametrize(
    "names",
    [
        (">m_axi_gmem_ARVALID", ">m_axi_gmem_ARADDR", "m_axi_gmem_RDATA", ">m_axi_gmem_ARLEN"),
        (">io_mem_ar_valid", ">io_mem_ar_bits_addr", "io_mem_r_bits_data", ">io_mem_ar_bits_len"),
        (">io_mem_ar_valid", ">io_mem_ar_payload_addr", "io_mem_r_payload_data", ">io_mem_ar_payload_len"),
        (">m00_axi_arvalid_o", ">m00_axi_araddr_o", "m00_axi_rdata_i", ">m00_axi_arlen_o"),
        (">m_axi_input_r_ARVALID", ">m_axi_input_r_ARADDR", "m_axi_input_r_RDATA", ">m_axi_input_r_ARLEN"),
        (">m_axi_ar_ARVALID", ">m_axi_ar_ARADDR", "m_axi_ar_RDATA", ">m_axi_ar_ARLEN"),
        (">io_mem_ar_arvalid", ">io_mem_ar_araddr", "io_mem_r_rdata", ">io_mem_ar_arlen"),
    ],
    ids=["hls", "chisel", "spinal", "suffixes", "input_r", "named as a channel", "channel twice"],
)
def test_interfaces_are_told_by_names(names: tuple[str, ...]) -> None:
    valid, address, data, length = names
    ports = group_ports([port(valid), port(address, 40), port(data, 256), port(length, 8), port("clk"), port("rstn")])
    (memory,) = ports.memories
    assert (memory.data_width, memory.addr_width, memory.reads, memory.writes, memory.bursts) == (
        256,
        40,
        True,
        False,
        True,
    )
    assert [(each.name, low) for each, low in ports.resets] == [("rstn", True)]
    assert ports.inputs == ports.outputs == ()


def test_clocks_and_resets_are_told_by_names() -> None:
    names = ("ap_clk", "ap_clk_2", "s_axi_aclk", "i_clk", "ap_rst_n", "ap_rst", "aresetn", "reset", "rst_ni", "ap_ce")
    ports = group_ports([*(port(name) for name in names), port(">interrupt"), port(">debug", 4)])
    assert [each.name for each in ports.clocks] == ["ap_clk", "ap_clk_2", "s_axi_aclk", "i_clk"]
    low = {each.name: low for each, low in ports.resets}
    assert low == {"ap_rst_n": True, "ap_rst": False, "aresetn": True, "reset": False, "rst_ni": True}
    assert [each.name for each in ports.ones] == ["ap_ce"]
    assert [each.name for each in ports.outputs] == ["debug"]


def test_what_is_said_about_a_clock_or_a_reset_is_neither() -> None:
    untold = ["clk_sel", "en_clk", "clk_gate0", "reset_mode", "rst_done"]
    ones = ["clk_en", "clock_enable", "aclken", "rst_ap_vld", "clk_ap_ack"]
    ports = group_ports([port(name) for name in ("ap_clk", "clk_100", "ap_rst", *untold, *ones)])
    assert [each.name for each in ports.clocks] == ["ap_clk", "clk_100"]
    assert [each.name for each, _ in ports.resets] == ["ap_rst"]
    assert [each.name for each in ports.ones] == ones
    assert [each.name for each in ports.inputs] == untold


def test_registers_are_read_from_comments_and_from_decoders() -> None:
    text = (TOTAL / "impl/ip/hdl/verilog/hls_total_control_s_axi.v").read_text()
    bundle = read_bundle(text)
    assert bundle
    assert (bundle.start, bundle.chain) == (True, True)
    assert [(each.name, each.offset, each.width, each.output) for each in bundle.registers] == [
        ("ap_return", 0x10, 64, True),
        ("x", 0x1C, 64, False),
        ("y", 0x28, 64, False),
        ("n", 0x34, 32, False),
        ("step", 0x3C, 8, False),
        ("peak", 0x44, 16, True),
    ]
    bare = read_bundle("\n".join(line for line in text.splitlines() if not line.startswith("//")))
    assert bare
    assert [(each.name, each.offset, each.output) for each in bare.registers if each.name != "ap_return"] == [
        (each.name, each.offset, each.output) for each in bundle.registers if each.name != "ap_return"
    ]
    assert read_bundle("module nothing; endmodule") is None


@pytest.mark.parametrize(("ports", "output"), [("taps_q0", False), ("taps_we0", True), ("", False)])
def test_arrays_are_wide_registers(ports: str, output: bool) -> None:
    bundle = read_bundle(COMMENTS + ARRAY + ports)
    assert bundle
    taps = bundle.registers[-1]
    assert (taps.name, taps.offset, taps.width, taps.element_bits, taps.output) == ("taps", 0x40, 512, 16, output)


def test_types_come_from_a_solutions_data_and_from_xml(tmp_path: Path) -> None:
    use = {"type": "register", "usage": "address"}
    arguments = {"x": {"srcType": "float*", "hwRefs": [use]}, "n": {"srcType": "int", "hwRefs": [{"usage": "data"}]}}
    (tmp_path / "s_data.json").write_text(json.dumps({"Args": arguments}))
    xml = '<root><kernel><args><arg name="y" addressQualifier="1" type="unsigned char*"/></args></kernel></root>'
    (tmp_path / "kernel.xml").write_text(xml)
    older = {"kinds": ["pointer"], "dataType": "unsigned", "dataWidth": "8", "interfaceRef": "m_axi_gmem"}
    older_scalar = {"dataType": "float", "dataWidth": "32", "interfaceRef": "s_axi_control"}
    (tmp_path / "o_data.json").write_text(json.dumps({"Args": {"z": {"type": older}, "k": {"type": older_scalar}}}))
    types = read_types([tmp_path / "s_data.json", tmp_path / "kernel.xml", tmp_path / "o_data.json"], "k")
    assert {name: (each.type, each.pointer) for name, each in types.items()} == {
        "x": ("float*", True),
        "n": ("int", False),
        "y": ("unsigned char*", True),
        "z": ("uint8_t", True),
        "k": ("float", False),
    }
    told = [dtype_of(types[name].type, 0) for name in ("x", "n", "y")]
    assert told == ["<f4", "<i4", "u1"]
    assert [dtype_of("some_t*", width) for width in (8, 64, 512)] == ["u1", "<u8", "u1"]


SCRIPT = """create_ip -name floating_point -version 7.1 -vendor xilinx.com -library ip -module_name k_fdiv_ip
set_property -dict [list CONFIG.a_precision_type Single CONFIG.add_sub_value Both CONFIG.c_a_exponent_width 8 \\
  CONFIG.c_a_fraction_width 24 CONFIG.c_latency 14 CONFIG.c_result_exponent_width 8 CONFIG.c_result_fraction_width 24 \\
  CONFIG.flow_control NonBlocking CONFIG.operation_type Divide] -objects [get_ips k_fdiv_ip]"""


def test_a_number_that_may_be_an_address_is_told() -> None:
    assert "If it is an address" in address_doubt(KernelArgument("boxes", 16, 64, False))[0]
    known = {"n": (32, False, None), "scale": (64, False, False), "sum": (64, True, None)}
    assert [address_doubt(KernelArgument(name, 16, *rest)) for name, rest in known.items()] == [[], [], []]


def test_floating_point_is_known_by_its_script_or_its_name() -> None:
    said = {
        name: read_float_part(name, script)
        for name, script in {
            "k_fdiv_ip": SCRIPT,
            "k_fadd_32ns_32ns_32_7_full_dsp_1_ip": "",
            "k_ap_dmul_4_max_dsp_64": "",
            "k_sitofp_32ns_32_6_no_dsp_1_ip": "",
            "k_ap_fpext_0_no_dsp_32": "",
            "k_ap_dexp_16_full_dsp_64": "",
            "k_fptrunc_64ns_32_2_no_dsp_1_ip": SCRIPT.replace("Divide", "Float_to_Float"),
            "k_mul_32s_32s_32_2_1": "",
        }.items()
    }
    assert {name: part and (part.operation, part.latency, part.source, part.result) for name, part in said.items()} == {
        "k_fdiv_ip": ("div", 14, (8, 23), (8, 23)),
        "k_fadd_32ns_32ns_32_7_full_dsp_1_ip": ("add", 5, (8, 23), (8, 23)),
        "k_ap_dmul_4_max_dsp_64": ("mul", 4, (11, 52), (11, 52)),
        "k_sitofp_32ns_32_6_no_dsp_1_ip": ("from_fixed", 4, (32, 1), (8, 23)),
        "k_ap_fpext_0_no_dsp_32": ("resize", 0, (8, 23), (11, 52)),
        "k_ap_dexp_16_full_dsp_64": ("exp", 16, (11, 52), (11, 52)),
        "k_fptrunc_64ns_32_2_no_dsp_1_ip": ("resize", 14, (8, 23), (8, 23)),
        "k_mul_32s_32s_32_2_1": None,
    }
    part = said["k_fdiv_ip"]
    assert part
    text = float_text(
        part, ["aclk", "aclken", "s_axis_a_tvalid", "s_axis_a_tdata", "s_axis_b_tdata", "m_axis_result_tdata"]
    )
    assert "input logic [31:0] s_axis_b_tdata" in text
    assert '.Operation("div"), .Latency(14)' in text


def overlay_bus(name: str, manager: bool, bits: int, older: bool = False) -> str:
    kind = "" if older else 'VLNV="xilinx.com:interface:aximm:1.0"'
    signals = '<PORTMAP LOGICAL="AWADDR"/>' if older else ""
    direction = "MASTER" if manager else "SLAVE"
    return f'<BUSINTERFACE NAME="{name}" TYPE="{direction}" DATAWIDTH="{bits}" {kind}>{signals}</BUSINTERFACE>'


STREAM = (
    '<BUSINTERFACE NAME="in" TYPE="TARGET" VLNV="xilinx.com:interface:axis:1.0">'
    '<PARAMETER NAME="TDATA_NUM_BYTES" VALUE="4"/></BUSINTERFACE>'
)


def overlay(folder: Path, **blocks: str) -> Path:
    """A handoff with a block of each type, from a vendor by its name, and its interfaces."""
    modules = [
        f'<MODULE FULLNAME="/{top}_0" MODTYPE="{top}" VLNV="xilinx.com:{top.split("_")[0]}:{top}:1.0">'
        f"<BUSINTERFACES>{buses}</BUSINTERFACES></MODULE>"
        for top, buses in blocks.items()
    ]
    (folder / "x.hwh").write_text(f"<EDKSYSTEM><MODULES>{''.join(modules)}</MODULES></EDKSYSTEM>")
    return folder / "x.hwh"


def test_of_an_overlay_the_blocks_that_a_slot_could_take_are_listed(tmp_path: Path) -> None:
    control = overlay_bus("s_axi_control", False, 32)
    path = overlay(
        tmp_path,
        hls_add=control + overlay_bus("m_axi_gmem", True, 64),
        hls_old=overlay_bus("s_axi_lite", False, 32, older=True) + overlay_bus("m_axi", True, 128, older=True),
        hls_flow=STREAM,
        hls_idle="",
        hls_wide=overlay_bus("s_axi", False, 64),
        smartconnect=control,
        ip_timer=control,
    )
    blocks = {block.top: block for block in read_overlay(path)}
    assert {top for top, block in blocks.items() if block.fits} == {"hls_add", "hls_old", "hls_flow"}
    assert [block.fits for block in read_overlay(path)] == [True] * 3 + [False] * 4
    assert (blocks["hls_add"].memories, blocks["hls_add"].controls) == ({"m_axi_gmem": 64}, {"s_axi_control": 32})
    assert (blocks["hls_old"].memories, blocks["hls_flow"].streams) == ({"m_axi": 128}, {"in": 32})
    assert "eddy module import FOLDER --top hls_add" in blocks["hls_add"].how
    assert "the shell has" in blocks["smartconnect"].how
    assert "catalogue" in blocks["ip_timer"].how
    said = CliRunner().invoke(app, ["module", "import", str(path)])
    assert said.exit_code == 0
    assert "m_axi_gmem: 64 bits, s_axi_control: 32 bits" in said.output
    said = CliRunner().invoke(app, ["module", "import", str(path), "--json"])
    assert [block["name"] for block in json.loads(said.stdout)["blocks"]][:2] == ["/hls_add_0", "/hls_flow_0"]


@pytest.mark.parametrize(("text", "why"), [("<A/>", "names no block"), ("text", "is no hardware handoff")])
def test_what_is_no_handoff_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.hwh").write_text(text)
    said = CliRunner().invoke(app, ["module", "import", str(tmp_path / "x.hwh")])
    assert said.exit_code == 2
    assert why in " ".join(said.output.split())
    with pytest.raises(NotFound):
        read_overlay(tmp_path / "y.hwh")
