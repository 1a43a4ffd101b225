# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Client, command and demonstration against a whole server over real HTTP, on the model board."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import itertools
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.board.model.model import ModelFaults
from eddy.board.port.port import Cause
from eddy.cli.demo import demo_run
from eddy.cli.demo.demo_plan import Order
from eddy.cli.main import app
from eddy.client import Client, JobFailed, ServerUnreachable
from eddy.core.errors import Conflict, InvalidRequest, NotFound, Unauthorized
from eddy.core.names import width
from eddy.store import Store
from hypervisor_kit import BYTES, KEY, expected, item, model_board
from typer.testing import CliRunner


def serve(folder: Path, faults: ModelFaults | None = None) -> Server:
    settings = ServerSettings("model", "tiny", "fcfs", folder / "data", package(folder / "bitstreams"), port=0)
    return Server(settings, board=model_board(faults=faults))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serve(tmp_path).background() as running:
        yield running


def operator(server: Server) -> Client:
    return Client(server.url, server.key_file.read_text().strip())


@pytest.fixture
def ada(server: Server) -> Iterator[Client]:
    with operator(server) as client:
        key = client.add_tenant("ada", max_priority=9)["key"]
    with Client(server.url, key) as client:
        yield client


def inputs(batch: int, salt: int = 0) -> dict[str, Any]:
    items = [np.frombuffer(item(number, salt), np.uint8) for number in range(batch)]
    return {"in": np.stack(items), "key": np.frombuffer(KEY, np.uint8)}


def result(batch: int, salt: int = 0) -> Any:
    return np.frombuffer(expected(batch, salt), np.uint8).reshape(batch, BYTES)


def test_arrays_go_in_and_come_out(ada: Client) -> None:
    seen: list[tuple[str, int]] = []
    job = ada.submit("chain", inputs(3), priority=9)
    job.wait(on_change=lambda job: seen.append((job.state, job.data["progress"]["done"])))
    np.testing.assert_array_equal(job.outputs["out"], result(3))
    data = job.data
    assert data["progress"] == {"done": 3, "total": 3}
    assert data["reconfigurations"] == 3
    assert data["waiting_s"] + data["reconfiguring_s"] + data["running_s"] == pytest.approx(data["response_s"])
    assert seen[-1] == ("succeeded", 3)
    assert [entry["id"] for entry in ada.jobs()] == [job.id]
    assert [slot["module"] for slot in ada.slots()["slots"]][:3] == ["rotate", "mix", "flip"]


