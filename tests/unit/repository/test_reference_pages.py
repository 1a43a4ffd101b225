"""The reference pages of API and command name everything there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from eddy.api.http.problems import KINDS
from eddy.api.service.app import routers
from eddy.cli.main import app
from eddy.cli.support import output
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.policy.price import POLICIES
from fastapi import FastAPI

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
API = (REFERENCE / "http-api.md").read_text()
CLI = (REFERENCE / "cli.md").read_text()
WHICH_POLICY = (REFERENCE.parent / "explanations" / "which-policy.md").read_text()


def routes() -> set[str]:
    whole = FastAPI()
    for router in routers():
        whole.include_router(router)
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


def test_the_page_names_every_command_and_exit_code() -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    assert not [name for name in commands if f"`eddy {name}" not in CLI]
    for code in (output.OK, output.FAILED, output.USAGE, output.UNREACHABLE, output.REFUSED, output.BOARD):
        assert f"\n| {code} | " in CLI


def test_which_policy_has_a_row_for_every_price_policy() -> None:
    price = WHICH_POLICY.split("\n## Price\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", price, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(POLICIES.own) <= named <= set(POLICIES)
