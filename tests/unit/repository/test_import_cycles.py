# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No module imports itself by a detour, imports inside functions and for type checkers included."""

from __future__ import annotations

import ast
from pathlib import Path

import grimp
import pytest

PACKAGES = ("eddy", "eddy_drivers", "eddy_sim")


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module, or of one that imports itself (Tarjan, iterative)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    if len(part) > 1 or node in graph[node]:
                        found.append(sorted(part))
    return found


def imports() -> dict[str, set[str]]:
    """Every module of ours and the modules of ours it names in an import; a package stands for its `__init__`."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    found = {name: graph.find_modules_directly_imported_by(name) & graph.modules for name in graph.modules}
    return {name: targets - {name} for name, targets in found.items()}


def test_no_import_cycles() -> None:
    assert cycles(imports()) == []


def test_a_cycle_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert cycles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


@pytest.mark.parametrize("where", ["def f():\n    import eddy_a.b", "if TYPE_CHECKING:\n    import eddy_a.b"])
def test_hidden_imports_count(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ast.parse(where)
    package = tmp_path / "eddy_a"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text(f"from typing import TYPE_CHECKING\n{where}\n")
    (package / "b.py").write_text("import eddy_a.a\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    graph = grimp.build_graph("eddy_a", cache_dir=None)
    assert cycles({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}) == [["eddy_a.a", "eddy_a.b"]]