def test_labels_and_names_of_every_script_go_through_the_command(ada: Client, server: Server, tmp_path: Path) -> None:
    """Typed in parts (NFD), found either way, lined up in tables; a terminal without the letters has them spelled."""
    np.save(tmp_path / "in.npy", inputs(1)["in"])
    np.save(tmp_path / "key.npy", inputs(1)["key"])
    given = ["-i", f"in={tmp_path / 'in.npy'}", "-i", f"key={tmp_path / 'key.npy'}"]
    where = ["--url", server.url, "--key", server.key_file.read_text().strip()]
    labels = {"проект": "Größe", "項目": "東京タワー"}
    typed = [part for pair in labels.items() for part in ("--label", unicodedata.normalize("NFD", "=".join(pair)))]
    made = CliRunner().invoke(app, ["submit", "chain", *given, *typed, *where, "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["labels"] == labels
    plain = CliRunner().invoke(app, ["submit", "chain", *given, "--label", "a=b", *where])
    assert plain.exit_code == 0, plain.output
    listed = CliRunner().invoke(app, ["jobs", *typed, "--columns", "labels,id,state", *where]).stdout
    assert str(json.loads(made.stdout)["id"]) in listed
    both = CliRunner().invoke(app, ["jobs", "--columns", "labels,id,state", *where]).stdout.splitlines()
    begins = {width(line[: line.index("succeeded")]) for line in both if "succeeded" in line}
    assert len(begins) == 1, "columns stand below each other"
    assert max(map(width, both)) <= 80
    named = CliRunner().invoke(app, ["tenant", "set", "ada", "--display-name", "愛達・ラブレス", *where]).stdout
    assert "愛達・ラブレス" in named
    program = [sys.executable, "-m", "eddy", "tenant", "list", *where]
    for encoding, wanted in (("utf-8", "愛達"), ("ascii", "\\u611b"), ("latin-1", "\\u611b")):
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(program, capture_output=True, timeout=60, check=False, env=env)
        assert done.returncode == 0, done.stderr
        assert wanted in done.stdout.decode(encoding)


def test_no_cancellation_that_was_accepted_is_forgotten(ada: Client) -> None:
    """Requests come while jobs end, each at another moment of its job's life."""
    draw, given = random.Random(1), inputs(1)
    accepted: dict[int, Any] = {}

    def submit_and_cancel(pause_s: float) -> None:
        job = ada.submit("chain", given)
        time.sleep(pause_s)
        with contextlib.suppress(Conflict):  # it has ended before
            accepted[job.id] = ada.cancel(job.id)["cancellation"]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(submit_and_cancel, [draw.random() * 0.06 for _ in range(160)]))
    outcomes = Counter[str]()
    for job, said in accepted.items():
        shown = ada.show(job, wait_s=20.0)
        assert said is not None
        assert shown["cancellation"] is not None, f"{shown['state']}, and nothing of the request"
        assert shown["cancellation"]["asked_unix_s"] == said["asked_unix_s"]
        outcomes[shown["cancellation"]["outcome"]] += 1
        assert {"cancelled": "cancelled", "too-late": "succeeded"}[shown["cancellation"]["outcome"]] == shown["state"]
    assert outcomes["cancelled"] > 0, outcomes


def test_an_array_runs_as_jobs_of_their_own(ada: Client, server: Server, tmp_path: Path) -> None:
    both = inputs(2)
    each = [{"in": both["in"][place : place + 1], "key": both["key"]} for place in range(2)]
    first = ada.submit("chain", inputs(1, salt=7))
    array = ada.submit_array("chain", each, labels={"run": "7"}, after=[first])
    assert len(array.wait()) == 2
    assert array.data["counts"]["succeeded"] == 2
    out = [job.outputs["out"] for job in array.jobs()]
    np.testing.assert_array_equal(np.concatenate(out), result(2))
    assert [job.data["after"] for job in array.jobs()] == [[first.id]] * 2
    with pytest.raises(Conflict):
        array.cancel()
    np.save(tmp_path / "in.npy", both["in"])
    np.save(tmp_path / "key.npy", both["key"])
    given = ["-i", f"in={tmp_path / 'in.npy'}", "-i", f"key={tmp_path / 'key.npy'}", "--label", "run=8"]
    where = ["--url", server.url, "--key", ada.make_key()["key"], "--json"]
    made = CliRunner().invoke(app, ["submit", "chain", *given, "--as-array", "--out", str(tmp_path / "out"), *where])
    assert made.exit_code == 0, made.output
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "out-1.npy"), result(2)[1:])
    number = json.loads(made.stdout)["id"]
    listed = CliRunner().invoke(app, ["jobs", "--array", str(number), "--label", "run=8", *where])
    assert [job["array"]["index"] for job in json.loads(listed.stdout)["jobs"]] == [1, 0]
    bound = ["--as-array", "--max-running", "1", "--aftercorr", str(number)]
    second = json.loads(CliRunner().invoke(app, ["submit", "chain", *given, *bound, *where]).stdout)
    assert (second["max_running"], second["ended"], second["counts"]["succeeded"]) == (1, True, 2)
    assert [job.data["after"] for job in ada.array(second["id"]).jobs()] == [
        [job.id] for job in ada.array(number).jobs()
    ]
    waits = ["--after", str(number), "--afterany", str(second["id"])]
    last = json.loads(CliRunner().invoke(app, ["submit", "chain", *given, *waits, *where]).stdout)
    assert (last["state"], last["after"], last["afterany"]) == ("succeeded", [number], [second["id"]])
    never = CliRunner().invoke(app, ["submit", "chain", *given, "--afternotok", str(number), *where])
    assert (never.exit_code, "dependency-never" in never.output, "cancelled" in never.output) == (1, True, True)
    shown = CliRunner().invoke(app, ["job", str(last["id"]), *where[:-1]]).stdout
    assert re.search(rf"afterany +{second['id']}", shown), shown
    for command in ("job", "cancel", "wait", "result", "explain", "hold", "log"):
        wrong = CliRunner().invoke(app, [command, str(number), *where])
        assert (wrong.exit_code, f"eddy array show {number}" in wrong.output) == (4, True), command
    for command in ("show", "wait", "cancel"):
        wrong = CliRunner().invoke(app, ["array", command, str(last["id"]), *where])
        assert (wrong.exit_code, "eddy job" in wrong.output) == (4, True), command
    for alone in (["--max-running", "1"], ["--aftercorr", str(number)]):
        assert CliRunner().invoke(app, ["submit", "chain", *given, *alone, *where]).exit_code == 2
    assert json.loads(CliRunner().invoke(app, ["array", "show", str(number), *where]).stdout)["ended"]


