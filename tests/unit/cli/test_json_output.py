# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What `eddy COMMAND --json` writes to standard output: one JSON value, whatever libraries print."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_tree import commands, root_command, takes_json
from eddy.cli.support import output
from eddy.model.highs import make_solver

TESTS = Path(__file__).resolve().parents[2]
CLI = TESTS.parent / "runtime" / "eddy" / "cli"


def test_every_command_that_takes_json_keeps_standard_output_for_it() -> None:
    done = subprocess.run([sys.executable, TESTS / "command_tree.py", "in-place"], capture_output=True, check=True)
    found = {tuple(path): (code, out, err) for path, code, out, err in json.loads(done.stdout)}
    assert set(found) == {path for path, command in commands(root_command()) if takes_json(command)}
    assert len(found) > 70
    for path, (code, out, err) in found.items():
        assert code == 0, (path, err)
        assert json.loads(out) == {"command": list(path)}
        assert err.count("NOISE") == 8, "what libraries print is not lost"


def test_a_solver_is_made_and_solves_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    solver = make_solver()
    x = solver.addVariable(lb=1, ub=2)
    solver.minimize(x)
    assert solver.val(x) == 1
    assert capfd.readouterr() == ("", "")


def test_a_placed_batch_is_json_past_the_solver(tmp_path: Path) -> None:
    """HiGHS 1.16 printed a banner before it could be told not to."""
    time_s = np.random.default_rng(0).uniform(1, 10, (30, 4)).tolist()
    (tmp_path / "batch.json").write_text(json.dumps({"time_s": time_s}))
    command = [sys.executable, "-m", "eddy", "place", str(tmp_path / "batch.json"), "--method", "computation", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["makespan_s"] > 0
    assert "HiGHS" not in done.stderr


def test_a_second_value_and_one_without_json_alone_are_mistakes(capfd: pytest.CaptureFixture[str]) -> None:
    with output.json_alone():
        output.print_json(1)
        with pytest.raises(RuntimeError, match="one JSON value"):
            output.print_json(2)
    with pytest.raises(RuntimeError, match="not for JSON alone"):
        output.print_json(3)
    assert capfd.readouterr().out == "1\n"


def test_what_is_printed_meanwhile_goes_to_standard_error_and_afterwards_to_standard_output_again(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with output.json_alone():
        os.write(1, b"library\n")
        print("python")
        output.print_json({})
    print("after")
    os.write(1, b"")
    assert capfd.readouterr() == ("{}\nafter\n", "library\npython\n")


def closed_stream(number: int) -> subprocess.CompletedProcess[str]:
    """`eddy context --json`, started without one of its standard streams."""
    script = f"import os, sys; os.close({number}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", script, "-m", "eddy", "context", "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_answer_that_cannot_be_written_is_a_failure() -> None:
    done = closed_stream(1)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "eddy: cannot write: Bad file descriptor\n"


def test_an_answer_needs_no_standard_error() -> None:
    done = closed_stream(2)
    assert (done.returncode, done.stderr) == (0, "")
    assert "contexts" in json.loads(done.stdout)


def test_no_command_prints_json_past_print_json() -> None:
    """`print(json.dumps(...))` would be a second value: lines of JSON are of --format, errors go to standard error."""

    def past(call: ast.Call) -> bool:
        printed = ast.unparse(call.func) == "print" and "json.dumps" in ast.unparse(call)
        return printed and not any(keyword.arg == "file" for keyword in call.keywords)

    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(CLI.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and past(node)
    ]
    assert [name.partition(":")[0] for name in found] == ["job_list.py"]


def test_what_has_no_end_is_refused() -> None:
    for arguments in (["events", "--follow"], ["jobs", "--watch"]):
        environment = {**os.environ, "EDDY_URL": "http://127.0.0.1:9", "EDDY_KEY": "k"}
        command = [sys.executable, "-m", "eddy", *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert (done.returncode, done.stdout) == (output.USAGE, "")
        assert "--format json" in json.loads(done.stderr)["detail"]
