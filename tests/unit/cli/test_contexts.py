# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which server a command talks to, and with which key: contexts, and lists of jobs."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from eddy.api.request_bodies import examples
from eddy.cli.main import app
from eddy.cli.support import contexts
from eddy.cli.support.job_filters import labels_of, matches_filters, moment
from eddy.cli.support.output import format_age
from eddy.cli.tenant import job_list
from eddy.cli.tenant.job_list import COLUMNS
from eddy.core.errors import InvalidRequest
from eddy.settings import SETTINGS
from typer.testing import CliRunner

LAB, HOME = contexts.KeptServer("http://lab:8000", "eddy_lab"), contexts.KeptServer("http://home:8000", "eddy_home")


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "deep" / "config.json"
    monkeypatch.setenv(contexts.ENVIRONMENT, str(found))
    for name in ("EDDY_URL", "EDDY_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EDDY_DATA", str(tmp_path / "data"))
    return found


def run(*arguments: str, **environment: str) -> Any:
    typed = environment.pop("INPUT", None)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", **environment}, input=typed)


def test_the_file_is_its_owners_alone_and_what_others_can_read_is_refused(file: Path) -> None:
    assert contexts.load() == contexts.Contexts()
    kept = contexts.Contexts("lab", {"lab": LAB, "home": HOME})
    assert contexts.save(kept) == file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert contexts.load() == kept
    file.chmod(0o644)
    with pytest.raises(InvalidRequest, match=f"chmod 600 {file}"):
        contexts.load()
    assert run("jobs").exit_code == 2
    file.chmod(0o600)
    for text in ("", "[]", '{"current": "x"}', '{"current": "", "contexts": {"a": 1}}'):
        file.write_text(text)
        with pytest.raises(InvalidRequest, match="log in again"):
            contexts.load()


class Asked:
    """Stands for the client: notes where it would go."""

    seen: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, url: str, key: str) -> None:
        self.seen.append((url, key))
        raise InvalidRequest("enough seen")


@pytest.mark.parametrize(
    ("arguments", "environment", "url", "key"),
    [
        ((), {}, LAB.url, LAB.key),
        (("--url", HOME.url), {}, HOME.url, HOME.key),
        (("--url", f"{HOME.url}/"), {}, f"{HOME.url}/", HOME.key),
        (("--url", "http://elsewhere:8000"), {}, "http://elsewhere:8000", ""),
        (("--url", "http://127.0.0.1:8000"), {}, "http://127.0.0.1:8000", ""),
        ((), {"EDDY_URL": HOME.url}, HOME.url, HOME.key),
        (("--key", "k"), {}, LAB.url, "k"),
        ((), {"EDDY_KEY": "k", "EDDY_URL": "http://elsewhere:8000"}, "http://elsewhere:8000", "k"),
    ],
)
def test_flags_and_environment_come_first_and_a_key_goes_to_its_own_server_only(
    arguments: tuple[str, ...], environment: dict[str, str], url: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import eddy.client

    contexts.save(contexts.Contexts("lab", {"lab": LAB, "home": HOME}))
    monkeypatch.setattr(eddy.client, "Client", Asked)
    monkeypatch.setattr(Asked, "seen", [])
    run("jobs", *arguments, **environment)
    assert Asked.seen == [(url, key)]


def test_contexts_are_switched_and_forgotten() -> None:
    contexts.save(contexts.Contexts("lab", {"lab": LAB, "home": HOME}))
    shown = json.loads(run("context", "--json").stdout)
    assert shown["current"] == "lab"
    assert "eddy_lab" not in str(shown)
    assert run("context", "home").exit_code == 0
    assert contexts.load().current == "home"
    refused = run("context", "nowhere")
    assert refused.exit_code == 2
    assert "home, lab" in refused.stderr
    assert run("logout").exit_code == 0
    assert contexts.load() == contexts.Contexts("", {"lab": LAB})
    assert run("logout").exit_code == 2


def test_a_login_without_a_server_keeps_nothing(file: Path) -> None:
    done = run("login", "--url", "http://127.0.0.1:9", EDDY_HTTP_RETRIES="0", INPUT="eddy_key\n")
    assert done.exit_code == 3
    assert not file.exists()
    assert run("login", INPUT="\n").exit_code == 2


def test_the_version_and_completion() -> None:
    assert run("--version").stdout.startswith("eddy ")
    words = {"_EDDY_COMPLETE": "complete_bash", "COMP_WORDS": "eddy dr", "COMP_CWORD": "1"}
    script = "from eddy.cli.main import app; app(prog_name='eddy')"
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, **words}, capture_output=True, text=True)
    assert done.stdout.split() == ["drain"]


JOB = dict(examples.JOB)
NOW = JOB["submitted_unix_s"] + 90.5


