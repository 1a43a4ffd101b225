# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The walks of a job and of a kernel have ten steps each and name files that exist, each once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WALKS = sorted((ROOT / "docs" / "explanations").glob("walk-of-*.md"))
ROOTS = (ROOT / "runtime" / "eddy", ROOT)


def exists(name: str) -> bool:
    pattern = name.replace("<module>", "*")
    return any(any(root.glob(pattern)) for root in ROOTS)


def named(row: str) -> list[str]:
    """The files in the second column; one without a folder is beside the one before it."""
    found: list[str] = []
    for name in re.findall(r"`([^`]+)`", row.split("|")[2]):
        beside = [str(Path(each).parent / name) for each in reversed(found)]
        found.append(next((each for each in [name, *beside] if exists(each)), name))
    return found


@pytest.mark.parametrize("walk", WALKS, ids=lambda path: path.stem)
def test_a_walk_is_ten_steps_through_files_that_exist(walk: Path) -> None:
    rows = re.findall(r"^\| \d.*$", walk.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(row.split("|")[1]) for row in rows] == list(range(1, 11))
    files = [name for row in rows for name in named(row)]
    assert [name for name in files if not exists(name)] == []
    assert sorted(files) == sorted(set(files))


def test_a_missing_file_is_seen() -> None:
    assert named("| 1 | `hypervisor/engine/engine.py`, `loop.py`, `nowhere.py` | |")[:2] == [
        "hypervisor/engine/engine.py",
        "hypervisor/engine/loop.py",
    ]
    assert not exists("hypervisor/nowhere.py")
