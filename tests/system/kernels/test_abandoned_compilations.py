# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compilations nobody waits for any more end, with their processes and folders; clients that wait are told so."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import AnswerTimeout, Client
from eddy.client.calls.client_calls import SUBMIT_TIMEOUT_S
from eddy.gpu.compilation import abandon, sandbox, toolchain
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.compilation.sandbox import Limits
from eddy.gpu.programs.program import Program
from eddy.hypervisor.intake.compilations import run_abandonable
from kernel_kit import STEP, kernel_board, step_arrays
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]
SLOW = (
    STEP
    + "#define A0(...) __VA_ARGS__ __VA_ARGS__\n"
    + "".join(f"#define A{k}(...) A{k - 1}(__VA_ARGS__) A{k - 1}(__VA_ARGS__)\n" for k in range(1, 40))
)
SLOW += "constant int t[] = { A28(1,) };\n"
"""Keeps the compiler busy until its own limit ends it, long after any test's patience."""
PATIENCE_S = 300.0
UNHURRIED = Limits(cpu_s=600, wall_s=600.0)


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers here end because they are ended, never by their limit: on a busy machine that comes any time."""
    monkeypatch.setattr("eddy.gpu.compilation.compiler.Limits", lambda: UNHURRIED)


def compilers() -> set[int]:
    """Process ids of the compilers this process has started."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(status[1]) == os.getpid() and status[0] != "Z" and (b"confine.py" in command or b"clang" in command):
                found.add(int(entry.name))
    return found


def soon(what: Callable[[], object]) -> bool:
    """Whether it becomes true within some minutes. It is not asked again: compilers follow each other with gaps."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path, ROOT / "bitstreams", port=0, kernel_cache=CACHE)
    with Server(settings, board=kernel_board()).background() as running:
        yield running


def submission(server: Server, key: str, source: str) -> bytes:
    """A kernel's submission as it goes over the wire."""
    request = httpx.Request(
        "POST",
        f"{server.url}/v1/jobs",
        headers={"Authorization": f"Bearer {key}"},
        json={"kernel": {"source": source, "kernel": "step", "global_size": [4], "arguments": []}},
    )
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    return f"POST /v1/jobs HTTP/1.1\r\n{head}\r\n".encode() + request.read()


def test_a_client_that_leaves_ends_its_compiler_and_frees_its_place(server: Server) -> None:
    key = server.key_file.read_text().strip()
    for _ in range(3):  # more than there are places, one tenant's after the other
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(submission(server, key, SLOW))
            assert soon(compilers)
        assert soon(lambda: not compilers())
    y, x = step_arrays(64)
    with Client(server.url, key, submit_timeout_s=PATIENCE_S) as client:
        client.kernel(STEP, "step").launch(64, y, x, 1).wait(timeout_s=PATIENCE_S)


def test_one_who_leaves_while_waiting_for_a_turn_is_not_compiled_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    compile_source = Compiler.compile

    def recorded(self: Compiler, source: str, **settings: Any) -> Program:
        compiled.append(source)
        return compile_source(self, source, **settings)

    monkeypatch.setattr(Compiler, "compile", recorded)
    key = server.key_file.read_text().strip()
    with socket.create_connection((server.host, server.port)) as first:
        first.sendall(submission(server, key, SLOW))
        assert soon(lambda: compiled)
        with socket.create_connection((server.host, server.port)) as second:
            second.sendall(submission(server, key, SLOW + "// second\n"))
            time.sleep(0.3)
        time.sleep(0.3)
    # Whose turn comes next is compiled for: the one who left is not, or its compiler would run before this one.
    third = STEP + "// third\n"
    y, x = step_arrays(64)
    with Client(server.url, key, submit_timeout_s=PATIENCE_S) as client:
        client.kernel(third, "step").launch(64, y, x, 1).wait(timeout_s=PATIENCE_S)
    assert [("// second" in source, "// third" in source) for source in compiled] == [(False, False), (False, True)]
    assert soon(lambda: not compilers())


def test_a_server_that_stops_ends_its_compilers(tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path, ROOT / "bitstreams", port=0, kernel_cache=CACHE)
    with Server(settings, board=kernel_board()).background() as running:
        connection = socket.create_connection((running.host, running.port))
        connection.sendall(submission(running, running.key_file.read_text().strip(), SLOW))
        assert soon(compilers)
        stopped_s = time.monotonic()
    assert time.monotonic() - stopped_s < PATIENCE_S
    assert soon(lambda: not compilers())
    connection.close()


