# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The types of the client's answers are those of the OpenAPI page, and both clients name them for all they ask."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from eddy.client import AsyncClient, Client, answers
from eddy.client.calls.kernel import AsyncKernel, Kernel

ROOT = Path(__file__).parents[3]
ASKED = re.compile(r'read_answer\(\s*answers\.(\w+),\s*"([A-Z]+)",\s*f?"(/[^"?]*)')
PLACE = re.compile(r"{[^{}]*(?:\([^()]*\))?[^{}]*}")
ANSWERED = {
    "/v1/jobs": "JobPage",
    "/v1/apps": "AppList",
    "/v1/apps/invert": "App",
    "/v1/slots": "SlotList",
    "/v1/blobs": "BlobPage",
    "/v1/keys": "KeyList",
    "/v1/quota": "QuotaAnswer",
    "/v1/usage": "UsageReport",
    "/v1/overview": "Overview",
    "/v1/session": "SessionAnswer",
}


@pytest.fixture
def page(server: Any) -> dict[str, Any]:
    found: dict[str, Any] = server.app.openapi()
    return found


def test_the_committed_types_are_those_of_the_page(page: dict[str, Any]) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import answer_types
    finally:
        sys.path.pop(0)
    assert answer_types.TARGET.read_text(encoding="utf-8") == answer_types.text(page), "run tools/answer_types.py"
    page["components"]["schemas"]["Job"]["properties"]["batch"]["type"] = "string"
    assert answer_types.TARGET.read_text(encoding="utf-8") != answer_types.text(page)


def test_the_tool_finds_them_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "tools/answer_types.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_what_a_client_takes_an_answer_for_is_what_the_page_says_of_that_address(page: dict[str, Any]) -> None:
    answered: dict[tuple[str, str], set[str]] = {}
    for path, by in page["paths"].items():
        for method, operation in by.items():
            for status, answer in operation["responses"].items():
                shown = answer.get("content", {}).get("application/json")
                if status < "300" and shown:
                    name = shown["schema"]["$ref"].rpartition("/")[2]
                    answered.setdefault((method.upper(), PLACE.sub("{}", path)), set()).add(name)
    asked = [
        (file.name, *found)
        for file in (ROOT / "runtime/eddy/client").rglob("*.py")
        for found in ASKED.findall(file.read_text(encoding="utf-8"))
    ]
    assert len(asked) > 30
    wrong = [each for each in asked if each[1] not in answered.get((each[2], PLACE.sub("{}", each[3])), set())]
    assert wrong == []


@pytest.mark.parametrize("kind", [Client, AsyncClient, Kernel, AsyncKernel])
def test_no_call_answers_a_dict_of_anything(kind: type) -> None:
    told = {
        name: str(inspect.signature(call).return_annotation)
        for name, call in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "body"
    }
    assert len(told) >= 2
    assert {name: each for name, each in told.items() if "dict[str, Any]" in each} == {}


@pytest.mark.anyio
async def test_what_is_answered_has_the_fields_of_its_type(server: Any) -> None:
    job = await server.submit()
    async with server.client() as ada:
        here = f"/v1/jobs/{job['id']}"
        for path, name in {**ANSWERED, here: "Job", f"{here}/explain": "Explained"}.items():
            kind, answer = getattr(answers, name), (await ada.get(path)).json()
            fields = set(typing.get_type_hints(kind, vars(answers)))
            assert kind.__required_keys__ <= set(answer) <= fields, path
