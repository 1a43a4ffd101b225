# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The command without a server: light imports, one-line errors with exit codes, tables within 80 columns."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from eddy.cli.main import app
from eddy.cli.support import output, pictures
from eddy.cli.support.expected import estimate_line
from eddy.cli.support.inputs import Inputs, gather, split
from eddy.cli.support.pictures import TileSheet
from eddy.cli.tenant import explain
from eddy.cli.tenant.resources import app_lines
from eddy.client.transport.arrays import BufferInfo
from eddy.client.transport.errors import from_problem
from eddy.core import errors
from typer.testing import CliRunner

NOBODY = {"EDDY_URL": "http://127.0.0.1:9", "EDDY_HTTP_RETRIES": "0", "EDDY_KEY": "k", "COLUMNS": "80"}
COMMANDS = (
    "submit",
    "kernel",
    "log",
    "jobs",
    "job",
    "wait",
    "cancel",
    "result",
    "apps",
    "slots",
    "drain",
    "undrain",
    "policy",
    "bitstreams",
    "serve",
    "boardd",
    "gateway",
    "install",
    "board-test",
    "doctor",
    "demo",
)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), env=NOBODY)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_promised_command_has_help_and_json(name: str) -> None:
    helped = run(name, "--help")
    assert helped.exit_code == 0
    assert "--json" in helped.stdout
    assert max(map(len, helped.stdout.splitlines())) <= 80


def test_the_command_tree_imports_what_every_command_needs_alone() -> None:
    """A command imports the rest when it runs: the client, the store, YAML and HTTP are half of its start."""
    heavy = [
        "httpx",
        "yaml",
        "sqlite3",
        "asyncio",
        "rich.console",
        "eddy.api",
        "eddy.board",
        "eddy.client",
        "eddy.packages",
        "eddy.store",
    ]
    script = f"import sys\nimport eddy.cli.main\nprint([name for name in {heavy} if name in sys.modules])\n"
    done = subprocess.run([sys.executable, "-c", script], env=NOBODY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_and_jobs_do_not_import_the_heavy_half() -> None:
    script = (
        "import sys\nfrom typer.testing import CliRunner\nfrom eddy.cli.main import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert CliRunner().invoke(app, ['jobs']).exit_code == 3\n"
        "heavy = ['pynq', 'fastapi', 'uvicorn', 'matplotlib', 'numpy', 'eddy_sim', 'sklearn']\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=NOBODY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("jobs",),
        ("job", "1"),
        ("wait", "1"),
        ("cancel", "1"),
        ("result", "1"),
        ("apps",),
        ("slots",),
        ("drain", "1"),
        ("policy",),
    ],
)
def test_nobody_there_is_one_line_and_exit_code_3(arguments: tuple[str, ...]) -> None:
    plain = run(*arguments)
    assert plain.exit_code == 3
    assert plain.stdout == ""
    assert len(plain.stderr.strip().splitlines()) == 1
    assert "eddy serve" in plain.stderr
    document = json.loads(run(*arguments, "--json").stderr)
    assert document["code"] == "server-unreachable"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("jobs", "--state", "asleep"), "queued"),
        (("submit", "x", "--priority", "2"), "1, 3, 9"),
        (("serve", "--board", "paper"), "rtl, model, pynq"),
        (("job", "zero"), "`eddy jobs` lists yours"),
        (("job", "0"), "`eddy jobs` lists yours"),
        (("submit", "x", "--priority", "high"), "'high' is not one of 1, 3, 9"),
        (("serve", "--port", "abc"), "'abc' is not a whole number"),
        (("submit", "x", "--out", __file__), "is a file; name a folder"),
        (("kernel", __file__, "--global", "1", "--out", __file__), "is a file; name a folder"),
        (("unheard-of",), "unheard-of"),
        (("--key", "k", "jobs"), "it goes after the command: `eddy jobs --key"),
        (("--url", "u", "jobs"), "it goes after the command: `eddy jobs --url"),
    ],
)
def test_wrong_arguments_are_exit_code_2_and_named(arguments: tuple[str, ...], says: str) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert says in " ".join(refused.stderr.replace("│", " ").split())


def test_doctor_reports_every_check_and_fails_without_a_server(tmp_path: Path) -> None:
    done = run("doctor", "--json", "--data", str(tmp_path / "none"))
    assert done.exit_code == 1
    checks = {entry["check"]: entry for entry in json.loads(done.stdout)["checks"]}
    extras, machine = {"serve", "board", "sim"}, {"python", "venv", "tools", "compiler", "memory", "disk"}
    assert set(checks) == extras | machine | {"profile", "builds", "data", "data room", "port", "server", "clock"}
    assert not checks["server"]["ok"]
    assert checks["python"]["ok"]
    assert all(bool(entry["advice"]) != entry["ok"] for entry in checks.values())


