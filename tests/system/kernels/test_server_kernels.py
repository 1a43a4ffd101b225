# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels from client and command over real HTTP, on a model board whose clusters compute."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.cli.main import app
from eddy.cli.support.output import escape_terminal
from eddy.cli.tenant.kernel import only_kernel, read_source
from eddy.client import Client, JobFailed
from eddy.client.calls.kernel import Local
from eddy.core.errors import CompilationFailed, InvalidRequest, NotFound
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import STEP, kernel_board, step_arrays, stepped
from typer.testing import CliRunner
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]
SUMS = """kernel void sums(global const int *x, global int *out, local int *t) {
  uint l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) { int s = 0; for (uint k = 0; k < get_local_size(0); k++) s += t[k]; out[get_group_id(0)] = s; }
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = ServerSettings(
        "model",
        "tiny",
        "fcfs",
        tmp_path_factory.mktemp("data"),
        ROOT / "bitstreams",
        port=0,
        kernels=KernelLimits(4, 5e-2, waves=8),
        kernel_cache=CACHE,
    )
    with Server(settings, board=kernel_board()).background() as running:
        yield running


@pytest.fixture(scope="module")
def keys(server: Server) -> dict[str, str]:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        return {name: operator.add_tenant(name)["key"] for name in ("ada", "grace")}


@pytest.fixture
def ada(server: Server, keys: dict[str, str]) -> Iterator[Client]:
    with Client(server.url, keys["ada"]) as client:
        yield client


def test_it_feels_like_arrays_and_launches_overlap(ada: Client) -> None:
    step = ada.kernel(STEP, "step")
    arrays = [step_arrays(200, salt) for salt in (1, 2)]
    wanted = [stepped(y, x, 3) for y, x in arrays]
    launched = [step.launch(200, y, x, 3) for y, x in arrays]
    for job, (y, _), right in zip(launched, arrays, wanted, strict=True):
        job.wait(timeout_s=180)
        np.testing.assert_array_equal(y, right)
        assert job.log == "1\n65\n129\n193\n"
        assert job.parallel_fraction is not None
        assert 0.9 < job.parallel_fraction <= 1
    shown = ada.show(launched[0].id)
    assert (shown["kind"], shown["application"], shown["progress"]) == (
        "kernel",
        "kernel:step",
        {"done": shown["batch"], "total": shown["batch"]},
    )
    assert shown["kernel"] is not None
    counters = shown["kernel"]["counters"]
    assert counters is not None
    assert counters["total_active_cycles"] == sum(counters["cycle_thread"])
    assert set(ada.outputs(launched[0].id)) == {"y"}
    np.testing.assert_array_equal(ada.outputs(launched[0].id)["y"], wanted[0])


def test_a_log_cannot_steer_a_terminal() -> None:
    assert escape_terminal("plain\ttext \u00e4\r\n") == "plain\ttext \u00e4\r\n"
    assert escape_terminal("real\reddy: forged\r\n") == "real\\reddy: forged\r\n"
    assert escape_terminal("\x1b]0;title\x07\x9b2J\x08") == "\\x1b]0;title\\x07\\x9b2J\\x08"


def test_local_memory_and_work_groups(ada: Client) -> None:
    x, out = np.arange(32, dtype="i4"), np.zeros(4, "i4")
    ada.kernel(SUMS, "sums").launch(32, x, out, Local(32), local_size=8).wait(timeout_s=180)
    np.testing.assert_array_equal(out, x.reshape(4, 8).sum(axis=1))


def test_an_array_given_twice_is_one_array(ada: Client) -> None:
    y, _ = step_arrays(20)
    wanted = y * np.uint32(1664525) + y
    ada.kernel(STEP, "step").launch(20, y, y, 1).wait(timeout_s=180)
    np.testing.assert_array_equal(y, wanted)


def test_refusals_are_problems_with_place_and_number(ada: Client) -> None:
    with pytest.raises(CompilationFailed, match=r"kernel\.cl:1:36: error: use of undeclared identifier 'z'") as caught:
        ada.kernel("kernel void k(global int *y) { y = z; }", "k").launch(1, np.zeros(1, "i4"))
    assert caught.value.details["diagnostics"][0] == {
        "file": "kernel.cl",
        "line": 1,
        "column": 36,
        "severity": "error",
        "message": "use of undeclared identifier 'z'",
    }
    with pytest.raises(InvalidRequest, match=r"2048 work-items, .* at most 1024") as refused:
        ada.kernel(SUMS, "sums").launch(4096, None, None, Local(4), local_size=2048)
    assert (refused.value.details["field"], refused.value.details["allowed"]) == ("kernel.local_size", 1024)
    assert not [job for job in ada.jobs() if job["state"] not in ("succeeded", "failed")]


def test_a_kernel_that_goes_wrong_says_where(ada: Client) -> None:
    y = np.zeros(4, "u4")
    with pytest.raises(JobFailed, match=r"store_misaligned in crooked\+0x") as caught:
        ada.kernel(STEP, "crooked").launch(4, y).wait(timeout_s=180)
    assert caught.value.details["cause"] == "misaligned-access"
    assert not y.any()


def test_another_tenants_kernel_and_arrays_do_not_show(ada: Client, server: Server, keys: dict[str, str]) -> None:
    y, x = step_arrays(64)
    job = ada.kernel(STEP, "step").launch(64, y, x, 1).wait(timeout_s=180)
    with Client(server.url, keys["grace"]) as grace:
        for call in (grace.show, grace.log, lambda number: grace.output_bytes(number, "y")):
            with pytest.raises(NotFound):
                call(job.id)
        request: dict[str, Any] = {"source": STEP, "kernel": "step", "global_size": [64]}
        digest = hashlib.sha256(x.tobytes()).hexdigest()
        request["arguments"] = [{"null": True}, {"buffer": digest, "dtype": "<u4", "shape": [64]}, {"value": 1}]
        with pytest.raises(InvalidRequest, match="of yours"):
            grace.transport.request("POST", "/v1/jobs", body={"kernel": request})


GOOD: dict[str, Any] = {"source": SUMS, "kernel": "sums", "global_size": [4], "arguments": []}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "application"),
        ({"application": "x", "kernel": GOOD}, "application"),
        ({"kernel": GOOD, "batch": 2}, "batch"),
        ({"kernel": GOOD, "inputs": {}}, "inputs"),
        ({"application": "x", "time_limit_s": 1.0}, "time_limit_s"),
        ({"kernel": {**GOOD, "extra": 1}}, "kernel.extra"),
        ({"kernel": {**GOOD, "global_size": [1, 1, 1, 1]}}, "kernel.global_size"),
        ({"kernel": {**GOOD, "global_size": [1.5]}}, "kernel.global_size[0]"),
        ({"kernel": {**GOOD, "kernel": "no name"}}, "kernel.kernel"),
        ({"kernel": {**GOOD, "source": ""}}, "kernel.source"),
        ({"kernel": {**GOOD, "defines": {"A": 1}}}, "kernel.defines.A"),
        ({"kernel": {**GOOD, "defines": {"A B": "1"}}}, "kernel.defines.A B"),
        ({"kernel": {**GOOD, "arguments": [{"shape": [1]}]}}, "kernel.arguments[0]"),
        ({"kernel": {**GOOD, "arguments": [{"null": True, "value": 1}]}}, "kernel.arguments[0]"),
        ({"kernel": {**GOOD, "arguments": [{"value": {"a": [[]]}}]}}, "kernel.arguments[0]"),
        ({"kernel": {**GOOD, "local_size": [0]}}, "kernel.local_size"),
        ({"kernel": {**GOOD, "offset": [2**31]}}, "kernel.offset"),
    ],
)
def test_a_wrong_field_is_named(server: Server, keys: dict[str, str], body: dict[str, Any], field: str) -> None:
    headers = {"Authorization": f"Bearer {keys['ada']}"}
    answer = httpx.post(f"{server.url}/v1/jobs", json=body, headers=headers, timeout=180)
    assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text


@pytest.mark.parametrize("source", ["\ud800", "#include </etc/passwd>\nkernel void k(){}"])
def test_hostile_sources_are_refused_as_problems(server: Server, keys: dict[str, str], source: str) -> None:
    headers = {"Authorization": f"Bearer {keys['ada']}", "Content-Type": "application/json"}
    text = json.dumps({"kernel": {"source": source, "kernel": "k", "global_size": [1]}})
    answer = httpx.post(f"{server.url}/v1/jobs", content=text, headers=headers, timeout=180)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def run(server: Server, keys: dict[str, str], *arguments: object) -> Any:
    environment = {"EDDY_URL": server.url, "EDDY_KEY": keys["ada"], "COLUMNS": "80"}
    return CliRunner().invoke(app, [str(part) for part in arguments], env=environment)


def test_the_command_runs_a_kernel_from_files(server: Server, keys: dict[str, str], tmp_path: Path) -> None:
    y, x = step_arrays(100)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "k.cl").write_text(STEP)
    arrays = ("-a", tmp_path / "y.npy", "-a", tmp_path / "x.npy", "-a", "2")
    done = run(server, keys, "kernel", tmp_path / "k.cl", "-k", "step", "-g", 100, *arrays, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), stepped(y, x, 2))
    assert "fraction F = " in done.stdout
    assert done.stdout.endswith("1\n65\n")
    assert max(map(len, done.stdout.splitlines())) <= 80 + len(str(tmp_path))
    done = run(server, keys, "kernel", tmp_path / "k.cl", "-k", "step", "-g", 100, *arrays, "--json")
    told = json.loads(done.stdout)
    assert (told["state"], told["log"]) == ("succeeded", "1\n65\n")
    assert run(server, keys, "log", told["id"]).stdout == "1\n65\n"
    assert "kernel:step" in run(server, keys, "jobs").stdout
    assert "step on gpu_1c4w4t" in run(server, keys, "job", told["id"]).stdout


BUILT = (
    '#include "lib/scale.h"\nkernel void f(global int *a) { uint i = get_global_id(0); a[i] = scaled(a[i]) + MORE; }\n'
)
SCALE = "#pragma once\nint scaled(int x) { return FACTOR * x; }\n"


def test_a_launch_is_tried_without_a_job(server: Server, keys: dict[str, str], ada: Client, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(STEP)
    _, x = step_arrays(100, 9)
    np.save(tmp_path / "x.npy", x)
    launch = ("kernel", tmp_path / "k.cl", "-k", "step", "-g", 100, "-a", "zeros:u4:100", "-a", tmp_path / "x.npy")
    before = len(ada.jobs())
    tried = run(server, keys, *launch, "-a", 3, "--dry-run", "--json")
    assert tried.exit_code == 0, tried.output
    found = json.loads(tried.stdout)
    assert (found["admitted"], found["pool"]) == (True, "gpu")
    said = run(server, keys, *launch, "-a", 3, "--dry-run")
    assert "would run     the kernel" in said.stdout
    (tmp_path / "k.cl").write_text(STEP.replace("kernel void", "kernel vide", 1))
    refused = run(server, keys, *launch[:1], tmp_path / "k.cl", "-k", "step", "-g", 100, "--dry-run")
    assert refused.exit_code != 0, "what would be refused is refused just so"
    assert len(ada.jobs()) == before


def test_headers_and_options_travel(server: Server, keys: dict[str, str], ada: Client, tmp_path: Path) -> None:
    a = np.arange(8, dtype="i4")
    kernel = ada.kernel(BUILT, "f", {"MORE": 1}, includes={"lib/scale.h": SCALE}, options="-DFACTOR=3 -cl-mad-enable")
    kernel.launch(8, a).wait(timeout_s=180)
    assert a.tolist() == [3 * k + 1 for k in range(8)]
    many = {"lib/scale.h": SCALE, **{f"lib/table{k}.h": f"// line of table {k}\n" * 60_000 for k in range(2)}}
    ada.kernel(BUILT, "f", {"MORE": 2}, includes=many, options="-DFACTOR=1").launch(8, a).wait(timeout_s=180)
    assert a.tolist() == [3 * k + 3 for k in range(8)], "headers of more than a request may have travel deflated"
    with pytest.raises(CompilationFailed, match=r"lib/scale.h:2:\d+: error"):
        ada.kernel(BUILT, "f", {"MORE": 1}, includes={"lib/scale.h": SCALE}).launch(8, a)
    with pytest.raises(InvalidRequest, match="'-fplugin=x' is not known") as caught:
        ada.kernel(BUILT, "f", options="-fplugin=x").launch(8, a)
    assert caught.value.details["field"] == "kernel.options"
    with pytest.raises(CompilationFailed, match="file not found"):
        ada.kernel(BUILT.replace("lib/scale.h", "/etc/passwd"), "f", includes={"lib/scale.h": SCALE}).launch(8, a)
    (tmp_path / "lib").mkdir()
    (tmp_path / "k.cl").write_text(BUILT)
    (tmp_path / "lib" / "scale.h").write_text(SCALE)
    np.save(tmp_path / "a.npy", np.arange(8, dtype="i4"))
    told = ("--include", tmp_path / "lib" / "scale.h", "--options", "-D FACTOR=5", "-D", "MORE=2")
    arguments = ("-g", 8, "-a", tmp_path / "a.npy", *told, "--out", tmp_path / "out")
    done = run(server, keys, "kernel", tmp_path / "k.cl", *arguments)
    assert done.exit_code == 0, done.output
    assert np.load(tmp_path / "out" / "a.npy").tolist() == [5 * k + 2 for k in range(8)]


def test_the_command_says_what_is_wrong(server: Server, keys: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(STEP)
    failed = run(server, keys, "kernel", tmp_path / "k.cl", "-k", "crooked", "-g", 4, "-a", "zeros:u4:4")
    assert failed.exit_code == 1
    assert "store_misaligned in crooked" in failed.stderr
    (tmp_path / "bad.cl").write_text("kernel void k(global int *y) { y = z; }")
    failed = run(server, keys, "kernel", tmp_path / "bad.cl", "-g", 4, "-a", "null")
    assert failed.exit_code == 4
    assert "kernel.cl:1:36: error" in failed.stderr
    for arguments, hint in (
        (("-g", "4y4", "-k", "step"), "one to three whole numbers"),
        (("-g", 4), "The file has 4 kernels, step, wild, spin, crooked: say which with --name"),
        (("-g", 4, "-k", "step", "-a", "none.npy"), "--arg 0"),
        (("-g", 4, "-k", "step", "-a", "zeros:q9:4"), "--arg 0"),
    ):
        failed = run(server, keys, "kernel", tmp_path / "k.cl", *arguments)
        assert failed.exit_code == 2
        assert hint in failed.stderr


TUTORIAL = (ROOT / "docs" / "tutorials" / "first-kernel.md").read_text()


def program(name: str, after: str) -> str:
    """A program of the tutorial, as it is to be saved."""
    return textwrap.dedent(TUTORIAL.split(f"`{name}`:\n\n")[1].split(after)[0])


def python(code: str, script: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script.write_text(code)
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_the_tutorials_program_runs(server: Server, keys: dict[str, str], tmp_path: Path) -> None:
    code, where = program("hello.py", "\nand run it:"), {"EDDY_URL": server.url, "EDDY_KEY": keys["ada"]}
    done = python(code, tmp_path / "hello.py", **where)
    assert done.returncode == 0, done.stderr
    promised = TUTORIAL.split("It prints\n\n")[1].splitlines()[0].strip()
    assert re.sub("job [0-9]+", "job N", done.stdout).startswith(re.sub("job [0-9]+", "job N", promised) + "\n")
    wrong = python(code.replace("y[i] = a", "z[i] = a"), tmp_path / "wrong.py", **where)
    assert next(line.strip() for line in TUTORIAL.splitlines() if "CompilationFailed" in line) in wrong.stderr
    size = re.search(r"local_size=\d+", TUTORIAL)
    assert size is not None
    large = python(code.replace("np.float32(2.5))", f"np.float32(2.5), {size[0]})"), tmp_path / "large.py", **where)
    limit = next(part for part in TUTORIAL.split("`") if part.startswith("A work-group of"))
    assert f"InvalidRequest: {limit}" in large.stderr


@pytest.mark.rtl
@pytest.mark.xdist_group("simulated board")
def test_the_tutorials_program_without_a_server_runs(tmp_path: Path) -> None:
    code = program("alone.py", "`done.counters").replace(
        "Compiler()", f"Compiler(__import__('pathlib').Path({str(CACHE)!r}))"
    )
    done = python(code, tmp_path / "alone.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[0. 2. 4.]")


def test_sources_are_read_in_the_characters_they_are_in(tmp_path: Path) -> None:
    for code in ("utf-8", "latin-1"):
        (tmp_path / "a.cl").write_bytes("// \u00a9\r\n".encode(code))
        assert read_source(tmp_path / "a.cl") == "// \u00a9\r\n"


def test_the_only_kernel_of_a_file_is_found() -> None:
    assert only_kernel("__kernel\nvoid a(int x) {}") == "a"
    assert only_kernel("kernel __attribute__((reqd_work_group_size(4,1,1))) void b(int x) {}") == "b"
    with pytest.raises(InvalidRequest):
        only_kernel("void c() {}")
