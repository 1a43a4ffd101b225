# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stored results: each is tied to the code it comes from, and called stale where it is shown if that has changed."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from eddy_studies.commands.reproduce import STUDIES

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import results  # noqa: E402

KNOWN = results.load()
OTHERWISE = {
    "runtime/eddy/board/selftest/known_answers.npz": "made again and compared by tools/known_answers.py --check",
    "studies/eddy_studies/judge/workload.json": "published with Nimblock",
    "studies/eddy_studies/nimblock/board_runs.json": "published with Nimblock",
    "docs/reference/area.json": "has a hash of its own, which tools/area.py compares",
    "docs/reference/route.json": "has keys of its own, which the page compares with those of the levels",
    "docs/grafana/eddy.json": "a dashboard",
    "docs/grafana/pool.json": "a dashboard",
}
"""Data files that are no results of this code, or are held otherwise."""
TABLES = ("README.md", "docs/reference/measurements.md")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_pages_say_of_which_commit_results_are_and_whether_their_code_has_changed() -> None:
    wrong = [str(path.relative_to(ROOT)) for path in results.outdated(KNOWN)]
    assert wrong == [], "a result's sources changed, or it was made again: run tools/results.py"


def test_every_result_is_shown_and_every_study_has_one() -> None:
    shown = {
        found["name"] for path in results.pages() for found in results.MARK.finditer(path.read_text(encoding="utf-8"))
    }
    assert shown == set(KNOWN)
    commands = " ".join(f"{result.command}," for result in KNOWN.values())
    assert {name for name in STUDIES if not re.search(rf"eddy reproduce {name}\b(?!-)", commands)} == set()


def test_every_data_file_is_a_result_or_is_held_otherwise() -> None:
    folders = [f"{folder}/*.{kind}" for folder in ("runtime", "studies", "docs") for kind in ("json", "npz", "csv")]
    there = set(git("ls-files", *folders).split())
    registered = {file for result in KNOWN.values() for file in result.files}
    assert there == registered | set(OTHERWISE)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_recorded_is_the_commits(name: str) -> None:
    result = KNOWN[name]
    if subprocess.run(["git", "cat-file", "-e", result.commit], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("the history is not whole here")
    assert results.hash_at(result.sources, result.commit) == result.hash


@pytest.mark.parametrize("page", TABLES)
def test_every_measurement_names_its_commit(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text.partition("| what | measured | command | of commit |\n")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines()[1:] if not line.startswith("| **")]
    assert len(rows) > 7
    cell = re.compile(r"(<!--result [a-z-]+-->)?`[0-9a-f]{8}`(, stale)?(<!--/result-->)?")
    assert [row for row in rows if not cell.fullmatch(row.rstrip(" |").rpartition(" | ")[2])] == []


def test_a_changed_source_makes_a_result_stale() -> None:
    made = replace(KNOWN["dispatch-trial"], hash=results.hash_now(KNOWN["dispatch-trial"].sources))
    page = "Figures of <!--result dispatch-trial-->?<!--/result-->."
    assert results.marked(page, {"dispatch-trial": made}) == page.replace("?", f"`{made.commit}`")
    changed = replace(made, hash="0" * 16)
    assert results.marked(page, {"dispatch-trial": changed}) == page.replace("?", f"`{made.commit}`, stale")
    with pytest.raises(KeyError):
        results.marked(page, {})


def test_a_hash_is_of_paths_and_contents_of_the_sources_alone() -> None:
    blobs = {"a/b/c.sv": "1", "a/d.sv": "2", "a/d.md": "3", "e.py": "4"}
    one = results._hash(blobs, ["a/*.sv"])
    assert results._hash({**blobs, "a/d.md": "x", "e.py": "y"}, ["a/*.sv"]) == one
    assert results._hash({**blobs, "a/b/c.sv": "x"}, ["a/*.sv"]) != one
    assert results._hash({**blobs, "a/b/n.sv": "5"}, ["a/*.sv"]) != one
    assert results._hash({**blobs, "a/d.sv": "x"}, ["a/*.sv", "!a/d.sv"]) == results._hash(blobs, ["a/*.sv", "!a/d.sv"])
    with pytest.raises(SystemExit, match="no file"):
        results._hash(blobs, ["nothing/*"])
    here = (ROOT / "pyproject.toml").read_bytes()
    assert results.blob_of(here) == git("hash-object", "pyproject.toml").strip()