def test_columns_and_formats(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: NOW)
    job_list.show_list([JOB], list(COLUMNS), "csv")
    head, row = capsys.readouterr().out.splitlines()
    assert head.split(",") == list(COLUMNS)
    values = dict(zip(head.split(","), row.split(","), strict=True))
    assert (values["id"], values["tenant"], values["running"]) == ("17", "ada", "0.0009")
    assert float(values["age"]) == 90.5
    job_list.show_list([JOB, JOB], ["id", "error"], "json")
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"id": 17, "error": ""}] * 2
    job_list.show_list([JOB], job_list.default_columns([JOB, {**JOB, "tenant": "grace"}], 80), "table")
    table = capsys.readouterr().out
    assert max(map(len, table.splitlines())) <= 80
    assert "ada" in table
    assert "90 s" in table
    assert "…" not in table
    assert "tenant" not in job_list.default_columns([JOB])


def test_a_list_leaves_out_what_a_narrow_terminal_would_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: NOW)
    wide = {**JOB, "id": 123_456_789_012, "application": "image_compression", "state": "reconfiguring"}
    several = [wide, {**wide, "tenant": "observatory"}]
    for jobs in ([wide], several):
        shown = job_list.default_columns(jobs, 80)
        job_list.show_list(jobs, shown, "table")
        table = capsys.readouterr().out
        assert max(map(len, table.splitlines())) <= 80
        assert "…" not in table
        assert {"id", "application", "state", "age"} <= set(shown)
    assert job_list.default_columns([wide]) == job_list.default_columns([wide], 200) == list(job_list.USUAL)
    assert run("jobs", "--columns", "id,colour").exit_code == 2
    assert run("jobs", "--format", "xml").exit_code == 2


@pytest.mark.parametrize(
    ("ago_s", "text"), [(-5, "0 s"), (119.9, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (2e6, "23 d")]
)
def test_ages(ago_s: float, text: str) -> None:
    assert format_age(1e9 - ago_s, 1e9) == text


class Changes:
    """A server whose job goes on."""

    def __init__(self) -> None:
        self.states = ["queued", "running", "running", "succeeded"]

    def events(self) -> Any:
        from eddy.client.transport.stream import Event

        for number, kind in enumerate(("submitted", "state", "wait", "state", "state")):
            yield Event(number, kind, {"job": 17})

    def show(self, number: int) -> dict[str, Any]:
        return {**JOB, "id": number, "state": self.states.pop(0)}


def test_a_watched_list_has_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    client: Any = Changes()
    job_list.follow_list(client, [{**JOB, "state": "queued"}], ["id", "state"], "csv", None)
    assert capsys.readouterr().out.splitlines() == ["17,running", "17,succeeded"]
    client = Changes()
    job_list.follow_list(client, [], ["state"], "json", "succeeded")
    assert capsys.readouterr().out.splitlines() == ['{"state": "succeeded"}']


class Restored(Changes):
    """A server that is restored from a backup while somebody watches: what happened meanwhile is told by no event."""

    def events(self) -> Any:
        from eddy.client.transport.stream import RESTARTED, Event

        yield Event(3, "state", {"job": 17})
        yield Event(-1, RESTARTED, {"detail": "There is no event 3."})
        yield Event(9, "state", {"job": 19})

    def show(self, number: int) -> dict[str, Any]:
        return {**JOB, "id": number, "state": "running"}

    def jobs(self, limit: int) -> list[dict[str, Any]]:
        return [{**JOB, "id": number, "state": state} for number, state in ((18, "failed"), (17, "queued"))]


def test_a_watched_list_shows_what_there_is_where_the_servers_history_begins_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client: Any = Restored()
    job_list.follow_list(client, [], ["id", "state"], "csv", None)
    assert capsys.readouterr().out.splitlines() == ["17,running", "17,queued", "18,failed", "19,running"]


def test_a_watched_list_has_only_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    labels = dict(JOB["labels"])
    for wanted, lines in (
        (("ada", JOB["application"], None, labels), 3),
        (("grace", None, None, {}), 0),
        ((None, "other", None, {}), 0),
        ((None, None, "saxpy", {}), 0),
        ((None, None, None, {**labels, "run": "8"}), 0),
    ):
        client: Any = Changes()
        job_list.follow_list(client, [], ["labels"], "csv", None, matches_filters(*wanted))
        assert capsys.readouterr().out.splitlines() == ["series=moon run=7"] * lines


def test_times_of_filters_are_so_long_ago_or_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: 1e6)
        ago_s = [1e6 - (moment(text) or 0.0) for text in ("90s", "1.5h", "2d", "1w")]
    assert ago_s == [90, 5400, 172800, 604800]
    assert moment("2026-11-22T18:00+00:00") == 1795370400
    assert moment(None) is None
    for text in ("soon", "5", "-2h", "2026-13-01"):
        assert run("jobs", "--since", text).exit_code == 2
    assert labels_of(["run=7", "what=a=b"]) == {"run": "7", "what": "a=b"}
    assert run("jobs", "--label", "run").exit_code == 2


def test_the_variable_that_names_the_file_is_not_one_of_a_setting() -> None:
    assert contexts.ENVIRONMENT not in {setting.environment for setting in SETTINGS.values()}
