# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page of faults names causes, metrics and tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from eddy.board.port.port import Cause
from eddy.core.faults import OF_CAUSE, Fault, fault_from_cause
from eddy.store.disk.files import DamagedFile

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/reference/faults.md"
ROWS = [
    [cell.strip() for cell in line.strip("|\n").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| fault ")
]


def test_the_page_has_what_was_promised() -> None:
    named = {row[0] for row in ROWS}
    promised = (
        "hung module",
        "failed load",
        "firewall trip",
        "full disk",
        "slow client",
        "broken upload",
        "clock jump",
    )
    assert {*promised, "board that goes away"} <= named
    assert all(len(row) == 5 and all(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_cause_and_the_test_of_a_fault_are_there(row: list[str]) -> None:
    cause, test = row[2].strip("`"), row[4].strip("`")
    assert cause == "–" or cause in {DamagedFile.code, *(each.value for each in Cause)}
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert name in found


@pytest.mark.anyio
async def test_the_metrics_of_faults_are_there(server: Any) -> None:
    job = await server.submit()
    server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), result=bytes(6))
    async with server.client("operator") as client:
        said = (await client.get("/metrics")).text
    there = set(re.findall(r"^# TYPE (\S+)", said, re.M))
    codes = [row[3].split("`")[1] for row in ROWS]
    assert sorted(codes) == sorted(fault.value for fault in Fault)
    for row in ROWS:
        name = row[3].split("`")[3]
        assert name in there or f"{name}_total" in there, name
    for code in codes:
        assert f'\neddy_faults_total{{fault="{code}"}} 0.0' in said


def test_causes_that_are_a_fault_of_their_own_are_causes_of_boards() -> None:
    assert set(OF_CAUSE) <= {cause.value for cause in Cause}
    assert fault_from_cause("barrier-deadlock") is Fault.MODULE_FAULT
