# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The reference pages of API and command name everything there is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from eddy.api.http.problems import KINDS
from eddy.api.service.app import routes as api_routes
from eddy.board.port.port import Cause
from eddy.cli.main import app
from eddy.cli.support import output
from eddy.core.errors import EddyError
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.core.submission_options import ITS_OWN, NOT_ITS_FAULT
from eddy.policy.dispatch import POLICIES as DISPATCH
from eddy.policy.place import METHODS
from eddy.policy.price import POLICIES as PRICE
from fastapi import FastAPI

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
API = (REFERENCE / "http-api.md").read_text()
CLI = (REFERENCE / "cli.md").read_text()
WHICH_POLICY = (REFERENCE.parent / "explanations" / "which-policy.md").read_text()


def routes() -> set[str]:
    whole = FastAPI(routes=[*api_routes()])
    return {f"{method.upper()} {path}" for path, methods in whole.openapi()["paths"].items() for method in methods}


def test_the_page_lists_exactly_the_routes_there_are() -> None:
    assert set(re.findall(r"^\| `([A-Z]+ /\S+)` \|", API, re.MULTILINE)) == routes()


@pytest.mark.parametrize("code", sorted(KINDS))
def test_the_page_gives_each_codes_status(code: str) -> None:
    row = next(line for line in API.splitlines() if line.startswith("|") and f"`{code}`" in line)
    assert f"| {KINDS[code].status} |" in row


def test_the_page_names_every_state_and_kind_of_event() -> None:
    missing = [name.value for name in (*JobState, *JobEventKind) if f"`{name.value}`" not in API]
    assert not missing


def test_the_page_names_every_cause_of_a_failure() -> None:
    causes = {cause.value for cause in Cause} - {Cause.NONE.value, Cause.STOPPED.value} | {*ITS_OWN, *NOT_ITS_FAULT}
    assert sorted(cause for cause in causes if f"`{cause}`" not in API) == []


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command that does something, by the words that name it."""
    below = getattr(group, "commands", {})
    if not below:
        yield path
    for name, command in below.items():
        yield from commands(command, *path, name)


def test_the_page_names_every_command_and_exit_code() -> None:
    shown = re.findall(r"^\| (`eddy (?:\\\||[^|])*)\|", CLI, re.MULTILINE) + re.findall(
        r"^`eddy \w+`", CLI, re.MULTILINE
    )
    missing = [
        path
        for path in commands(typer.main.get_command(app), "eddy")
        if not any(
            row.startswith(f"`{' '.join(path[:-1])}") and re.search(rf"(?<![\w-]){path[-1]}(?![\w-])", row)
            for row in shown
        )
    ]
    assert missing == []
    for code in (output.OK, output.FAILED, output.USAGE, output.UNREACHABLE, output.REFUSED, output.BOARD):
        assert f"\n| {code} | " in CLI


def test_the_pages_name_every_code_of_an_error() -> None:
    """Those that reach a user; not those of measurements, whatever else is imported here."""
    measurements = ("eddy.gpu.workloads.base", "eddy.hypervisor.machine.virtual")
    asked, found = [EddyError], set[str]()
    while asked:
        kinds = asked.pop().__subclasses__()
        asked += kinds
        product = [
            kind for kind in kinds if kind.__module__.startswith("eddy.") and kind.__module__ not in measurements
        ]
        found |= {kind.code for kind in product}
    assert len(found) > 30
    assert sorted(code for code in found if f"`{code}`" not in API + CLI) == []


@pytest.mark.parametrize(
    ("heading", "policies"),
    [("Place", METHODS), ("Price", PRICE), ("Dispatch", DISPATCH)],
    ids=["place", "price", "dispatch"],
)
def test_which_policy_has_a_row_for_every_policy(heading: str, policies: Mapping[str, Any]) -> None:
    section = WHICH_POLICY.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [row for row in re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE) if "(function)" not in row]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(getattr(policies, "own", policies)) <= named <= set(policies)
