# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every extra that one may install is on the page that says what there is, in `all`, and has its contents listed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
from packages import SHIPPED_WITH  # noqa: E402 - of the folder of tools

DEVELOPING = {"module", "dev", "pages", "site", "release"}
"""Extras to develop with."""


def extras_of_the_project() -> dict[str, str]:
    """What each begins with, as it is written."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    return dict(re.findall(r"^(\w+) = \[(.*)$", table, re.MULTILINE))


def test_every_extra_is_on_the_page_in_all_and_listed() -> None:
    extras = extras_of_the_project()
    used = set(extras) - DEVELOPING
    (everything,) = re.findall(r"eddy-fpga\[([\w,]+)\]", extras["all"])
    assert {*everything.split(",")} == used - {"all"}
    assert {*SHIPPED_WITH} == {"", *used}
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)} == used | {"module", "dev"}


def test_every_extra_that_a_page_installs_is_one() -> None:
    extras = extras_of_the_project()
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for named in re.findall(r"eddy[-_]fpga(?:-[\w.-]+\.whl)?\[([\w,]+)\]", page.read_text(encoding="utf-8")):
            assert {*named.split(",")} <= set(extras), page