def test_doctor_names_what_is_wrong_and_what_helps(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("doctor", "--json", "--profile", "nothing", "--port", port, "--data", str(tmp_path / "file" / "x"))
    checks = {entry["check"]: entry for entry in json.loads(done.stdout)["checks"]}
    assert "kv260" in checks["profile"]["found"]
    assert port in checks["port"]["found"]
    assert "--data" in checks["data"]["advice"]
    assert not any(checks[name]["ok"] for name in ("profile", "port", "data"))
    plain = run("doctor", "--profile", "tiny", "--port", "0").stdout
    assert max(map(len, plain.splitlines())) <= 80


def test_exit_codes_tell_the_kinds_of_failure_apart() -> None:
    assert output.exit_code(errors.InvalidRequest("x")) == output.USAGE == 2
    assert output.exit_code(from_problem(422, {"code": "invalid-request"})) == output.REFUSED == 4
    assert output.exit_code(from_problem(418, {"code": "unheard-of"})) == output.REFUSED
    assert output.exit_code(from_problem(503, {"code": "board-unreachable"})) == output.BOARD
    assert output.exit_code(errors.ModuleFault("x")) == output.BOARD == 5


def test_an_error_says_what_is_allowed_once(capsys: pytest.CaptureFixture[str]) -> None:
    import typer

    with pytest.raises(typer.Exit), output.errors_in_one_line():
        raise errors.InvalidRequest("batch is 9", field="batch", allowed="1..4")
    with pytest.raises(typer.Exit), output.errors_in_one_line():
        raise errors.InvalidRequest("batch is 9; allowed: 1..4", field="batch", allowed="1..4")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["eddy: batch is 9 (allowed: 1..4)", "eddy: batch is 9; allowed: 1..4"]


def test_tables_stay_within_80_columns_whatever_they_hold(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [output.Column(f"Column {number}", "value") for number in range(8)]
    output.table("title", columns, [{"value": "x" * 60}])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_long_text_goes_on_below_and_the_other_columns_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [
        output.Column("When (UTC)", "when"),
        output.Column("Who", "who"),
        output.Column("With", "with", folds=True),
    ]
    said = " ".join(f"fact{number} {number}" for number in range(40))
    output.table("", columns, [{"when": "11-26 23:27:59", "who": "operator", "with": said}])
    first, *more = capsys.readouterr().out.splitlines()[2:]
    assert first.split()[:3] == ["11-26", "23:27:59", "operator"]
    assert all(f"fact{number} " in " ".join([first, *more]) + " " for number in range(40))
    assert max(map(len, [first, *more])) <= 80


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("[/x] [red]y", "[/x] [red]y"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\u202eb", r"a\u202eb"),
        ("two\nlines\r\x9b", r"two\nlines\r\x9b"),
    ],
)
def test_a_cell_shows_what_somebody_else_wrote_and_does_nothing_else(
    capsys: pytest.CaptureFixture[str], text: str, seen: str
) -> None:
    output.table("", [output.Column("Label", "label")], [{"label": text}])
    assert capsys.readouterr().out.splitlines()[2:] == [seen]


def test_a_name_that_is_typed_again_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    name = "msg_" + "0123456789abcdef" * 2
    others = [output.Column(title, title, folds=title != "A") for title in "ABC"]
    row = {"name": name, **dict.fromkeys("ABC", "x" * 30)}
    output.table("", [output.Column("Message", "name", whole=True), *others], [row])
    assert name in capsys.readouterr().out


def test_an_application_of_many_tasks_stays_within_80_columns() -> None:
    tasks = [{"name": f"convolution_{number}"} for number in range(38)]
    buffer = {"role": "input", "name": "image", "dtype": "u1", "shape": [96, 96, 3], "shipped": False}
    lines = app_lines({"name": "net", "max_batch": 8, "tasks": tasks, "buffers": [buffer]})
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).count("convolution_") == 38


IMAGE = BufferInfo("image", "input", 4, np.dtype("u1"), (2, 2), False, True)
TABLE = BufferInfo("table", "constant", 4, np.dtype("<u2"), (2,), False)


def test_files_become_arrays(tmp_path: Path) -> None:
    from PIL import Image

    np.save(tmp_path / "a.npy", np.arange(8, dtype=np.uint8).reshape(2, 2, 2))
    (tmp_path / "b.bin").write_bytes(bytes([9, 8, 7, 6]))
    Image.fromarray(np.full((6, 4), 77, np.uint8)).save(tmp_path / "c.png")
    pairs = [f"image={tmp_path}/a.npy", f"image={tmp_path}/b.bin", f"image={tmp_path}/c.png", f"table={tmp_path}/b.bin"]
    arrays = gather(pairs, [IMAGE, TABLE], 30).arrays
    assert arrays["image"].shape == (9, 2, 2), "two items, one item, a picture of six tiles"
    assert arrays["image"][2].tolist() == [[9, 8], [7, 6]]
    assert arrays["image"][3:].tolist() == [[[77, 77], [77, 77]]] * 6
    assert arrays["table"].tolist() == [9 + 8 * 256, 7 + 6 * 256]


