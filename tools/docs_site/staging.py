# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pages of `docs/` as the site's generator takes them: links lead to pages of the site, and folders have a page.

A link to a file that is no page of the site (a source, a licence) becomes its name in code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TOP = {"README.md": "overview.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the source tree outside `docs/`, and where they are on the site."""
FOLDERS = {
    "tutorials": ("Tutorials", "Learn by doing."),
    "notebooks": ("Notebooks", "The tutorials in Jupyter; the files are in `docs/notebooks`."),
    "how-to": ("How to", "Get one thing done."),
    "explanations": ("Explanations", "Understand how and why it works."),
    "reference": ("Reference", "Look something up."),
    "reference/blocks": ("Blocks of the fabric", "A page for each block of the shell."),
    "reference/registers": ("Registers", "Generated from the register maps in `hw/regs`."),
    "decisions": ("Decisions", "Why a choice was made, and what was tried and dropped."),
}

BOOSTED = {"reference/glossary.md": 3, "explanations/parallel-fraction.md": 8, "how-to/operate.md": 3, "overview.md": 2}
"""Pages that search lists before others with the same word."""


class StagedPages:
    """A folder of pages, made of a source tree.

    Args:
        folder: Where the pages go; made again.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder

    def run(self) -> list[Path]:
        """Lay out all pages and pictures; the pages, relative to the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in sorted((self.root / "docs").rglob("*")):
            if path.is_file():
                self._stage(path)
        for name in TOP:
            self._stage(self.root / name)
        for name, (title, purpose) in FOLDERS.items():
            self._index(self.folder / name, title, purpose)
        return sorted(page.relative_to(self.folder) for page in self.folder.rglob("*.md"))

    def place(self, source: Path) -> Path | None:
        """Where a file of the source tree is on the site, relative to it; None where it is not there."""
        docs = self.root / "docs"
        if source.is_dir() and docs in source.parents:
            return source.relative_to(docs) / ("README.md" if (source / "README.md").is_file() else "index.md")
        if not source.is_file():
            return None
        if source.parent == self.root:
            return Path(TOP[source.name]) if source.name in TOP else None
        if docs not in source.parents:
            return None
        found = source.relative_to(docs)
        return found.with_suffix(".md") if found.suffix == ".ipynb" else found

    def _stage(self, source: Path) -> None:
        placed = self.place(source)
        if placed is None:
            return
        target = self.folder / placed
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            boost = BOOSTED.get(placed.as_posix())
            head = f"---\nsearch:\n  boost: {boost}\n---\n\n" if boost else ""
            target.write_text(head + self.rewrite(source.read_text(encoding="utf-8"), source), encoding="utf-8")
        elif source.suffix == ".ipynb":
            target.write_text(self.rewrite(notebook_page(source), source), encoding="utf-8")
        else:
            shutil.copyfile(source, target)

    def rewrite(self, text: str, source: Path) -> str:
        """A page's text with its links as they lead on the site; what is in code stays as it is."""
        here = self.place(source)
        assert here is not None

        def link(found: re.Match[str]) -> str:
            picture, words, target, part = found[1], found[2], found[3], found[4] or ""
            if not target or "://" in target or target.startswith("mailto:"):
                return found[0]
            leads = self.place((source.parent / target).resolve())
            if leads is None:
                return words if words.startswith("`") else f"{words} (`{Path(target).name}`)"
            return f"{picture}[{words}]({os.path.relpath(leads, here.parent)}{part})"

        return "".join(part if at % 2 else LINK.sub(link, part) for at, part in enumerate(_apart(text)))

    def _index(self, folder: Path, title: str, purpose: str) -> None:
        """The page of a folder, where it has none: its pages by title."""
        if (folder / "README.md").is_file():
            return
        pages = sorted(page for page in folder.glob("*.md") if page.name != "index.md")
        lines = [f"- [{page_title(page)}]({page.name})" for page in pages]
        (folder / "index.md").write_text(f"# {title}\n\n{purpose}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def page_title(page: Path) -> str:
    """The first heading of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return next((line[2:] for line in lines if line.startswith("# ")), page.stem)


def notebook_page(file: Path) -> str:
    """A notebook as a page: its texts, and its cells as code."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
    return "\n\n".join(parts) + "\n"


def _apart(text: str) -> Iterator[str]:
    """Text and fenced code in turn, text first."""
    at = 0
    for found in FENCE.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]
