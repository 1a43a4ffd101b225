# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Code lies in files, where linters, type checkers and simulators see it, and not in strings of programs.

Tests may hold programs in strings: they run them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("runtime", "drivers", "sim/eddy_sim", "tools")
VERILOG = re.compile(r"^\s*(endmodule|endpackage)\b", re.MULTILINE)
TCL = re.compile(r"^\s*(proc \w|foreach \w+ )", re.MULTILINE)
UNIT = re.compile(r"^\[(Unit|Service)\]", re.MULTILINE)
SHELL = re.compile(r"^#!", re.MULTILINE)
_FIELD = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
ALLOWED = {
    "runtime/eddy/cli/boards/install_files.py": "units: test_install.py reads them, systemd does in `make board-units`",
    "runtime/eddy/packages/fuse.py": "RTL: test_fusion.py and test_module_new.py",
    "sim/eddy_sim/design/shims.py": "RTL and C++: part of every model",
    "sim/eddy_sim/design/wide_top.py": "RTL: test_wide_ports.py and the bench of slot_widen",
    "sim/eddy_sim/importing/vendor.py": "RTL: test_importing.py and the benches of vendor_parts",
    "sim/eddy_sim/importing/wrapper.py": "RTL: test_module_import.py",
    "sim/eddy_sim/tools/smt_solver.py": "two lines of shell: part of every proof",
    "tools/answer_types.py": "Python: eddy/client/answers.py is what it writes",
    "tools/area_report/routing.py": "RTL: around every block that is routed; test_route.py",
    "tools/area_report/tops.py": "RTL: part of every area figure",
    "tools/board_units.py": "part of a unit: systemd reads it in that run",
    "tools/regmap/rtl.py": "RTL: hw/regs/generated is what it writes",
    "tools/regmap/window.py": "RTL: hw/regs/generated is what it writes",
}
"""Where strings hold parts of generated files, and who checks what comes of them."""


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string but docstrings, with its line; a formatted one with names in place of its fields."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
                continue
            if isinstance(child, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "name" for p in child.values]
                yield child.lineno, "".join(map(str, parts))
            elif isinstance(child, ast.Constant) and isinstance(child.value, str) and id(child) not in inside:
                yield child.lineno, child.value


def is_python(text: str) -> bool:
    """Whether a text is a program: it has several lines, and imports or defines something."""
    filled = _FIELD.sub(r"\1", text).replace("{{", "{").replace("}}", "}")
    try:
        body = ast.parse(filled).body
    except (SyntaxError, ValueError):
        return False
    defining = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return len(body) > 1 and "\n" in text and any(isinstance(node, defining) for node in body)


def code_in(source: str) -> list[int]:
    """Lines at which strings that hold code begin."""
    found = (VERILOG, TCL, UNIT, SHELL)
    return [at for at, text in strings(ast.parse(source)) if is_python(text) or any(p.search(text) for p in found)]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""import os\nprint(1)"""', []),
        ('A = """\nimport os\nprint(os.name)\n"""', [1]),
        ('x = 1\nA = f"""\ndef {x}() -> None:\n    pass\n\n\n{x}()\n"""', [2]),
        ('A = """\nimport os\ndef {name}_x() -> dict:\n    return {{}}\n"""', [1]),
        ('A = "module a;\\nendmodule\\n"', [1]),
        ('A = f"module {1};\\n{2}\\nendmodule\\n"', [1]),
        ('A = ["#!/bin/sh"]', [1]),
        ('A = "from here to there\\nimport nothing"', []),
    ],
)
def test_code_is_seen(source: str, lines: list[int]) -> None:
    assert code_in(source) == lines


def test_no_program_holds_code_in_strings() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in files if code_in(path.read_text(encoding="utf-8"))}
    assert found == set(ALLOWED)
