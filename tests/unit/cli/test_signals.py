# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Signals: where they cut in, where they wait, and what a second one does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from eddy.cli.main import app
from eddy.cli.support.output import errors_in_one_line
from eddy.host import signals
from typer import Exit
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("hearing_sighup")
NUMBERS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_cuts_in_where_it_may(number: signal.Signals) -> None:
    with signals.catch_signals(), pytest.raises(signals.Stopped) as stopped, signals.raise_on_signal():
        signal.raise_signal(number)
    assert stopped.value.number == number


def test_a_signal_waits_for_what_must_be_whole() -> None:
    done = []
    with signals.catch_signals():
        signal.raise_signal(signal.SIGTERM)
        done.append("whole")
        with pytest.raises(signals.Stopped), signals.raise_on_signal():
            done.append("never")
        with pytest.raises(signals.Stopped):
            signals.check()
    assert done == ["whole"]


def test_each_signal_calls_and_one_that_came_before_calls_at_once() -> None:
    calls = []
    with signals.catch_signals():
        signal.raise_signal(signal.SIGINT)
        with signals.call_on_signal(lambda: calls.append("end")):
            assert calls == ["end"]
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert calls == ["end", "end"]


def test_a_reload_that_comes_while_a_server_starts_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def start(*_: object) -> None:
        signal.raise_signal(signal.SIGHUP)
        signals.check()
        calls.append("started")

    monkeypatch.setattr("eddy.cli.boards.serve._run", start)
    settings = tmp_path / "eddy.yaml"
    settings.write_text("page_size: 7\n")
    done = CliRunner().invoke(app, ["serve", "--board", "model", "--config", str(settings)])
    assert (done.exit_code, calls) == (0, ["started"]), done.output
    with signals.catch_signals(), signals.call_on_reload(lambda: calls.append("outer")):
        with signals.call_on_reload(lambda: calls.append("inner")):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
    assert calls == ["started", "inner", "outer"]


def test_the_handlers_before_come_back() -> None:
    before = [signal.getsignal(number) for number in NUMBERS]
    with signals.catch_signals(), signals.catch_signals():
        assert [signal.getsignal(number) for number in NUMBERS] != before
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_other_threads_are_left_alone() -> None:
    seen = []

    def run() -> None:
        with signals.catch_signals(), signals.raise_on_signal(), signals.call_on_signal(lambda: seen.append("called")):
            signals.check()
            seen.append("ran")

    with signals.catch_signals():
        signal.raise_signal(signal.SIGTERM)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert seen == ["ran"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_command_that_was_stopped_early_says_so_by_its_exit_code(number: signal.Signals, code: int) -> None:
    with pytest.raises(Exit) as ended, signals.catch_signals(), errors_in_one_line(), signals.raise_on_signal():
        signal.raise_signal(number)
    assert ended.value.exit_code == code


@pytest.mark.parametrize("pause_s", [0.1, 0.25, 0.4])
def test_a_key_press_during_the_first_imports_leaves_no_traceback(pause_s: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print('up', flush=True)\nfrom eddy.__main__ import main\nmain()", "serve", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(pause_s)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=180)
    assert "Traceback" not in said
    assert process.returncode in (0, 1, 130, -signal.SIGINT)
