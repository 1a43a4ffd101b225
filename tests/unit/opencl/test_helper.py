# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The helper's parts by themselves: runs of regions, linked units, headers from a disk, the library, vendors."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from pathlib import Path

import pytest
from eddy.opencl.geometry import Geometry, packed, runs
from eddy.opencl.host_headers import with_headers
from eddy.opencl.standard import numbers
from eddy.opencl.units import DifferentHeaders, Unit, join_units
from eddy.opencl.vendors import environment, library_path

ROOT = Path(__file__).resolve().parents[3]


def test_the_shipped_library_is_what_its_sources_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = importlib.import_module("native_kernels")
    (shipped,) = [each for each in tool.SHIPPED if each.folder.parent.name == "opencl"]
    assert tool.stale(shipped) == []


def test_runs_are_the_bytes_of_the_regions_in_as_few_pieces_as_can_be() -> None:
    for width, height, depth, more, gap in itertools.product((1, 3), (1, 2, 4), (1, 3), (0, 2), (0, 5)):
        row = width + more
        one = Geometry(7, width, height, depth, row, row * height + gap)
        found = runs(one, packed(one))
        here = [byte for (start, _), size in found for byte in range(start, start + size)]
        there = [byte for (_, start), size in found for byte in range(start, start + size)]
        assert here == [start + k for start in one.starts() for k in range(width)]
        assert there == list(range(one.bytes))
        rows_join, layers_join = more == 0 or height == 1, gap == 0 or depth == 1
        pieces = (1 if more == 0 or height == 1 else height) * depth
        if rows_join and layers_join and (more == 0 or depth == 1):
            pieces = 1
        assert len(found) == pieces


def test_units_keep_their_macros_and_must_agree_on_headers() -> None:
    one, other = Unit("-DA=1 -w -D B", "int a;", {"h": "x"}), Unit("-DA=2", "int b;", {"h": "x"})
    joined = join_units([one, other])
    assert joined.options == "-w"
    assert joined.source.index("#define A 1") < joined.source.index("#undef A") < joined.source.index("#define A 2")
    assert "#define B 1\n" in joined.source
    assert join_units([one]) is one
    with pytest.raises(DifferentHeaders, match="'h'"):
        join_units([one, Unit("", "", {"h": "y"})])


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
    again = environment(system)
    assert first == again
    vendors = Path(again["OPENCL_VENDOR_PATH"])
    assert [path.name for path in vendors.iterdir()] == ["eddy.icd"]
    assert (vendors / "eddy.icd").read_text().strip() == str(library_path())
    assert again["EDDY_OPENCL_PYTHON"] == sys.executable
    assert os.path.dirname(again["EDDY_OPENCL_LOG"]) == str(vendors.parent)