def test_wait_with_a_time_limit_and_a_repeated_submission(ada: Client) -> None:
    first = ada.submit("chain", inputs(1), idempotency_key="once")
    again = ada.submit("chain", inputs(1), idempotency_key="once")
    assert first.id == again.id
    assert again.wait(timeout_s=180).state == "succeeded"
    with pytest.raises(Conflict):
        ada.submit("chain", inputs(2), idempotency_key="once")
    with pytest.raises(Conflict):
        first.cancel()


def test_the_client_raises_the_servers_errors(ada: Client, server: Server) -> None:
    with pytest.raises(NotFound, match="42"):
        ada.job(42)
    with pytest.raises(InvalidRequest) as refused:
        ada.submit("chain", inputs(31))
    assert (refused.value.details["field"], refused.value.details["allowed"]) == ("batch", "1..30")
    with pytest.raises(InvalidRequest, match="shape"):
        ada.submit("chain", {"in": np.zeros((2, 3), np.uint8)})
    with Client(server.url, "eddy_nobody") as stranger, pytest.raises(Unauthorized):
        stranger.jobs()
    with Client("http://127.0.0.1:9", retries=0) as nobody, pytest.raises(ServerUnreachable, match="eddy serve"):
        nobody.jobs()


@pytest.mark.parametrize("declared", [True, False])
def test_a_client_that_sends_far_too_much_gets_the_answer_and_no_reset(server: Server, declared: bool) -> None:
    body = b"{" + b" " * (24 << 20) + b"}"
    content = body if declared else (body[at : at + 65536] for at in range(0, len(body), 65536))
    headers = {"Authorization": f"Bearer {server.key_file.read_text().strip()}", "Content-Type": "application/json"}
    chunked = {} if declared else {"Transfer-Encoding": "chunked"}
    url = urlsplit(server.url)
    # This client sends all it has before it reads, and does not forgive a connection that was closed meanwhile.
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=180)
    connection.request("POST", "/v1/jobs", content, {**headers, **chunked}, encode_chunked=not declared)
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["code"] == "payload-too-large"
    connection.close()


def test_a_failed_job_raises_with_its_cause(tmp_path: Path) -> None:
    faults = ModelFaults(items={"1.1.0": Cause.WRITE_OUTSIDE_WINDOW})
    with serve(tmp_path, faults).background() as server, operator(server) as client:
        job = client.submit("chain", inputs(1))
        with pytest.raises(JobFailed) as failed:
            job.wait()
        assert failed.value.details["cause"] == "write-outside-window"
        assert job.data["error"] is not None
        assert job.data["error"]["cause"] == "write-outside-window"
        with pytest.raises(Conflict):
            _ = job.outputs


def test_a_restarted_server_knows_jobs_results_and_keys(tmp_path: Path) -> None:
    first = serve(tmp_path)
    with first.background(), operator(first) as client:
        job = client.submit("chain", inputs(2)).wait()
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", tmp_path / "bitstreams", port=0)
    second = Server(settings, board=model_board())
    assert (first.first_start, second.first_start) == (True, False)
    with second.background(), operator(second) as client:
        np.testing.assert_array_equal(client.job(job.id).outputs["out"], result(2))


def run(server: Server, key: str, *arguments: str) -> Any:
    return CliRunner().invoke(app, [*arguments], env={"EDDY_URL": server.url, "EDDY_KEY": key, "COLUMNS": "80"})


