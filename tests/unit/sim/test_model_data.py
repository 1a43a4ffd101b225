# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Data files of a model: what fills a memory, what is refused, and that two files are two modules."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from eddy_sim.design import build, model_unit
from eddy_sim.modcheck.model import Down, Model, ModuleInstance, Up, build_checked
from eddy_sim.tools.cxx import compile_shared
from eddy_sim.tools.filelist import read_filelist
from eddy_sim.tools.products import ROOT
from eddy_sim.tools.toolchain import BuildFailed

PORTS = ROOT / "hw/ip/slot_ports/slot_ports.f"
ROM = """\
module rom #(parameter logic [63:0] BuildHash = '0) (
  `include "slot_ports.svh"
);
  logic [7:0] table_q [4];
  logic [7:0] at_q;
  initial begin
    #0 at_q = 8'd0;
    $readmemh("./rom.dat", table_q);
  end
  always_ff @(posedge clk_i) begin
    at_q <= at_q + 8'd1;
    if (s_axil_awvalid) $fatal(1, "a write at %0d", at_q[1:0]);
  end
  assign m_axi_wdata = 64'(table_q[at_q[1:0]]);
endmodule
"""
READER = ROM.replace('    $readmemh("./rom.dat", table_q);\n', '    file = $fopen("rom.dat", "r");\n').replace(
    '    if (s_axil_awvalid) $fatal(1, "a write at %0d", at_q[1:0]);\n',
    '    read_q <= 64\'($fgetc(file));\n    $display("it read %0d at %0t", read_q, $time);\n',
)
READER = READER.replace("64'(table_q[at_q[1:0]])", "read_q").replace("[7:0] table_q [4]", "[63:0] read_q")
READER = READER.replace("  initial begin", "  int file;\n  initial begin")
MANIFEST = """\
module: rom
summary: "Reads a file"
kind: hls
top: rom
files: rom.f
register_map: "1.0"
clk_hz: 100000000
registers: {}
scrub: load
"""
HARNESS = """\
#include <cstdint>
#include <string>
#define VL_MT_SAFE
typedef uint64_t QData;
static void verilated_readmem(bool, int, QData, int, const std::string&, void*, QData, QData) {}
#include "model_files.hpp"
static std::string said;
extern "C" __attribute__((visibility("default"))) const char* read_words(
    const char* text, const char* name, int hex, int bits, uint64_t depth, uint64_t start, uint64_t end) {
  model_stops_are_caught = true;
  const ModelFile file{"rom.dat", text, std::strlen(text)};
  ModelFiles given(&file, 1);
  try {
    VL_READMEM_N(hex, bits, depth, 0, name, nullptr, start, end);
  } catch (const ModelStopped& stop) {
    said = stop.why;
    return said.c_str();
  }
  return "";
}
"""
Reader = Callable[..., str]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Reads text into a memory as a model does; answers why the model stops, or nothing."""
    folder = tmp_path_factory.mktemp("words")
    source = folder / "words.cpp"
    source.write_text(HARNESS, encoding="utf-8")
    compile_shared([source], folder / "words.so", f"-I{model_unit.CPP}", "-O0")
    library = ctypes.CDLL(str(folder / "words.so"))
    library.read_words.restype = ctypes.c_char_p

    def reader(text: str, name: str = "rom.dat", base: str = "h", bits: int = 8, depth: int = 4, *ends: int) -> str:
        first, last = ends or (0, (1 << 64) - 1)
        numbers = (base == "h", bits, ctypes.c_uint64(depth), ctypes.c_uint64(first), ctypes.c_uint64(last))
        answer: bytes = library.read_words(text.encode(), name.encode(), *numbers)
        return answer.decode()

    return reader


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("01\n02\n03\n04\n", ()),
        ("1 2\t3\r\n4", ()),
        ("// of 2\n1 /* and\n3 */ 2 3 F_F\n", ()),
        ("x 2 z 0", ()),
        ("@2 1 2", ()),
        ("1 2 @3 5", ()),
        ("0101 1 11111111 0000_0001\n", ("./rom.dat", "b")),
        ("001ff 2 3 4", ("rom.dat", "h", 9)),
        ("1 2", ("rom.dat", "h", 8, 4, 1, 2)),
    ],
)
def test_a_file_that_fills_its_memory_is_read(read: Reader, text: str, more: tuple[object, ...]) -> None:
    assert read(text, *more) == ""


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("1 2 3", (), "rom.dat holds 3 words, and the memory that it is read into takes 4"),
        ("1 2 3 4 5", (), "rom.dat holds 5 words"),
        ("", (), "rom.dat holds 0 words"),
        ("// 1 2 3 4\n", (), "rom.dat holds 0 words"),
        ("1 2\n3 4g", (), 'line 2: "4g" is no hexadecimal number'),
        ("1,2,3,4", (), 'line 1: "1,2,3,4" is no hexadecimal number'),
        ("1 2 3 4", ("rom.dat", "b"), 'line 1: "2" is no binary number'),
        ("1 2\n\n100 4", (), 'line 3: "100" does not fit into 8 bits'),
        ("@3 1 2", (), "there is no address 4: the memory has 0 to 3"),
        ("@x 1", (), 'line 1: "@x" is no address'),
        ("@", (), '"@" has no address'),
        ("1 2 3 4 /* 5", (), "a comment has no end"),
        ("1 2 3 4 / 5", (), "there is no word"),
        ("1 2 3", ("rom.dat", "h", 8, 4, 1, 2), "rom.dat holds 3 words, and the memory that it is read into takes 2"),
        ("1 2 3 4", ("rom.dat", "h", 8, 4, 2, 9), "into addresses 2 to 9 of a memory that has 0 to 3"),
        ("1 2", ("rom.dat", "h", 8, 4, 2, 1), "into addresses 2 to 1"),
        ("1 2 3 4", ("./other.dat",), '"./other.dat", which is no data file of its .f list (there are: rom.dat)'),
        ("1 2 3 4", ("data/rom.dat",), '"data/rom.dat", but a data file is named by its file name alone'),
        ("1 2 3 4", ("/tmp/rom.dat",), "named by its file name alone"),
    ],
)
def test_a_file_that_does_not_stops_the_model(read: Reader, text: str, more: tuple[object, ...], says: str) -> None:
    assert says in read(text, *more)


def test_any_bytes_of_a_file_reach_the_model(tmp_path: Path) -> None:
    data = bytes(range(256)) * 40 + b'"??/\\0'
    (tmp_path / "all.bin").write_bytes(data)
    source = tmp_path / "all.cpp"
    text = model_unit.data_source([tmp_path / "all.bin"])
    ends = "ModelFiles::ModelFiles(const ModelFile* files, size_t) { first = files; }\n"
    shown = 'extern "C" __attribute__((visibility("default"))) const char* bytes(size_t* n)'
    body = f"{shown} {{ *n = first->size; return first->bytes; }}\n"
    include = f'#include "{model_unit.CPP / "model_files.h"}"\nstatic const ModelFile* first;\n'
    source.write_text(include + ends + text + body, encoding="utf-8")
    compile_shared([source], tmp_path / "all.so", "-O0")
    library, size = ctypes.CDLL(str(tmp_path / "all.so")), ctypes.c_size_t()
    library.bytes.restype = ctypes.c_void_p
    assert ctypes.string_at(library.bytes(ctypes.byref(size)), size.value) == data
    assert model_unit.data_source([]) == ""


def files(folder: Path, data: str | None, source: str = ROM) -> list[Path]:
    """A module with a memory that is filled from a file."""
    folder.mkdir(exist_ok=True)
    (folder / "rom.sv").write_text(source, encoding="utf-8")
    listed = "rom.sv\n"
    if data is not None:
        (folder / "rom.dat").write_text(data, encoding="utf-8")
        listed += "rom.dat\n"
    (folder / "rom.f").write_text(f"-f {PORTS}\n{listed}", encoding="utf-8")
    return read_filelist(folder / "rom.f")


def build_hash(listed: list[Path]) -> int:
    return build._Rtl("rom", tuple(listed), ()).build_hash()


def test_two_data_files_are_two_builds(tmp_path: Path) -> None:
    first, same = files(tmp_path / "a", "1 2 3 4"), files(tmp_path / "b", "1 2 3 4")
    other, none = files(tmp_path / "c", "1 2 3 5"), files(tmp_path / "d", None)
    assert build_hash(first) == build_hash(same)
    assert len({build_hash(first), build_hash(other), build_hash(none)}) == 3


def test_a_source_that_is_read_as_verilog_is_another_build(tmp_path: Path) -> None:
    for suffix in (".v", ".sv"):
        (tmp_path / f"m{suffix}").write_text("module m; endmodule\n", encoding="utf-8")
    plain, old = (build._Rtl("m", (tmp_path / f"m{suffix}",), ()) for suffix in (".sv", ".v"))
    assert plain.build_hash() != old.build_hash()


@pytest.mark.rtl
def test_a_module_has_its_data_wherever_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may be gone by then: its contents are in the model."""
    listed = files(tmp_path / "a", "11\n22\n33\n44\n")
    program, _ = build.build_rtl_module("rom", listed)
    (tmp_path / "a/rom.dat").unlink()
    monkeypatch.chdir("/")
    slot = ctypes.CDLL(str(program))
    slot.eddy_module_tried.restype = ctypes.c_char_p
    assert slot.eddy_module_tried() == b""


