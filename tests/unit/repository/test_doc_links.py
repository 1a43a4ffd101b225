# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every link in the documentation leads somewhere: files exist, and headings that are named exist in them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|^ {4,}\S.*?$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
"""Fenced, indented and inline."""


def pages() -> list[Path]:
    """The Markdown files that are part of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    found = [ROOT / name for name in listed] or [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    return sorted(page for page in found if page.exists())


def anchors(page: Path) -> set[str]:
    """The names headings are linked by."""
    titles = re.findall(r"^#+ +(.+?)\s*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    """What a page links to and cannot be found."""
    wrong = []
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            wrong.append(f"{target}: no such heading")
    return wrong


def test_every_link_leads_somewhere() -> None:
    every = pages()
    assert len(every) > 10
    assert {str(page.relative_to(ROOT)): wrong for page in every if (wrong := broken(page))} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One Two\n[a](#one-two) [b](#three) [c](nothing.md) ![d](nothing.png) [e](https://x.org)\n")
    assert broken(page) == ["#three: no such heading", "nothing.md: no such file", "nothing.png: no such file"]


def test_the_index_links_every_page_of_decisions() -> None:
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", index))
    assert linked == {page.name for page in folder.glob("*.md")} - {"README.md"}


def test_decisions_are_cited_by_page() -> None:
    """In sources too, where no link is checked; pages have names, no numbers."""
    found = subprocess.run(
        ["git", "grep", "-noIE", r"decisions/[0-9A-Za-z_-]+\.md|[Dd]ecision [0-9]+"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines()
    cited = [line.rsplit(":", 1)[1] for line in found]
    assert len(cited) > 50
    assert [
        line
        for line, what in zip(found, cited, strict=True)
        if not what.startswith("decisions/") or not (ROOT / "docs" / what).exists()
    ] == []


NAMED = re.compile(
    r"`(?:python -m )?(?:((?:[\w-]+/)+[\w-]+\.(?:py|svh?|cpp|c|yaml))|(eddy(?:_sim|_studies|_drivers)?(?:\.\w+)+))`"
)
"""A file, from some folder of the repository on, or a Python module or what is in one."""


@pytest.mark.parametrize("pattern", ["*.md", "decisions/*.md", "explanations/*.md", "reference/**/*.md"])
def test_files_and_modules_that_pages_name_exist(pattern: str) -> None:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    ends = {name[at:] for name in listed for at in (0, *(i + 1 for i, sign in enumerate(name) if sign == "/"))}
    modules = {
        end.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for end in ends if end.endswith(".py")
    }
    missing = [
        f"{page.name}: {path or module}"
        for page in sorted((ROOT / "docs").glob(pattern))
        for path, module in NAMED.findall(page.read_text(encoding="utf-8"))
        if not (path in ends if path else {module, module.rpartition(".")[0]} & modules)
    ]
    assert missing == []


PACKAGES = sorted(path.parent.name for path in (ROOT / "runtime" / "eddy").glob("*/__init__.py"))
MODULE = re.compile(rf"`(?:eddy\.)?((?:{'|'.join(PACKAGES)})(?:\.[a-z_]\w*)+(?:\.[A-Z]\w*)?)`")
OTHERS = {"board.csv", "pool.ada"}
"""What looks like a module's name: a file, and a tenant of a pool."""


def unknown_modules(text: str) -> list[str]:
    """Modules, and names in them, that a text names and that are not there."""
    wrong = []
    for name in MODULE.findall(text):
        path = (ROOT / "runtime" / "eddy").joinpath(*name.split("."))
        if name in OTHERS or path.with_suffix(".py").exists() or (path / "__init__.py").exists():
            continue
        within = [path.parent.with_suffix(".py"), path.parent / "__init__.py"]
        if not any(re.search(rf"\b{path.name}\b", each.read_text("utf-8")) for each in within if each.exists()):
            wrong.append(name)
    return wrong


def test_every_module_that_is_named_is_there() -> None:
    found = {str(page.relative_to(ROOT)): unknown_modules(page.read_text(encoding="utf-8")) for page in pages()}
    assert {page: wrong for page, wrong in found.items() if wrong} == {}
    assert unknown_modules("`store.db.schema` `hypervisor.engine.fanout` `eddy.store.db.schema.migrated`") == [
        "hypervisor.engine.fanout",
        "store.db.schema.migrated",
    ]
