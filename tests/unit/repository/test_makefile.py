# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the Makefile promises it can make has a rule, and what has a rule is promised and explained."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
PHONY = {name for line in re.findall(r"^\.PHONY: (.*)$", TEXT, re.M) for name in line.split()}
RULES = dict(re.findall(r"^([a-z][a-z-]*):(?!=)(.*)$", TEXT, re.M))


def test_every_phony_target_has_a_rule_and_every_rule_is_phony() -> None:
    assert set(RULES) == PHONY
    assert PHONY


def test_help_says_what_each_does() -> None:
    assert [name for name, rest in RULES.items() if " ## " not in rest] == []


def test_every_rule_does_something() -> None:
    for name in RULES:
        recipe = re.search(rf"^{name}:(?!=).*\n((?:\t.*\n?)*)", TEXT, re.M)
        assert recipe is not None
        assert recipe[1].strip(), f"make {name} does nothing"


def test_the_documentation_names_targets_that_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    named = {
        (page.name, name) for page in pages for name in re.findall(r"`make ([a-z][a-z-]*)", page.read_text("utf-8"))
    }
    assert named
    assert [each for each in sorted(named) if each[1] not in RULES] == []


def test_a_target_of_another_folder_exists_there() -> None:
    """As `make -C hw/vivado kv260`: a rule, or a board, which is a rule by its name."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    named = {
        found for page in pages for found in re.findall(r"`make -C ([a-z/]+) ([a-z0-9-]+)", page.read_text("utf-8"))
    }
    assert named
    for folder, target in sorted(named):
        text = (ROOT / folder / "Makefile").read_text(encoding="utf-8")
        listed = re.findall(rf"^(?:[A-Z]+ *:?=.*|\.PHONY:.*|[^\t#]*:.*)\b{target}\b", text, re.M)
        assert listed, f"make -C {folder} {target}"