class ModuleAbi(ctypes.Structure):
    """The board's way into a module; as the C structure in `slot_abi.h`."""

    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("create", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)),
        ("destroy", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("step", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    ]


@pytest.mark.rtl
@pytest.mark.parametrize("on_board", [False, True], ids=["check", "board"])
def test_instances_have_their_own_files_and_the_machine_is_spared_their_text(
    on_board: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one instance reads comes not out of another's file, whichever was made or ended last. Sources that open
    files are refused before they are checked; should one pass, its files are its own."""
    monkeypatch.setattr("eddy_sim.modcheck.model.refuse_reaching", lambda _: None)
    folder = tmp_path / "a"
    listed = files(folder, "abcdefghijklmnopqrstuvwxyz", READER)
    (folder / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    abi: ModuleAbi | None = None
    if on_board:
        program, _ = build.build_rtl_module("rom", listed)
        abi = ModuleAbi.in_dll(ctypes.CDLL(str(program)), "eddy_module")
    else:
        model = Model(build_checked(folder / "manifest.yaml")[0])

    def instance() -> tuple[Callable[[], int], Callable[[], None]]:
        if abi is None:
            made = [ModuleInstance(model)]

            def step() -> int:
                made[0].step()
                return int(made[0].up.m_axi_wdata)

            return step, made.clear
        handle, down, up = abi.create(b""), Down(), Up()

        def step_board() -> int:
            abi.step(handle, ctypes.addressof(down), ctypes.addressof(up))
            return int(up.m_axi_wdata)

        return step_board, lambda: abi.destroy(handle)

    capfd.readouterr()
    (first, end_first), (second, end_second) = instance(), instance()
    start = first()
    assert [first(), first(), second()] == [start + 1, start + 2, start]
    third, end_third = instance()
    assert [first(), second()] == [start + 3, start + 1]
    end_third()
    assert [second(), first()] == [start + 2, start + 4]
    end_first()
    assert second() == start + 3
    end_second()
    assert third is not None
    assert capfd.readouterr() == ("", "")


@pytest.mark.rtl
@pytest.mark.parametrize(
    ("data", "source", "says"),
    [
        ("11\n22\n33\n", ROM, "the model of rom does not begin: rom.dat holds 3 words"),
        (None, ROM, r"it reads \"./rom.dat\", which is no data file of its .f list \(there are none\)"),
        ("1 2 3 4", ROM.replace("#0 at_q = 8'd0", "$finish"), r"\$finish\) at rom.sv:7"),
        ("1 2 3 4", ROM.replace("#0 at_q = 8'd0", '$fatal(1, "no")'), r"it stops at rom.sv:7: .*no"),
        ("1 2 3 4", ROM.replace("8'd0;\n    $", '8\'($fopen("x", "w"));\n    $'), r"it writes the file \"x\""),
    ],
    ids=["short", "missing", "finish", "fatal", "writes"],
)
def test_a_model_that_cannot_begin_is_not_built(data: str | None, source: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=says):
        build.build_rtl_module("rom", files(tmp_path / "a", data, source))
