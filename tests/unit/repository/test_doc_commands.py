# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands that the documentation shows exist, with the options it gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from eddy.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
COMMAND = re.compile(r"(?:^|[\s`/])eddy ((?:[a-z-]+ ?)+.*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
PROGRAM = typer.main.get_command(app)


def shown(text: str) -> Iterator[str]:
    """What stands behind `eddy` where a command is shown: in blocks that are indented or fenced, and in backticks."""
    fenced = False
    for line in re.sub(r" ?\\\n\s*", " ", text).splitlines():
        fenced ^= line.startswith("```")
        parts = [line] if fenced or line.startswith("    ") else re.findall(r"`([^`]*)`", line)
        for part in parts:
            found = COMMAND.search(part.split(" # ")[0])
            if found is not None:
                yield found[1]


def unknown(command: str) -> list[str]:
    """Options of a command line that the command it names does not have; nothing where it names none."""
    words = command.split()
    target: Any = PROGRAM
    while words and hasattr(target, "commands"):
        if words[0] not in target.commands:
            return []
        target, words = target.commands[words[0]], words[1:]
    # What follows belongs to another program.
    own = re.split(r"[|;&>]", " ".join(words))[0]
    known = {"--help", *(name for parameter in target.params for name in (*parameter.opts, *parameter.secondary_opts))}
    return [option for option in OPTION.findall(own) if option not in known]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_option_that_is_shown_exists(page: Path) -> None:
    wrong = {command: unknown(command) for command in shown(page.read_text(encoding="utf-8"))}
    assert not {command: options for command, options in wrong.items() if options}


def test_a_wrong_option_is_found() -> None:
    text = "    sudo X=1 /opt/bin/eddy install --profile kv260 \\\n      --profil x\nand `eddy tenant add --key K`.\n"
    commands = list(shown(text))
    assert commands == ["install --profile kv260 --profil x", "tenant add --key K"]
    assert [unknown(command) for command in commands] == [["--profil"], []]
    assert sum(len(list(shown(page.read_text(encoding="utf-8")))) for page in PAGES) > 100
