# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds the site; what `make site` runs.

    tools/docs_site/build.py [--out out/site] [--version V]

Each version is a folder of its own, in which links, search and pages need no server and no network; versions that are
there already stay, and the page chooses between them when it is served. It fails where a link or the target of one is
broken, or where search would not find what it must.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from eddy.host import distribution

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs_site import generated
from docs_site.scripts import put_scripts
from docs_site.staging import FOLDERS, StagedPages, page_title

ROOT = Path(__file__).resolve().parents[2]
MUST_BE_FOUND = {"drain": "how-to/operate", "F": "reference/glossary", "lease": "how-to/lease-a-slot"}
"""Words that people look for, and a page that search must have them on."""


def nav_of(folder: Path, pages: Path) -> list[Any]:
    """A folder's pages for the navigation: its own page first, then those below by title."""
    index = next(name for name in ("README.md", "index.md") if (folder / name).is_file())
    entries: list[Any] = [str((folder / index).relative_to(pages))]
    for path in sorted(folder.glob("*.md"), key=page_title):
        if path.name != index:
            entries.append(str(path.relative_to(pages)))
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and any(path.glob("*.md"))):
        title = FOLDERS.get(str(inner.relative_to(pages)), (page_title(inner / "index.md"),))[0]
        entries.append({title: nav_of(inner, pages)})
    return entries


def write_config(pages: Path, out: Path) -> Path:
    """The generator's configuration, with folders and navigation filled in."""
    text = (ROOT / "tools" / "docs_site" / "mkdocs.yml").read_text(encoding="utf-8")
    head, _, tail = text.partition("nav:\n")
    nav, _, extra = tail.partition("extra:")
    filled = []
    for entry in yaml.safe_load(nav):
        ((title, what),) = entry.items()
        filled.append({title: what if isinstance(what, list) else nav_of(pages / what, pages)})
    config = pages.parent / "mkdocs.yml"
    places = f"docs_dir: {pages}\nsite_dir: {out}\n"
    listed = yaml.safe_dump({"nav": filled}, sort_keys=False)
    config.write_text(
        f"{places}{head.replace('[runtime]', f'[{ROOT}/runtime]')}{listed}extra:{extra}", encoding="utf-8"
    )
    return config


def check_search(out: Path) -> list[str]:
    """What search would not find."""
    script = (out / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(script[script.index("{") : script.rindex("}") + 1])
    texts: dict[str, str] = {}
    for entry in index["docs"]:
        page = entry["location"].partition("#")[0]
        texts[page] = f"{texts.get(page, '')} {entry['title']} {entry['text']}"
    wrong = []
    for word, where in MUST_BE_FOUND.items():
        there = " ".join(text for page, text in texts.items() if page.startswith(where))
        if not re.search(rf"\b{word}", there):
            wrong.append(f"search has no {word!r} on {where}")
    return wrong


def list_versions(folder: Path) -> None:
    """What the page chooses from, and the page that leads to the latest."""
    versions = sorted((path.name for path in folder.iterdir() if path.is_dir()), reverse=True)
    entries: list[dict[str, Any]] = [{"version": each, "title": each, "aliases": []} for each in versions]
    entries[0]["aliases"] = ["latest"]
    (folder / "versions.json").write_text(json.dumps(entries), encoding="utf-8")
    forward = f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/index.html">\n'
    (folder / "index.html").write_text(forward, encoding="utf-8")


def main() -> int:
    """Build; 0 where all is whole."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "site", help="folder of the versions")
    parser.add_argument("--version", default=distribution.version(), help="folder of this one")
    told = parser.parse_args()
    work, out = ROOT / "build" / "site", told.out.resolve() / told.version
    staging = StagedPages(ROOT, work / "pages")
    staging.run()
    (work / "pages" / "README.md").rename(work / "pages" / "index.md")
    generated.write_pages(work / "pages")
    shutil.rmtree(out, ignore_errors=True)
    config = write_config(work / "pages", out)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
    )
    if done.returncode:
        return done.returncode
    shutil.move(out / "reference" / "openapi" / "page.html", out / "reference" / "openapi" / "index.html")
    put_scripts(out, work / "scripts")
    wrong = check_search(out)
    for each in wrong:
        print(f"site: {each}")
    list_versions(out.parent)
    print(f"site: {sum(1 for _ in out.rglob('*.html'))} pages in {out}; begin with {out.parent / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