def test_a_client_that_waits_is_told_that_the_server_is_busy(server: Server) -> None:
    key = server.key_file.read_text().strip()
    with Client(server.url, key, submit_timeout_s=1.0) as client:
        client.transport.pause = lambda seconds: None
        with pytest.raises(AnswerTimeout, match="did not answer within 1 s") as caught:
            client.kernel(SLOW, "step").launch(4)
    assert "Nothing answers" not in caught.value.message
    assert (caught.value.code, caught.value.details["timeout_s"]) == ("answer-timeout", 1.0)
    assert soon(lambda: not compilers())


def test_a_submission_may_take_longer_than_other_requests(server: Server) -> None:
    asked: dict[str, float] = {}

    def seen(request: httpx.Request) -> None:
        asked[f"{request.method} {request.url.path.split('/')[2]}"] = request.extensions["timeout"]["read"]

    y, x = step_arrays(64)
    with Client(server.url, server.key_file.read_text().strip(), timeout_s=PATIENCE_S) as client:
        client.transport._http.event_hooks = {"request": [seen]}
        assert client.kernel(STEP + f"// {os.urandom(8).hex()}\n", "step").launch(64, y, x, 1).id >= 1
    assert asked == {"HEAD blobs": PATIENCE_S, "PUT blobs": PATIENCE_S, "POST jobs": SUBMIT_TIMEOUT_S}
    assert SUBMIT_TIMEOUT_S > PATIENCE_S


def test_a_compiler_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = """
        import sys
        from eddy.gpu.compilation import sandbox
        from eddy.gpu.compilation import toolchain
        print("ready", flush=True)
        sandbox._feed = lambda feed, left, selector: (selector.unregister(feed), left)[1]
        sandbox.run((toolchain.executable(), "clang", "-x", "c", "-E", "-"), b"x")
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()

        def children(of: int) -> list[int]:
            return [int(pid) for pid in Path(f"/proc/{of}/task/{of}/children").read_text().split()]

        def compiling() -> list[int]:
            below = [child for starter in children(parent.pid) for child in children(starter)]
            return [pid for pid in below if b"clang" in Path(f"/proc/{pid}/cmdline").read_bytes()]

        try:
            assert soon(compiling)
            (starter,), (child,) = children(parent.pid), compiling()
        finally:
            parent.kill()
        parent.wait()
        assert soon(lambda: not alive(child) and not alive(starter))


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_is_abandoned_raises_and_leaves_no_process() -> None:
    stop = threading.Event()
    raised: list[BaseException] = []

    def work() -> None:
        with abandon.abandon_scope(stop):
            try:
                Compiler(CACHE).compile(SLOW)
            except abandon.WorkAbandoned as error:
                raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert soon(compilers)
    stop.set()
    thread.join(PATIENCE_S)
    assert raised
    assert not compilers()
    with abandon.abandon_scope(stop), pytest.raises(abandon.WorkAbandoned):
        sandbox.run((toolchain.executable(), "clang", "--version"))


def test_places_are_free_once_the_work_has_ended() -> None:
    begun, ended = list[str](), list[str]()

    def work(name: str) -> str:
        begun.append(name)
        while name == "slow" and not abandon.is_abandoned():
            time.sleep(0.01)
        ended.append(name)
        return name

    async def play() -> None:
        limiter = anyio.CapacityLimiter(1)
        with anyio.fail_after(180):
            async with anyio.create_task_group() as group:
                group.start_soon(partial(run_abandonable, work, "slow", limiter=limiter))
                while not begun:
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
        assert ended == ["slow"]
        assert limiter.available_tokens == 1
        with anyio.fail_after(180):
            assert await run_abandonable(work, "quick", limiter=limiter) == "quick"

        def fails() -> None:
            raise ValueError("as it is")

        with pytest.raises(ValueError, match="as it is"):
            await run_abandonable(fails, limiter=limiter)

    anyio.run(play)


def test_folders_of_killed_links_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    old, new = tmp_path / f"eddy-link-{gone.pid}-old", tmp_path / f"eddy-link-{gone.pid}-new"
    # The clock jumped while this one was being worked in.
    living = tmp_path / f"eddy-link-{os.getpid()}-living"
    for folder in (old, new, living):
        folder.mkdir()
        (folder / "kernel.o").write_bytes(b"x")
    for folder in (old, living):
        os.utime(folder, (1, 1))
    Compiler(CACHE)
    assert not old.exists()
    assert new.exists()
    assert living.exists()