@pytest.mark.parametrize("pair", ["image", "=x", "image=/nowhere/at/all"])
def test_a_wrong_pair_is_refused(pair: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        split([pair])


def test_a_folder_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidRequest, match="is a folder; name a file in it"):
        split([f"image={tmp_path}"])


def test_the_size_of_the_only_picture_is_a_label() -> None:
    sheet = TileSheet(300, 200, 2, 3)
    assert Inputs({}, (sheet,), {}).label == {"picture": "300x200"}
    assert Inputs({}, (sheet, sheet), {}).label == Inputs({}, (), {}).label == {}


def test_every_picture_that_is_written_is_named(tmp_path: Path) -> None:
    sheet, shapes = TileSheet(3, 4, 2, 1), {"image": (2, 3)}
    outputs = {"result": np.arange(12, dtype="u1").reshape(2, 2, 3), "levels": np.zeros((2, 5), "i2")}
    assert pictures.save([sheet], outputs, shapes, tmp_path) == [tmp_path / "result.png"]
    assert (tmp_path / "result.png").read_bytes().startswith(b"\x89PNG")
    assert pictures.save([], outputs, shapes, tmp_path) == []


def test_why_a_job_failed_is_part_of_its_explanation() -> None:
    found = {"job": 7, "state": "failed", "words": ["It lived 1 s."], "preempted": [], "estimate": None}
    error = {"cause": "read-outside-window", "message": "load_fault"}
    assert explain.lines_of(found, error) == [
        "job 7 failed",
        "It failed with read-outside-window: load_fault",
        "It lived 1 s.",
    ]


def test_a_job_that_runs_has_no_place_in_the_queue() -> None:
    known = {"position": 2, "start_p50_s": 2.0, "start_p90_s": 3.0, "end_p50_s": 3.0, "end_p90_s": 4.0, "at_s": 1.0}
    waits, runs = (estimate_line({**known, "known": False}, state) for state in ("queued", "running"))
    assert waits.startswith("place 2 in the queue; starts in about 1.00 s")
    assert runs == "ends in about 2.00 s, nine times in ten within 3.00 s; a rough guess until its first item has ended"


def test_a_line_is_written_with_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[str] = []

    class Pieces(io.StringIO):
        def write(self, text: str) -> int:
            writes.append(text)
            return len(text)

    monkeypatch.setattr(sys, "stderr", Pieces())
    output.print_status("job 3: running")
    assert writes == ["job 3: running\n"]


def test_a_wrong_key_says_where_it_came_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value, said in (("", False), ("eddy_k", True)):
        monkeypatch.setenv("EDDY_KEY", value)
        with pytest.raises(typer.Exit), output.errors_in_one_line():
            raise errors.Unauthorized("The key is unknown.")
        told = capsys.readouterr().err
        assert ("EDDY_KEY is set" in told) is said
        assert "`eddy login` keeps a key" in told
        assert "operator.key in its data folder" in told


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(bytes(5))
    (tmp_path / "bad.npy").write_bytes(b"not numpy")
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    for name in ("odd.bin", "bad.npy", "bad.png"):
        with pytest.raises(errors.InvalidRequest):
            gather([f"image={tmp_path / name}"], [IMAGE], 30)
    with pytest.raises(errors.InvalidRequest) as refused:
        gather([f"picture={tmp_path}/odd.bin"], [IMAGE], 30)
    assert refused.value.details["allowed"] == ["image"]


@pytest.mark.parametrize(("out", "code"), [(b"\x01\x02", 0), (b"\x01\x03", 1)], ids=["right", "wrong"])
def test_the_demonstration_fails_where_a_result_is_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: bytes, code: int
) -> None:
    from eddy.cli.demo import demo_run
    from eddy.cli.demo.demo_plan import Order

    times = {"waiting_s": 0.1, "reconfiguring_s": 0.2, "running_s": 0.3, "reconfigurations": 1, "reuses": 0, "form": ""}
    data = {"id": 1, "tenant": "ada", "application": "a", "batch": 1, "priority": 1, "state": "succeeded", **times}
    expected = {"result": np.array([[1, 2]], np.uint8)}
    order = Order("ada", "a", 1, {}, expected, lambda outputs: "fine")
    outputs = {"result": np.frombuffer(out, np.uint8)[np.newaxis]}
    outcome = demo_run.OrderOutcome(order, data, (), ("task",), outputs)
    files = {name: tmp_path / name for name in ("timeline", "trace", "picture")}
    report = demo_run.Report("rtl", "tiny", "fcfs", (outcome,), files)
    monkeypatch.setattr(demo_run, "run", lambda *_: report)
    for arguments in (["demo", "--out", str(tmp_path)], ["demo", "--out", str(tmp_path), "--json"]):
        assert run(*arguments).exit_code == code
    job = json.loads(run("demo", "--json").stdout)["jobs"][0]
    assert job["verified"] is (code == 0)
    assert {"tenant", "application", "batch", "waiting_s", "reconfiguring_s", "running_s", "verified"} <= set(job)
