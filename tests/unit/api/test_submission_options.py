# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A new field of a submission is declared once: in a copy of the sources it arrives everywhere; few files change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from eddy.client.calls.submission_fields import submission_fields
from eddy.core.records import OPTIONS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference" / "http-api.md").read_text(encoding="utf-8")
NEW = """    colour: str = option(
        str, "grey", "Colour of its entry in lists.", choices=("grey", "red"), flag="--colour"
    )

    @property
    def ends_late("""
FOUND = """
import asyncio, dataclasses, json, sys
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1] + "/tools")
import answer_types
from typer.testing import CliRunner
from eddy.api.answers.rendering import job_answer
from eddy.api.request_bodies.jobs import admit
from eddy.api.request_bodies.jobs import JobSubmission
from eddy.api.request_bodies.kinds import VIEWS
from eddy.cli.main import app
from eddy.client.calls.submission_fields import submission_fields
from eddy.core.jobs import JobState
from eddy.core.records import JobRecord
from eddy.pool.routes import submission as submitting
from eddy.pool.agent.local_board import PASSED_ON
from eddy.pool.records.records import PoolJob
from eddy.pool.routes.rendering import render_job
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.store import Store
from eddy.store.db.rows import dump_record, dump_request, load_record, load_request

body = {"application": "invert", **submission_fields({"colour": "red"})}
job = JobSubmission.model_validate(body)
request = admit(job, PoolTenant("ada"), VIEWS)
kept = submitting._kept(job, request)
record = JobRecord(1, "ada", "invert", 1, 1, JobState.QUEUED, 0.0, 0.0, asked=request.asked)
numbers = Store(":memory:").numbers
schemas = answer_types.page()["components"]["schemas"]
answer_types.TARGET.write_text(answer_types.text(answer_types.page()))
command = CliRunner().invoke(app, ["submit", "--help"], terminal_width=200)
print(json.dumps({
    "client": body["colour"],
    "schema of the body": schemas["JobSubmission"]["properties"]["colour"]["enum"],
    "schema of the answer": schemas["Job"]["properties"]["colour"]["enum"],
    "array": "colour" in schemas["JobSubmission"]["properties"],
    "request": request.asked.colour,
    "store, request": load_request(dump_request(request)).asked.colour,
    "store, record": load_record(dump_record(record)).asked.colour,
    "answer": job_answer(record, numbers, {}).model_dump()["colour"],
    "command": "--colour" in command.output,
    "pool, record": kept["colour"],
    "pool, answer": render_job(PoolJob(1, "ada", kept, 0.0), lambda number: number).model_dump()["colour"],
    "pool, board": "colour" in PASSED_ON,
}))
"""


def test_a_new_field_is_declared_once_and_arrives_everywhere(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "studies")
    for part in ("runtime", "drivers"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignored)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "answer_types.py", tmp_path / "tools")
    declared = tmp_path / "runtime" / "eddy" / "core" / "submission_options.py"
    text = declared.read_text(encoding="utf-8")
    assert text.count("    @property\n    def ends_late(") == 1
    declared.write_text(text.replace("    @property\n    def ends_late(", NEW), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'runtime'}{os.pathsep}{tmp_path / 'drivers'}"}
    done = subprocess.run(
        [sys.executable, "-c", FOUND, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "client": "red",
        "schema of the body": ["grey", "red"],
        "schema of the answer": ["grey", "red"],
        "array": True,
        "request": "red",
        "store, request": "red",
        "store, record": "red",
        "answer": "red",
        "command": True,
        "pool, record": "red",
        "pool, answer": "red",
        "pool, board": True,
    }
    changed = [
        path.relative_to(tmp_path).as_posix()
        for path in sorted(tmp_path.rglob("*.py"))
        if path.read_bytes() != (ROOT / path.relative_to(tmp_path)).read_bytes()
    ]
    # Beside these, a row of docs/reference/http-api.md, which the test below asks for, and whatever the field is for.
    assert changed == ["runtime/eddy/client/answers.py", "runtime/eddy/core/submission_options.py"]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_plain_field_is_in_the_reference(name: str) -> None:
    assert f"| `{name}` | " in PAGE


def test_a_client_is_told_of_a_field_that_there_is_not() -> None:
    assert submission_fields({"priority": 3, "deadline_s": None}) == {"priority": 3}
    with pytest.raises(TypeError, match=r"no option 'colour'.*min_progress"):
        submission_fields({"colour": "red"})
