# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page of built-in functions says what there is: each of the specification, defined and tested."""

from __future__ import annotations

import re
from pathlib import Path

from eddy.gpu.compilation.builtins import sections, text_for
from eddy.gpu.compilation.toolchain import LIBRARY
from unit.gpu_kit import compiled, compiler
from unit.opencl_page import PAGE, page
from unit.opencl_table import SPECIFICATION

TESTS = "".join(path.read_text() for path in sorted(Path(__file__).parents[1].rglob("test_*.py")))
TESTS += (Path(__file__).parents[1] / "opencl_table.py").read_text().split("SPECIFICATION")[0]
THERE = [name for names in SPECIFICATION.values() for name in names if "_T" not in name]
BASE = (LIBRARY / "opencl.h").read_text()
LANGUAGE = {"vec_step"}
"""What the language has, without a header."""


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text() == page(), "refresh it with: python tests/unit/opencl_page.py"


def test_every_function_is_defined() -> None:
    missing = [
        name
        for name in THERE
        if name not in sections() and not re.search(rf"\b{name}\b", BASE) and name not in LANGUAGE
    ]
    assert not missing
    assert len(THERE) > 240


def test_every_function_is_tested() -> None:
    # These have tests that make their names: of every width and rounding, beside the full functions, of every sign.
    generated = re.compile(
        r"v(load|store)a?(_half)?\d*(_rt[eznp])?\Z|(half|native)_\w+\Z|dot(_acc_sat)?_4x8packed_\w+\Z"
    )
    assert not [name for name in THERE if not generated.match(name) and not re.search(rf"\b{name}\b", TESTS)]


def test_every_section_compiles_by_itself_and_all_together() -> None:
    """With nothing but what it asks for: each name in a source of its own would take minutes, so many stand in one."""
    names = sorted(sections())
    everything = compiler().compile("#define PASTE(a, b) a##b\nkernel void f(global int *a) { a[0] = 1; }")
    assert not everything.warnings
    for first in range(0, 24):
        # Named in a comment, a section is put before the source; whatever it lacks is an error.
        chosen = [name for name in names if not name.startswith(("as_", "convert_"))][first::24]
        compiled(f"/* {' '.join(chosen)} */ kernel void f(global int *a) {{ a[0] = 1; }}")


def test_a_source_gets_what_it_names_and_no_more() -> None:
    assert text_for("kernel void f() {}") == ""
    needed = text_for("x = length(v);")
    assert "EDDY_LENGTH" in needed
    assert "EDDY_DOT(float)" in needed
    assert "eddy_most" in needed
    assert "lgamma" not in needed
    assert "eddy_sat_char" in text_for("convert_char4_sat(x)")
    assert "EDDY_LENGTH" in text_for("len\\\ngth(v)")
