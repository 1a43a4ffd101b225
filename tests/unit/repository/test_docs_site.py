# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The site has every page, and every link on one leads to another; the generator itself runs in `make site`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

from docs_site import generated  # noqa: E402
from docs_site.staging import FOLDERS, LINK, TOP, StagedPages  # noqa: E402


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    StagedPages(ROOT, folder).run()
    return folder


def test_every_page_and_picture_is_there(pages: Path) -> None:
    for path in (ROOT / "docs").rglob("*"):
        if path.is_file():
            name = path.relative_to(ROOT / "docs")
            assert (pages / (name.with_suffix(".md") if name.suffix == ".ipynb" else name)).is_file(), name
    assert all((pages / name).is_file() for name in TOP.values())
    folders = {str(page.parent.relative_to(pages)) for page in pages.rglob("*.md")} - {"."}
    assert folders == set(FOLDERS)
    assert all((pages / each / "index.md").is_file() or (pages / each / "README.md").is_file() for each in folders)


def test_every_link_leads_to_a_page_or_picture(pages: Path) -> None:
    broken, found = [], 0
    for page in pages.rglob("*.md"):
        for _, _, target, _ in LINK.findall(re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)):
            if target and "://" not in target:
                found += 1
                broken += [] if (page.parent / target).is_file() else [f"{page.relative_to(pages)}: {target}"]
    assert found > 400
    assert broken == []


@pytest.mark.parametrize(
    ("page", "text", "becomes"),
    [
        ("README.md", "[a](docs/architecture.md#rooms)", "[a](architecture.md#rooms)"),
        ("README.md", "![a](docs/images/top.png)", "![a](images/top.png)"),
        ("README.md", "[the licence](LICENSE)", "the licence (`LICENSE`)"),
        ("docs/README.md", "[a](tutorials)", "[a](tutorials/index.md)"),
        ("docs/how-to/install.md", "[a](../../README.md)", "[a](../overview.md)"),
        ("docs/how-to/install.md", "[`m`](../../runtime/eddy/host/signals.py)", "`m`"),
        ("docs/how-to/install.md", "[a](../notebooks/first-job.ipynb)", "[a](../notebooks/first-job.md)"),
        ("docs/how-to/install.md", "[a](https://x.org/y)", "[a](https://x.org/y)"),
        ("docs/how-to/install.md", "```\n[a](b)\n```", "```\n[a](b)\n```"),
    ],
)
def test_links_as_they_lead_on_the_site(tmp_path: Path, page: str, text: str, becomes: str) -> None:
    assert StagedPages(ROOT, tmp_path).rewrite(text, ROOT / page) == becomes


def test_the_page_of_commands_has_each_with_its_options() -> None:
    page = generated.command_page()
    assert len(re.findall(r"^## eddy ", page, re.MULTILINE)) > 60
    serve = page.split("## eddy serve\n")[1].split("\n## ")[0]
    assert "| `--board` |" in serve
    assert "## eddy module check\n" in page


def test_the_navigation_has_every_folder_and_interfaces_that_can_be_imported() -> None:
    text = (ROOT / "tools/docs_site/mkdocs.yml").read_text("utf-8").partition("nav:\n")[2].partition("extra:")[0]
    listed = [what for entry in yaml.safe_load(text) for what in entry.values()]
    assert {each for each in listed if isinstance(each, str)} == {name for name in FOLDERS if "/" not in name}
    modules = [module for _, named in generated.INTERFACES.values() for module in named]
    places = [ROOT / "runtime" / module.replace(".", "/") for module in modules]
    assert all(place.with_suffix(".py").is_file() or (place / "__init__.py").is_file() for place in places)


def test_search_leads_with_what_one_does(pages: Path) -> None:
    for page in (pages / "how-to").glob("*.md"):
        assert page.name == "index.md" or page.read_text("utf-8").startswith("---\nsearch:\n  boost: "), page
    assert not (pages / "decisions/leases.md").read_text("utf-8").startswith("---")
