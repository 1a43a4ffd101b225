# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is wrong on this side of the network: one line, exit code 2, never a traceback, and nothing is sent."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from unittest import mock

import httpx
import numpy as np
import pytest
from eddy.board.images.signing import main as signing
from eddy.cli.main import app
from eddy.cli.support import output
from eddy.cli.support.local import key_for
from eddy.cli.tenant.events import in_order
from eddy.cli.tenant.jobs import count_noun
from eddy.cli.tenant.kernel import argument
from eddy.client import Client, Job, answers
from eddy.client.transport.stream import Event
from eddy.core.errors import InvalidRequest
from eddy.gpu.launches.executor import Fault
from eddy.gpu.launches.launch import describe
from eddy.host import presence
from typer.testing import CliRunner

NOBODY = {"EDDY_URL": "http://127.0.0.1:9", "EDDY_HTTP_RETRIES": "0", "EDDY_KEY": "k"}


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env={**NOBODY, **environment})


def eddy(*arguments: str, **redirected: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eddy.cli.main", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=180, **redirected)


def one_line(stderr: str) -> str:
    (line,) = stderr.strip().splitlines()
    assert line.startswith("eddy: ")
    return line


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://",
        "ftp://eddy",
        "http://eddy:port",
        "http://[::1",
        "http://e ddy",
        "http://a?b",
        "://x",
        "ключ://x",
        "http://127.0.0.1:99999",
    ],
)
def test_what_is_no_url_is_said(url: str) -> None:
    with pytest.raises(InvalidRequest, match="no address of a server"):
        Client(url, "k")
    if url:
        refused = run("jobs", "--url", url)
        assert refused.exit_code == output.USAGE
        assert "no address of a server" in one_line(refused.stderr)


def test_an_address_with_the_version_behind_it_is_answered_with_the_one_to_give() -> None:
    refused = run("jobs", "--url", "http://127.0.0.1:8000/v1/")
    assert refused.exit_code == output.USAGE
    assert one_line(refused.stderr).endswith("give http://127.0.0.1:8000.")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("localhost:1/", "http://localhost:1"),
        ("[::1]:2", "http://[::1]:2"),
    ],
)
def test_a_url_may_leave_out_its_scheme(given: str, meant: str) -> None:
    with Client(given, "k") as client:
        assert client.transport.url == meant


@pytest.mark.parametrize("key", ["ключ", "a b", "a\nb", "\ud800", "é"])
def test_a_key_no_header_can_carry_is_said(key: str) -> None:
    with pytest.raises(InvalidRequest, match="key"):
        Client("http://eddy", key)


@pytest.mark.parametrize("key", ["ключ", "", "a b", "k" * 129, "a\r\nX: y", "\ud800"])
def test_an_idempotency_key_that_cannot_be_sent_is_said(key: str) -> None:
    app_of = {"name": "a", "buffers": []}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=app_of))
    with Client("http://eddy", "k", http=transport) as client:
        with pytest.raises(InvalidRequest, match="idempotency key"):
            client.submit("a", idempotency_key=key)
        with pytest.raises(InvalidRequest, match="idempotency key"):
            client.kernel("kernel void k() {}", "k").launch(1, idempotency_key=key)


def test_doctor_says_what_is_wrong_with_the_url() -> None:
    done = run("doctor", "--url", "ftp://eddy", "--profile", "tiny", "--port", "0")
    assert (done.exit_code, "no address of a server" in done.stdout) == (output.FAILED, True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan")])
def test_a_number_json_has_no_words_for_is_said(value: float) -> None:
    app_of = {"name": "a", "buffers": []}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=app_of))
    with Client("http://eddy", "k", http=transport) as client:
        with pytest.raises(InvalidRequest, match="finite"):
            client.submit("a", deadline_s=value)
        with pytest.raises(InvalidRequest, match="finite"):
            client.kernel("kernel void k(float a) {}", "k").launch(1, value)


