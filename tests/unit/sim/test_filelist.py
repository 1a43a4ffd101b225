# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The reader of `.f` lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.tools.filelist import (
    FilelistInvalid,
    data_files,
    expand_includes,
    header_files,
    read_filelist,
    source_files,
    tool_arguments,
)

ROOT = Path(__file__).resolve().parents[3]
LISTS = sorted((ROOT / "hw").rglob("*.f"))


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_order_is_lower_blocks_first_without_repeats(tmp_path: Path) -> None:
    for name in ("pkg", "low", "left", "right", "top"):
        write(tmp_path / name / "rtl" / f"{name}.sv")
    write(tmp_path / "pkg/pkg.f", "rtl/pkg.sv\n")
    write(tmp_path / "low/low.f", "-f ../pkg/pkg.f\nrtl/low.sv\n")
    write(tmp_path / "left/left.f", "-f ../low/low.f\nrtl/left.sv\n")
    write(tmp_path / "right/right.f", "-F ../low/low.f\nrtl/right.sv\n")
    top = write(tmp_path / "top/top.f", "-f ../left/left.f\n-f ../right/right.f\nrtl/top.sv\n")
    assert [path.stem for path in read_filelist(top)] == ["pkg", "low", "left", "right", "top"]


def test_paths_are_absolute_and_relative_to_their_list(tmp_path: Path) -> None:
    source = write(tmp_path / "a" / "rtl" / "a.v")
    lists = write(tmp_path / "b" / "b.f", "../a/rtl/a.v\n")
    assert read_filelist(lists) == [source.resolve()]


def test_comments_and_blank_lines_mean_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.sv")
    lists = write(tmp_path / "a.f", "// all of it\n\n  # nothing else\na.sv  // the block\n")
    assert [path.name for path in read_filelist(lists)] == ["a.sv"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("missing.sv\n", "bad.f:1: there is no file"),
        ("missing.dat\n", "bad.f:1: there is no file"),
        ("+incdir+nowhere\n", "bad.f:1: there is no folder"),
        ("+incdir+.\n", "bad.f:1: .* holds no header"),
        ("block.vhd\n", r"bad.f:1: 'block.vhd' is not a source"),
        ("\n-f missing.f\n", "bad.f:2: there is no file list"),
        ("+define+X\n", r"bad.f:1: '\+define\+X' is not a source"),
        ("-f\n", "bad.f:1: '-f' is not a source"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(FilelistInvalid, match=says):
        read_filelist(write(tmp_path / "bad.f", text))


def test_headers_are_listed_and_a_tool_is_told_where_they_are(tmp_path: Path) -> None:
    header = write(tmp_path / "low/rtl/ports.svh", "input a_i\n")
    write(tmp_path / "low/low.f", "rtl/ports.svh\n")
    source = write(tmp_path / "top/rtl/top.sv", 'module top (\n  `include "ports.svh"\n);\nendmodule\n')
    files = read_filelist(write(tmp_path / "top/top.f", "-f ../low/low.f\nrtl/top.sv\n"))
    assert files == [header.resolve(), source.resolve()]
    assert tool_arguments(files) == [f"-I{header.parent.resolve()}", str(source.resolve())]
    assert expand_includes(source.read_text(), files) == "module top (\ninput a_i\n\n);\nendmodule\n"
    with pytest.raises(FilelistInvalid, match=r"ports\.svh"):
        expand_includes(source.read_text(), [source])


def test_every_kind_of_file_is_told_by_its_suffix(tmp_path: Path) -> None:
    names = ("rom.dat", "ports.vh", "low.v", "table.mem", "pkg.sv", "code.hex", "regs.svh")
    for name in names:
        write(tmp_path / name)
    files = read_filelist(write(tmp_path / "top.f", "".join(f"{name}\n" for name in names)))
    assert [file.name for file in files] == list(names)
    assert [file.name for file in source_files(files)] == ["low.v", "pkg.sv"]
    assert [file.name for file in header_files(files)] == ["ports.vh", "regs.svh"]
    assert [file.name for file in data_files(files)] == ["rom.dat", "table.mem", "code.hex"]
    folder = tmp_path.resolve()
    assert tool_arguments(files) == ["+1364-2005ext+v", f"-I{folder}", f"{folder}/low.v", f"{folder}/pkg.sv"]


def test_headers_of_a_folder_are_found_by_the_names_that_sources_give_them(tmp_path: Path) -> None:
    for name in ("inc/one.vh", "inc/deep/two.svh", "inc/notes.md"):
        write(tmp_path / name)
    write(tmp_path / "top.sv", '`include "one.vh"\n`include "deep/two.svh"\nmodule top; endmodule\n')
    files = read_filelist(write(tmp_path / "top.f", "+incdir+inc\ntop.sv\n"))
    inc = (tmp_path / "inc").resolve()
    assert files == [inc / "deep/two.svh", inc / "one.vh", (tmp_path / "top.sv").resolve()]
    assert tool_arguments(files)[:-1] == [f"-I{inc / 'deep'}", f"-I{inc}"]


def test_two_data_files_of_one_name_are_refused(tmp_path: Path) -> None:
    """Memories are filled by the names of files alone: which of the two it would be nobody can tell."""
    for name in ("a/rom.dat", "b/rom.dat"):
        write(tmp_path / name, "00\n")
    write(tmp_path / "a/a.f", "rom.dat\n")
    assert len(read_filelist(write(tmp_path / "twice.f", "-f a/a.f\na/rom.dat\n"))) == 1
    with pytest.raises(FilelistInvalid, match=r"a/rom\.dat and .*b/rom\.dat have one name"):
        read_filelist(write(tmp_path / "both.f", "-f a/a.f\nb/rom.dat\n"))


def test_a_missing_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(FilelistInvalid, match=r"nowhere\.f"):
        read_filelist(tmp_path / "nowhere.f")


def test_lists_that_include_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.f", "-f b.f\n")
    write(tmp_path / "b.f", "-f a.f\n")
    with pytest.raises(FilelistInvalid, match=r"a\.f -> .*b\.f -> .*a\.f"):
        read_filelist(tmp_path / "a.f")


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_list_of_the_hardware_reads(path: Path) -> None:
    assert read_filelist(path)
