"""Packages that have rooms: the page on where things go says of each room what its docstring says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "explanations" / "where-does-it-go.md").read_text(encoding="utf-8")
PACKAGES = {
    "runtime/eddy/api": set(),
    "runtime/eddy/board": {"signing"},
    "runtime/eddy/cli": {"main"},
    "runtime/eddy/client": {"client", "async_client", "answers"},
    "runtime/eddy/gpu": set(),
    "runtime/eddy/hypervisor": set(),
    "runtime/eddy/pool": set(),
    "runtime/eddy/policy/dispatch": {"eddy", "exclusive", "fcfs", "nimblock", "prema", "round_robin", "undecided"},
    "runtime/eddy/store": set(),
    "sim/eddy_sim": {"device"},
}
"""Packages with rooms, and their modules that are in none: what a program imports, and what commands are called."""
MOST_FILES = 25


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_say_what_is_in_them_and_are_not_crowded(package: str) -> None:
    folder = ROOT / package
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} <= PACKAGES[package], "it belongs in a room"
    rooms = [path.parent for path in sorted(folder.glob("*/__init__.py"))]
    assert len(rooms) > 1
    for room in rooms:
        said = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
        first = " ".join(said.partition("\n\n")[0].split())
        assert len(first) > 40, room
        assert f"| `{room.name}` | {first} |" in PAGE, f"{room}: write the room's docstring into the page"
        assert len([*room.glob("*.py")]) - 1 <= MOST_FILES, room
