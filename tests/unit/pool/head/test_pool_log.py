# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A head's log goes to standard error: on standard output it would be in the way of `--json`, and fill a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service import log_lines
from eddy.cli.main import app
from eddy.core.errors import Conflict
from typer.testing import CliRunner

pytest.importorskip("nats")
from eddy.pool.head import head_server

FAILS = """
import structlog
from eddy.api.service import log_lines
log_lines.configure("warning", "text")
try:
    secret = "x" * 100
    1 / 0
except ZeroDivisionError as error:
    structlog.get_logger("eddy.api").error("unhandled", exc_info=error)
"""


def test_what_is_logged_is_short_and_on_standard_error() -> None:
    done = subprocess.run([sys.executable, "-c", FAILS], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "unhandled" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "x" * 100 not in done.stderr, "values of local variables are not told"


def test_a_head_logs_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def refused(_: Any) -> None:
        assert asked, "before anything can go wrong"
        raise Conflict("This far.")

    monkeypatch.setattr(log_lines, "configure", lambda *how: asked.append(how))
    monkeypatch.setattr(head_server, "Head", refused)
    monkeypatch.setenv("EDDY_LOG_FORMAT", "json")
    done = CliRunner().invoke(app, ["pool", "serve", "--data", str(tmp_path)])
    assert "This far." in done.stderr
    assert asked == [("warning", "json")]
