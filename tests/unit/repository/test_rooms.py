# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page of the architecture: it says of each room what its docstring says, and its picture has every package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EDDY = ROOT / "runtime" / "eddy"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = {
    "runtime/eddy/api": set(),
    "runtime/eddy/board": {"signing"},
    "runtime/eddy/cli": {"main"},
    "runtime/eddy/client": {"client", "async_client", "answers"},
    "runtime/eddy/gpu": set(),
    "runtime/eddy/hypervisor": set(),
    "runtime/eddy/pool": set(),
    "runtime/eddy/policy/dispatch": {"eddy", "exclusive", "fcfs", "nimblock", "prema", "round_robin", "no_decision"},
    "runtime/eddy/store": set(),
    "sim/eddy_sim": {"device"},
}
"""Packages with rooms, and their modules that are in none: what a program imports, and what commands are called."""
MAX_FILES = 25


def test_no_module_strays_at_the_top() -> None:
    """`moved` is there before any other is found; people call `python -m eddy` and `python -m eddy.settings`."""
    assert {path.stem for path in EDDY.glob("*.py")} == {"__init__", "__main__", "moved", "settings"}


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
        assert len([*room.glob("*.py")]) - 1 <= MAX_FILES, room


def test_the_picture_has_every_package_and_arrows_that_are_imports() -> None:
    picture = PAGE.partition("```mermaid")[2].partition("```")[0]
    arrows = re.findall(r"^\s+(\w+)(?:\[[^\]]*\])? --> (\w+)", picture, re.MULTILINE)
    packages = {path.parent.name for path in EDDY.glob("*/__init__.py")}
    assert {*re.findall(r"(\w+)\[", picture)} >= packages - {"core", "host"}, "draw the package"
    assert len(arrows) > 8
    for of, to in arrows:
        imported = f"eddy.{to}" if to in packages else "eddy_drivers"
        assert any(imported in path.read_text(encoding="utf-8") for path in (EDDY / of).rglob("*.py")), (of, to)