def test_the_command_line_end_to_end(server: Server, tmp_path: Path) -> None:
    operators = server.key_file.read_text().strip()
    added = run(server, operators, "tenant", "add", "grace", "--max-priority", "3")
    key = added.stdout.strip()
    assert key.startswith("eddy_")
    np.save(tmp_path / "in.npy", inputs(2)["in"])
    (tmp_path / "key.bin").write_bytes(KEY)
    given = ("--input", f"in={tmp_path}/in.npy", "--input", f"key={tmp_path}/key.bin")
    done = run(server, key, "submit", "chain", *given, "--priority", "3", "--out", str(tmp_path / "out"), "--json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["state"], shown["batch"], shown["priority"]) == ("succeeded", 2, 3)
    np.testing.assert_array_equal(np.load(shown["files"]["out"]), result(2))
    number = str(shown["id"])
    for arguments in (["jobs"], ["job", number], ["job", number, "--follow"], ["apps"], ["slots"]):
        plain = run(server, key, *arguments)
        assert plain.exit_code == 0, plain.output
        assert plain.stdout
        assert max(map(len, plain.stdout.splitlines())) <= 80
        json.loads(run(server, key, *arguments, "--json").stdout)
    assert run(server, operators, "tenant", "list").exit_code == 0
    fetched = run(server, key, "result", number, "--out", str(tmp_path / "again"), "--json")
    assert json.loads(fetched.stdout)["outputs"]["out"] == str(tmp_path / "again" / "out.npy")
    late = run(server, key, "cancel", number)
    assert (late.exit_code, len(late.stderr.strip().splitlines())) == (4, 1)


def test_orders_of_three_tenants_are_followed_checked_and_drawn(server: Server, tmp_path: Path) -> None:
    def order(tenant: str, batch: int, salt: int) -> Order:
        return Order(tenant, "chain", 1, inputs(batch, salt), {"out": result(batch, salt)}, lambda _: "exact")

    wanted = [order("ada", 4, 0), order("grace", 2, 5), order("edsger", 3, 9)]
    wrong = Order("ada", "chain", 1, inputs(1), {"out": result(1, 77)}, lambda _: "")
    key = server.key_file.read_text().strip()
    outcomes = demo_run.submit_all(server.url, key, [*wanted, wrong], lambda _: None)
    assert [outcome.verified for outcome in outcomes] == [True, True, True, False]
    drawn = demo_run.spans(outcomes)
    assert sum(span.kind == "run" for span in drawn) == 3 * (4 + 2 + 3 + 1)
    assert sum(span.kind == "reconfigure" for span in drawn) == sum(o.data["reconfigurations"] for o in outcomes)
    assert {span.tenant for span in drawn} == {"ada", "grace", "edsger"}
    for slot in {span.slot for span in drawn}:
        times = sorted((span.start_s, span.end_s) for span in drawn if span.slot == slot)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))
    entry = outcomes[1].to_json()
    assert (entry["tenant"], entry["application"], entry["batch"]) == ("grace", "chain", 2)


def test_a_hypervisor_that_fails_ends_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(tmp_path)

    def broken() -> Any:
        raise RuntimeError("the board is on fire")

    monkeypatch.setattr(server.board, "state", broken)
    server.run()
    assert server.failed


def test_whoever_is_told_that_it_serves_finds_jobs_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, began, answered = serve(tmp_path), threading.Event(), threading.Event()
    images = server.board.images

    def slow() -> Any:
        began.set()
        assert answered.wait(180)
        return images()

    monkeypatch.setattr(server.board, "images", slow)
    asked: list[int] = []

    def ask() -> None:
        assert began.wait(180)
        asked.append(httpx.get(f"{server.url}/readyz", timeout=180).status_code)
        answered.set()

    early = threading.Thread(target=ask)
    early.start()
    with server.background():
        asked.append(httpx.get(f"{server.url}/readyz", timeout=180).status_code)
    early.join(180)
    assert asked == [503, 200]


def test_an_announcement_that_cannot_be_made_ends_the_server(tmp_path: Path) -> None:
    server = serve(tmp_path)

    def refuse() -> None:
        raise OSError("nobody listens")

    with pytest.raises(OSError, match="nobody listens"):
        server.run(ready=refuse)
    serve(tmp_path).close()  # nothing is held any more


