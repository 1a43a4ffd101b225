# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The helper's parts by themselves: pieces of regions, linked units, headers from a disk, the library, vendors."""

from __future__ import annotations

import importlib
import itertools
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.gpu.programs.shape import ClusterShape
from eddy.opencl import wire
from eddy.opencl.context import HostContext
from eddy.opencl.geometry import Geometry, packed, pieces
from eddy.opencl.host_headers import with_headers
from eddy.opencl.standard import numbers
from eddy.opencl.units import DifferentHeaders, SourceUnit, join_units
from eddy.opencl.vendors import environment, library_path

ROOT = Path(__file__).resolve().parents[3]


def test_the_shipped_library_is_what_its_sources_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = importlib.import_module("native_kernels")
    (shipped,) = [each for each in tool.SHIPPED if each.folder.parent.name == "opencl"]
    assert tool.stale(shipped) == []


def test_pieces_are_the_bytes_of_the_regions_in_as_few_as_can_be() -> None:
    forms = itertools.product((1, 3), (1, 2, 4), (1, 3), (0, 2), (0, 5), (2, 7, 1000))
    for width, height, depth, more, gap, most in forms:
        row = width + more
        one = Geometry(7, width, height, depth, row, row * height + gap)
        found = [*pieces(most, one, packed(one))]

        def bytes_of(piece: Geometry) -> list[int]:
            starts = [
                piece.offset + z * piece.slice + y * piece.row for z in range(piece.depth) for y in range(piece.height)
            ]
            return [start + k for start in starts for k in range(piece.width)]

        assert [byte for here, _ in found for byte in bytes_of(here)] == bytes_of(one)
        assert [byte for _, there in found for byte in bytes_of(there)] == list(range(one.bytes))
        assert all(here.shape == there.shape for here, there in found)
        assert all(here.bytes <= most or here.is_run for here, _ in found)
        for piece in (each for pair in found for each in pair):
            assert piece.row >= piece.width, "sessions refuse rows and layers that overlap"
            assert piece.slice >= piece.row * (piece.height - 1) + piece.width
        assert most < 1000 or len(found) == 1


class CountingSession:
    """Keeps what it is asked for, and by which call."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def __getattr__(self, name: str) -> Callable[..., SimpleNamespace]:
        def call(*given: object) -> SimpleNamespace:
            self.calls.append((name, *given))
            return SimpleNamespace()

        return call


def test_a_region_of_many_rows_is_one_command() -> None:
    session, arena = CountingSession(), memoryview(bytes(range(256)) * 100)
    context = HostContext(cast(Any, session), ClusterShape(), arena, {1: "one", 2: "two"})
    place = struct.pack("<7Q", 1, 1000, 20, 96, 10, 30, 6000)  # 960 rows in 10 layers
    target = struct.pack("<7Q", 2, 5, 20, 96, 10, 40, 16000)
    shape, block = (20, 96, 10), struct.pack("<Q", 100)
    context.write(1, wire.Reader(place + block), ())
    read = context.read(2, wire.Reader(place + block), ())
    context.copy(3, wire.Reader(place + target), ())
    context.fill(4, wire.Reader(place + wire.text(b"ab")), ())
    assert session.calls == [
        ("write_box", "one", arena[100 : 100 + 19200], shape, (30, 6000), 1000, ()),
        ("read_box", "one", shape, (30, 6000), 1000, ()),
        ("copy_box", "one", "two", shape, (30, 6000), (40, 16000), 1000, 5, ()),
        ("fill_box", "one", b"ab", shape, (30, 6000), 1000, ()),
    ]
    assert [landing.place for landing in read.landing] == [100]
    session.calls.clear()
    together = struct.pack("<7Q", 1, 8, 20, 96, 10, 20, 1920)  # rows that follow one another
    context.fill(5, wire.Reader(together + wire.text(b"ab")), ())
    assert session.calls == [("fill", "one", b"ab", 8, 19200, ())]


def test_units_keep_their_macros_and_must_agree_on_headers() -> None:
    one, other = SourceUnit("-DA=1 -w -D B", "int a;", {"h": "x"}), SourceUnit("-DA=2", "int b;", {"h": "x"})
    joined = join_units([one, other])
    assert joined.options == "-w"
    assert joined.source.index("#define A 1") < joined.source.index("#undef A") < joined.source.index("#define A 2")
    assert "#define B 1\n" in joined.source
    assert join_units([one]) is one
    with pytest.raises(DifferentHeaders, match="'h'"):
        join_units([one, SourceUnit("", "", {"h": "y"})])


def test_headers_are_found_next_to_who_includes_them_first_and_files_come_after_what_was_given(tmp_path: Path) -> None:
    for name, text in {
        "a/x.h": '#include "y.h"\n#include <z.h>\n',
        "a/y.h": "near\n",
        "y.h": "far\n",
        "z.h": "#include MACRO\n",
        "m.h": "by macro\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    source = '#define MACRO "m.h"\n#include "./../a/x.h"\n#include "missing.h"\n'
    folders = f"-I{tmp_path} -I {tmp_path / 'a'}"
    options, found = with_headers(source, f"-DN=1 {folders} -I /nowhere", {"m.h": "given\n"})
    assert options == "-DN=1"
    assert set(found) == {"a/x.h", "a/y.h", "z.h", "m.h"}
    assert (found["a/y.h"], found["m.h"]) == ("near\n", "given\n")


def test_numbers_are_read_whatever_their_form() -> None:
    assert numbers()["CL_DEVICE_NOT_FOUND"] == -1
    assert numbers()["CL_DEVICE_TYPE_ALL"] == 0xFFFFFFFF
    assert numbers()["CL_COMPLETE"] == 0


def test_vendors_are_eddy_and_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EDDY_OPENCL_LOG", raising=False)
    system = tmp_path / "system"
    system.mkdir()
    (system / "other.icd").write_text("libother.so\n")
    first = environment(system)
    (system / "other.icd").unlink()
    assert Path(first["OCL_ICD_VENDORS"], "system-other.icd").read_text() == "libother.so\n"
    vendors = Path(first["OPENCL_VENDOR_PATH"])
    written = (vendors / "eddy.icd").stat().st_mtime_ns
    again = environment(system)
    assert first == again
    assert (vendors / "eddy.icd").stat().st_mtime_ns == written, "a host that loads now finds it whole"
    assert [path.name for path in vendors.iterdir()] == ["eddy.icd"]
    assert (vendors / "eddy.icd").read_text().strip() == str(library_path())
    assert again["EDDY_OPENCL_PYTHON"] == sys.executable
    assert os.path.dirname(again["EDDY_OPENCL_LOG"]) == str(vendors.parent)
