# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Words that were retired stay retired: the field has a better one, which docs, messages and code use.

A retired word is a pattern; beside it stands the word to use instead. To retire one, add a row and mend what the test
finds. The changelog may name old words, and so may this file.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

RETIRED = {
    r"make-spans?": "makespan",
    r"began anew|begins? anew|begun anew": "restarted, starts again",
    r"\banew\b": "again",
    r"\bput (it|them|the blobs?) up\b": "upload",
    r"\bput(ting)? up (as|a|the|these|this|what|none|bytes|blobs?)\b|\b(was|were|are|is|has|have) put up\b": "uploaded",
    r"\b(taken|took|takes?|taking) up (again|jobs?|slots?|store|every|what|where|all)\b": "recovered, continued",
    r"\b(is|are|was|were) through (with|and|before)\b": "finished",
    r"\bthrough with (the|its|their)\b": "finished",
    r"\bthe matter of (whoever|who|the job)\b": "concerns only",
    r"\bse(e|es|en) to (it|that|the disk)\b": "ensure, check, handle",
    r"\bdistrust": "forget the module",
    r"\bat the door\b|\bthe door\b": "the boundary, a group of submissions",
    r"(?-i:\bWhat\.[A-Z]|\b(class|import) What\b)": "JobEventKind",
    r"(?-i:\bBooks\b|\b_books\b)|\bthe books\b": "MachineState; in a bench, scoreboard",
    r"(?-i:\bHabits\b)": "Residency",
    r"(?-i:\bclass (Kernels|Door)\b)": "KernelPlanner, SubmissionQueue",
}
"""Pattern, not sensitive to case, and the word to use instead."""

SCANNED = ("README.md", "CONTRIBUTING.md", "docs", "runtime", "drivers", "hw", "sim", "tools", "tests", "bitstreams")
KINDS = {
    ".md",
    ".py",
    ".yaml",
    ".toml",
    ".rdl",
    ".c",
    ".h",
    ".cl",
    ".cpp",
    ".hpp",
    ".sv",
    ".svh",
    ".tcl",
    ".js",
    ".html",
}


def files() -> list[Path]:
    """Texts of the project that people read: pages, code with its messages, manifests."""
    command = ["git", "ls-files", *SCANNED]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = [ROOT / name for name in listed.split()] or [
        path for name in SCANNED for path in [ROOT / name, *(ROOT / name).rglob("*")]
    ]
    return [path for path in found if path.suffix in KINDS and path.is_file() and path != Path(__file__).resolve()]


@cache
def joined(path: Path) -> str:
    """A file's text with line breaks and the signs of comments turned into as many blanks."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"\n[ \t]*(#|//+)?", lambda match: " " * len(match.group()), text)


def found_in(path: Path, pattern: str) -> list[str]:
    """Where a retired word stands, across line breaks too."""
    places = list(re.finditer(pattern.replace(" ", r"\s+"), joined(path), re.IGNORECASE))
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    text = path.read_text(encoding="utf-8") if places else ""
    return [f"{name}:{text.count(chr(10), 0, place.start()) + 1}: {place.group()}" for place in places]


def test_enough_is_scanned() -> None:
    found = files()
    assert len(found) > 500
    assert {path.suffix for path in found} >= KINDS - {".rdl"}


@pytest.mark.parametrize(("pattern", "instead"), RETIRED.items(), ids=list(RETIRED.values()))
def test_no_retired_word_comes_back(pattern: str, instead: str) -> None:
    found = [place for path in files() for place in found_in(path, pattern)]
    assert found == [], f"say: {instead}"


@pytest.mark.parametrize("name", ["Kernels", "KernelPlanner", "Launch", "Slot", "MachineSlot", "CONTROL_BYTES"])
def test_no_two_things_have_this_name(name: str) -> None:
    defined = rf"^(class {name}\b|{name}(:[^=\n]*)? = |[A-Z_]+, {name} = )"
    code = [p for p in files() if p.suffix == ".py" and "tests" not in p.parts and p != ANSWERS]
    places = [path for path in code for _ in re.findall(defined, path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert len(places) <= 1, places


ANSWERS = ROOT / "runtime/eddy/client/answers.py"
"""Generated from the API's schemas, and called as they are: the same things, seen by who asks."""
PACKAGES = {"runtime/eddy": 3, "drivers": 2, "sim/eddy_sim": 2}
"""Where packages are, and how many parts of a path name one."""
ONE_THING_SEEN_TWICE = {
    "Buffer",
    "Cause",
    "Fault",
    "Health",
    "Identity",
    "Job",
    "Kernel",
    "KernelOutput",
    "Progress",
    "Session",
}
"""One thing on two sides of a boundary: in a record and in an answer, in a driver and behind the board port."""


def shared_names() -> set[str]:
    """Public classes whose name is defined in more than one package."""
    found: dict[str, set[str]] = {}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        root = next((each for each in PACKAGES if name.startswith(f"{each}/")), None)
        if root is None or path.suffix != ".py" or path == ANSWERS:
            continue
        package = "/".join(name.split("/")[: PACKAGES[root]])
        for each in re.findall(r"^class ([A-Z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(each, set()).add(package)
    return {name for name, packages in found.items() if len(packages) > 1}


def test_a_class_of_one_package_is_not_called_as_another_packages() -> None:
    shared = shared_names()
    new = shared - ONE_THING_SEEN_TWICE
    assert not new, "another package has a class of this name; call yours otherwise"


def test_a_retired_word_is_seen_across_a_line_break(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("# the board\n# began\n# anew, and its make-span\n# grew\n")
    assert found_in(page, "began anew") == ["page.py:2: began   anew"]
    assert found_in(page, "make-spans?") == ["page.py:3: make-span"]


FIRST_PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/tutorials/*.md",
    "docs/how-to/*.md",
    "docs/explanations/*.md",
    "docs/reference/[b-z]*.md",
    "docs/reference/applications.md",
    "docs/reference/blocks/*.md",
    "docs/decisions/*.md",
)
PRIVATE = r"(?<!-)\b(whoever|nobody|go on|goes on|went on|stands|beside|under way|says so|comes of|is meant)\b"
"""Phrases that a newcomer stops at: say who, continue, next to, in progress."""


def test_the_pages_a_newcomer_reads_first_use_plain_words() -> None:
    pages = [page for pattern in FIRST_PAGES for page in ROOT.glob(pattern)]
    assert len(pages) > 12
    assert [place for page in pages for place in found_in(page, PRIVATE)] == []