def test_a_port_beyond_ports_is_said() -> None:
    done = eddy("serve", "--board", "model", "--port", "99999", "--data", "/nowhere", stdout=subprocess.DEVNULL)
    assert (done.returncode, "at most 65,535" in " ".join(done.stderr.split())) == (output.USAGE, True)


def test_an_environment_variable_of_the_wrong_type_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_HTTP_TIMEOUT_S", "soon")
    with pytest.raises(InvalidRequest, match="EDDY_HTTP_TIMEOUT_S"):
        Client("http://eddy", "k")
    refused = run("jobs", EDDY_HTTP_TIMEOUT_S="soon")
    assert (refused.exit_code, "EDDY_HTTP_TIMEOUT_S" in one_line(refused.stderr)) == (2, True)


def test_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_bytes(b"kernel void k() { /* \xff\x00 */ }")
    (tmp_path / "empty.npy").touch()
    for arguments, says in (
        (["kernel", str(tmp_path / "k.cl"), "-g", "1"], "UTF-8"),
        (["kernel", __file__, "-g", "1", "-k", "x", "-a", str(tmp_path / "empty.npy")], "--arg 0"),
        (["kernel", __file__, "-g", "1", "-k", "x", "-a", "zeros:f8:99999999999"], "--arg 0"),
    ):
        refused = run(*arguments)
        assert refused.exit_code == output.USAGE, refused.output
        assert says in one_line(refused.stderr)


def answering(document: dict[str, Any]) -> Callable[..., Client]:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=document))
    return lambda url, key: Client("http://eddy", "k", http=transport)


