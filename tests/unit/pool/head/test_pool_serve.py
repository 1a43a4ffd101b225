# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy pool serve` as a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.host import interpreter_switching, memory_tuning
from typer.testing import CliRunner


def test_a_head_does_about_memory_and_turns_what_a_boards_server_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Few heaps of the C library from before its threads start; the rest once it serves."""
    done: list[str] = []

    class Watched:
        url = ""

        def __init__(self, *_: object) -> None:
            done.append("made")

        def run(self, ready: Callable[[], None]) -> None:
            done.append("runs")
            ready()

        def stop(self) -> None:
            pass

    monkeypatch.setattr("eddy.pool.head.head_server.Head", Watched)
    monkeypatch.setattr(memory_tuning, "limit_heaps", lambda: done.append("heaps"))
    monkeypatch.setattr(memory_tuning, "freeze_objects", lambda: done.append("frozen"))
    monkeypatch.setattr(interpreter_switching, "set_switch_interval", lambda: done.append("turns"))
    told = CliRunner().invoke(app, ["pool", "serve", "--data", str(tmp_path), "--json"])
    assert told.exit_code == 0, told.output
    assert done == ["heaps", "made", "runs", "frozen", "turns"]