def test_a_taken_port_is_said_so_and_nothing_is_left_open(tmp_path: Path) -> None:
    first = serve(tmp_path)
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "other", tmp_path / "bitstreams", port=first.port)
    with pytest.raises(Conflict, match=str(first.port)):
        Server(settings, board=model_board())
    with first.background():
        pass
    assert not (tmp_path / "other").exists()


def test_an_unknown_policy_names_the_known_ones(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "magic", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with pytest.raises(InvalidRequest) as refused:
        Server(settings, board=model_board())
    assert "fcfs" in refused.value.details["allowed"]


def test_the_model_board_runs_the_catalogues_applications_at_their_estimates(tmp_path: Path) -> None:
    settings = ServerSettings("model", "kv260", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings).background() as server, operator(server) as client:
        job = client.submit("chain", inputs(2)).wait()
        done = [event.data for event in job.events() if event.kind == "item_done"]
    assert [data["at_s"] - data["started_s"] for data in done] == pytest.approx([1e-3] * 6)


def test_who_runs_on_a_board_that_computes_nothing_is_told(tmp_path: Path) -> None:
    settings = ServerSettings("model", "kv260", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with Server(settings).background() as server, operator(server) as client:
        assert client.slots()["computes"] is False
        job = client.submit("chain", inputs(2))
        assert not job.computed, "from the first answer on"
        assert not job.wait().computed
        assert not job.outputs["out"].any()
        command = ["--url", server.url, "--key", server.key_file.read_text().strip()]
        for words in (["slots"], ["job", str(job.id)], ["result", str(job.id), "--out", str(tmp_path / "out")]):
            said = CliRunner().invoke(app, [*words, *command])
            assert (said.exit_code, "outputs are zeros" in said.output) == (0, True), words


def test_a_server_runs_what_was_checked_or_says_on_what_else(tmp_path: Path) -> None:
    """By default it refuses; where the operator allows it, the job, its page in a terminal and its outputs say so."""
    bitstreams = package(tmp_path / "bitstreams", unchecked=("mix",))
    settings = ServerSettings("model", "kv260", "fcfs", tmp_path / "data", bitstreams, port=0)
    refused = pytest.raises(InvalidRequest, match="no check of module mix is on record")
    with Server(settings).background() as server, operator(server) as client:
        with refused:
            client.submit("chain", inputs(1))
        assert "no check of module mix" in server.refused()["chain"]
        command = ["--url", server.url, "--key", server.key_file.read_text().strip()]
        listed = CliRunner().invoke(app, ["apps", *command]).output
        assert "refused: no check of module mix is on record" in " ".join(listed.split())
    allowed = dataclasses.replace(settings, unchecked_modules="allow")
    with Server(allowed).background() as server, operator(server) as client:
        job = client.submit("chain", inputs(1)).wait()
        assert httpx.get(f"{server.url}/v1/jobs/{job.id}", headers=bearer(server)).json()["unchecked"] == ["mix"]
        command = ["--url", server.url, "--key", server.key_file.read_text().strip()]
        for words in (["job", str(job.id)], ["result", str(job.id), "--out", str(tmp_path / "out")]):
            said = CliRunner().invoke(app, [*words, *command])
            assert (said.exit_code, "no check is on record of mix" in said.output) == (0, True), words


def bearer(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.key_file.read_text().strip()}"}


def test_a_job_remembers_that_nothing_was_computed_and_one_that_moves_is_told(tmp_path: Path) -> None:
    settings = ServerSettings("model", "kv260", "fcfs", tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with serve(tmp_path).background() as server, operator(server) as client:
        assert client.slots()["computes"]
        computed = client.submit("chain", inputs(1)).wait()
        assert computed.computed
    store = Store(tmp_path / "data" / "eddy.sqlite3")
    waiting = store.jobs.request("operator", store.numbers.job.resolve_id(computed.id))
    record, _ = store.submissions.add_job(waiting, 0.0)
    left = store.numbers.job.public_id(record.id)
    store.close()
    with Server(settings).background() as server, operator(server) as client:
        assert not client.job(left).wait().computed
        assert client.job(computed.id).computed
    with serve(tmp_path).background() as server, operator(server) as client:
        assert not client.job(left).computed