@pytest.mark.parametrize("where", ["/dev/full", "/proc/nothing", "file"])
def test_an_out_folder_that_cannot_be_is_said(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eddy.cli.support.local.connect", answering({"id": 1, "state": "succeeded"}))
    monkeypatch.setattr(Client, "outputs", lambda *_: {"result": np.zeros(3)})
    refused = run("result", "1", "--out", where)
    assert refused.exit_code == output.USAGE
    if Path(where).exists():
        assert f"{where} is a file; name a folder." in " ".join(refused.stderr.replace("│", " ").split())
    else:
        assert where in one_line(refused.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("arguments", [("--help",), ("doctor", "--json"), ("gpu", "--help"), ("jobs", "--help")])
def test_a_full_standard_output_is_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = eddy(*arguments, stdout=full)
    assert done.returncode == output.USAGE, done.stderr
    assert "No space left" in one_line(done.stderr)


def test_a_reader_that_goes_away_is_nothing_to_speak_of() -> None:
    read, write = os.pipe()
    os.close(read)
    done = eddy("--help", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (output.FAILED, "")


@pytest.mark.parametrize(
    "command", [["keygen", "nowhere/key"], ["sign", "nowhere/key", "x"], ["verify", "nowhere", "x"]]
)
def test_keys_that_are_nowhere_are_said(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert signing(command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")


def test_a_key_pair_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "key.pub").mkdir()
    assert signing(["keygen", str(tmp_path / "key")]) == 1
    assert not (tmp_path / "key").exists()


def job(states: list[tuple[str, int]]) -> tuple[Job, list[tuple[str, int]]]:
    """A job that goes through states at each look, one event a look."""
    shown = iter([*states, states[-1]])
    current = {"id": 1, "application": "a", "error": None}

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            events = "".join(f'id: {n}\nevent: state\ndata: {{"at_s": 0}}\n\n' for n in range(1, len(states) + 1))
            return httpx.Response(200, text=f"{events}event: end\ndata: {{}}\n\n")
        state, done = next(shown)
        return httpx.Response(200, json={**current, "state": state, "progress": {"done": done, "total": 2}})

    client = Client("http://eddy", "k", http=httpx.MockTransport(handler))
    return Job(client, cast(answers.Job, {**current, "state": "queued"})), []


def noting(seen: list[tuple[str, int]]) -> Callable[[Job], None]:
    return lambda job: seen.append((job.state, job.data["progress"]["done"]))


def test_waiting_tells_each_change_once() -> None:
    states = [
        ("queued", 0),
        ("queued", 0),
        ("running", 0),
        ("running", 1),
        ("running", 1),
        ("succeeded", 2),
        ("succeeded", 2),
    ]
    for timeout_s in (None, 60.0):
        handle, seen = job(states)
        handle.wait(timeout_s, on_change=noting(seen))
        assert seen == list(dict.fromkeys(seen)), "no state is told twice"
        assert seen[-1] == ("succeeded", 2)
        assert ("running", 1) in seen


def test_following_prints_where_results_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from eddy.client import Event

    document = {
        **{"id": 1, "application": "a", "tenant": "t", "priority": 1, "state": "succeeded", "error": None},
        **{"progress": {"done": 1, "total": 1}, "waiting": {}, "waiting_s": 0, "reconfiguring_s": 0, "running_s": 0},
        **{"reconfigurations": 0, "reuses": 0, "preemptions": 0, "response_s": 0, "kernel": None, "outputs": {}},
    }
    monkeypatch.setattr("eddy.cli.tenant.jobs.connect", answering(document))
    monkeypatch.setattr(Job, "events", lambda self: iter([Event(1, "state", {"at_s": 0.5, "state": "running"})]))
    plain = run("job", "1", "--follow")
    assert "0.500000 s  state" in plain.stdout
    assert plain.stderr == ""
    as_json = run("job", "1", "--follow", "--json")
    assert as_json.stdout.startswith("{")
    assert "0.500000 s  state" in as_json.stderr


def test_the_operators_key_is_found_only_while_its_server_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDDY_DATA", str(tmp_path))
    (tmp_path / "operator.key").write_text("secret\n")
    here = "http://127.0.0.1:8000"
    assert key_for(here, "") == ""
    with contextlib.ExitStack() as serving:
        serving.enter_context(presence.announce_server(tmp_path, here))
        assert (key_for(here, ""), key_for("localhost:8000", "")) == ("secret", "secret")
        assert key_for(here, "mine") == "mine"
        for other in ("http://127.0.0.1:8001", "http://eddy:8000", "http://127.0.0.1.evil:8000", "http://[::1", ""):
            assert key_for(other, "") == ""
        left = (tmp_path / presence.FILE).read_text()
    assert key_for(here, "") == ""
    (tmp_path / presence.FILE).write_text(left)  # as after SIGKILL
    assert key_for(here, "") == ""
    for damaged in ("", "[]", "{}", "\xff"):
        (tmp_path / presence.FILE).write_text(damaged)
        assert key_for(here, "") == ""


@pytest.mark.parametrize("option", ["--data", "--host", "--profile", "--policy"])
def test_an_empty_value_is_not_taken_for_another_one(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    served = run("serve", "--board", "model", "--port", "0", option, "")
    assert served.exit_code == 2
    assert "is empty" in served.stderr + served.output
    assert not list(tmp_path.iterdir())


def test_an_empty_boardd_is_none() -> None:
    said = run("serve", "--policy", "nosuch", "--boardd", "")
    assert "There is no policy 'nosuch'" in said.stderr
    assert "is empty" not in said.stderr


@pytest.mark.parametrize("text", ["a: b: c\nd: {", "[" * 100_000, "\tx"], ids=["colon", "deep", "tab"])
def test_a_file_that_is_no_yaml_is_said_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(text)
    said = run("saturate", str(tmp_path / "app.yaml"))
    assert said.exit_code == 2
    assert "is not YAML" in one_line(said.stderr)


def test_bounds_the_message_words_are_not_said_again() -> None:
    assert output.allowed_words(InvalidRequest("id: must be lower case", allowed={"pattern": "^[a-z]+$"})) == ""
    assert output.allowed_words(InvalidRequest("at most 3", allowed={"max_length": 3})) == ""
    assert output.allowed_words(InvalidRequest("too long", allowed={"max_length": 3})) == " (allowed: 3)"


@pytest.mark.parametrize("command", ["simulate --policy fcfs --out x --events {0} --apps {0}", "place {0}"])
def test_json_nested_too_deep_is_said_in_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    said = run(*command.format(tmp_path / "deep.json").split())
    assert said.exit_code == 2
    assert "deep" in one_line(said.stderr)


def test_a_host_that_is_none_is_said() -> None:
    done = eddy(
        "serve", "--board", "model", "--host", "nosuch.invalid", "--data", "/nowhere", stdout=subprocess.DEVNULL
    )
    assert (done.returncode, "with --host" in one_line(done.stderr)) == (output.USAGE, True)


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (["jobs", "--state", "nosuch"], "nosuch"),
        (["job", "abc"], "Invalid value for 'ID'"),
        (["submit"], "Missing argument"),
        (["nosuch"], "No such command"),
    ],
)
def test_with_json_a_wrong_argument_is_one_object_too(arguments: list[str], detail: str) -> None:
    done = eddy(*arguments, "--json", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (output.USAGE, "")
    said = json.loads(done.stderr)
    assert said["code"] == "invalid-request"
    assert detail in said["detail"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y.npy", "--arg 0: there is no file 'y.npy'."),
        ("bad.npy", "--arg 0: 'bad.npy' cannot be read: it is no array of numbers."),
        ("three", "--arg 0: 'three' is none of FILE.npy, zeros:f4:1024, a number,"),
        ("local:x", "--arg 0: 'local:x' is none of FILE.npy,"),
    ],
)
def test_what_is_no_argument_is_said_in_words_of_ours(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.npy").write_bytes(b"no array")
    with pytest.raises(InvalidRequest) as refused:
        argument(0, text)
    assert refused.value.message.startswith(said)
    assert not any(word in refused.value.message for word in ("float", "literal", "Errno", "pickle"))


def test_a_kernel_that_jumped_away_hears_of_its_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.gpu.launches.launch.symbols", lambda elf: {})
    said = describe(Fault(0, "fetch_fault", 0, 0x3F80_0000), mock.Mock())
    assert "perhaps it wrote past the end of an array and changed its own stack" in said


def test_past_events_are_in_order_of_time() -> None:
    def event(number: int, **data: object) -> Event:
        return Event(number, "state", data)

    events = [event(1, at_s=1.0), event(2, at_s=3.0), event(3), event(4, at_s=2.0), event(5, at_s=2.0)]
    assert [each.id for each in in_order(events)] == [1, 4, 5, 2, 3]


def test_a_file_that_is_no_application_is_named(tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text("kernel void k() {}")
    refused = run("app", "sign", str(tmp_path / "key"), str(tmp_path / "k.cl"), "--out", str(tmp_path / "out"))
    assert (refused.exit_code, one_line(refused.stderr).startswith(f"eddy: {tmp_path}/k.cl is no application")) == (
        2,
        True,
    )


def test_one_is_one() -> None:
    assert (count_noun(1, "load"), count_noun(0, "load"), count_noun(2, "load")) == ("1 load", "0 loads", "2 loads")


def test_a_module_is_named_as_one_can_be(tmp_path: Path) -> None:
    refused = run("module", "new", "3abc", "--root", str(tmp_path))
    assert "of which the first is a letter" in " ".join(refused.stderr.split())


def test_what_is_allowed_is_said_once(tmp_path: Path) -> None:
    text = "module: m\nkind: hls\nfiles: m.f\nregister_map: '1.0'\nclk_hz: 100000000\ncontrol: chian\n"
    (tmp_path / "manifest.yaml").write_text(text, encoding="utf-8")
    refused = run("module", "check", str(tmp_path))
    assert refused.stderr.count("hs, chain, none") == 1
