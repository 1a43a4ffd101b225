# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a port does not promise is not looked for: whoever needs a call of one finds it in its Protocol."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = sorted((Path(__file__).parents[3] / "runtime" / "eddy").rglob("*.py"))
ALLOWED = {
    "api/http/request_log.py": "FastAPI keeps no route where none matched",
    "board/port/wire.py": "the name of a type, generic ones have none",
    "pool/connection/refusals.py": "errors of keys of NATS's client lack the attributes of their class",
}


def probes(tree: ast.AST) -> list[int]:
    """Lines that ask an object whether it has an attribute."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3))
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [("getattr(a, 'b', None)", [1]), ("hasattr(a, 'b')", [1]), ("getattr(a, name)", []), ("a.getattr(1, 2, 3)", [])],
)
def test_a_probe_is_seen(source: str, found: list[int]) -> None:
    assert probes(ast.parse(source)) == found


def test_no_module_probes_for_attributes() -> None:
    root = Path(__file__).parents[3] / "runtime" / "eddy"
    found = {str(path.relative_to(root)) for path in SOURCES if probes(ast.parse(path.read_text()))}
    assert found == set(ALLOWED)
