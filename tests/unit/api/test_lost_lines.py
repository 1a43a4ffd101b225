# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lines that cannot be written are dropped and counted, and said once others can be; nobody is the worse for them."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from eddy.api.service import log_lines
from eddy.host import logs


def opened(descriptor: int) -> tuple[logs.Outlet, io.TextIOWrapper]:
    outlet = logs.Outlet(descriptor, says=True)
    outlet.patience_s = 0.01
    return outlet, logs.OutletText(outlet, "utf-8")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe that holds two pages; it is ready as long as one is free."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 8192)
    yield reading, writing
    for end in (reading, writing):
        with contextlib.suppress(OSError):
            os.close(end)


def test_a_full_device_takes_nothing_and_raises_nothing() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        outlet, stream = opened(full.fileno())
        print("one\ntwo", file=stream)
        stream.flush()
        assert outlet.lost == 2


def test_a_pipe_that_nobody_reads_any_more(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    outlet, stream = opened(writing)
    print("seen", file=stream)
    assert os.read(reading, 100) == b"seen\n"
    os.close(reading)
    for _ in range(3):
        print("lost", file=stream)
    assert outlet.lost == 3
    os.close(writing)
    print("lost too", file=stream)
    assert outlet.lost == 4


def test_a_pipe_whose_reader_stands_still_keeps_nobody_waiting(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    outlet, stream = opened(writing)
    for number in range(2000):
        print(f"line {number:04}", file=stream)
    assert outlet.lost > 1000
    kept = os.read(reading, 1 << 20).decode().splitlines()
    assert len(kept) + outlet.lost == 2000
    print("again", file=stream)
    said, again = os.read(reading, 1 << 20).decode().splitlines()
    assert f"{outlet.lost} lines of the log could not be written (it has no reader)" in said
    assert again == "again"
    print("and again", file=stream)
    assert os.read(reading, 1 << 20) == b"and again\n", "said once"


def test_a_command_waits_for_whoever_reads_its_lines(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    outlet, stream = opened(writing)
    outlet.patience_s = None
    text = "".join(f"line {number:04}\n" for number in range(2000))

    def write() -> None:
        stream.write(text)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    found = b""
    while piece := os.read(reading, 1 << 16):
        found += piece
    thread.join()
    assert (found.decode(), outlet.lost) == (text, 0)


def test_a_line_that_was_cut_short_is_ended_before_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "log").open("wb", buffering=0) as file:
        outlet, stream = opened(file.fileno())
        write = os.write
        room = 7

        def narrow(descriptor: int, data: memoryview) -> int:
            nonlocal room
            if not room:
                raise OSError(28, "No space left on device")
            done = write(descriptor, data[:room])
            room -= done
            return done

        monkeypatch.setattr(os, "write", narrow)
        print("hello, world", file=stream)
        print("lost", file=stream)
        monkeypatch.undo()
        print("there", file=stream)
    first, said, last = (tmp_path / "log").read_text().splitlines()
    assert (first, last, outlet.lost) == ("hello, ", "there", 2)
    assert "2 lines of the log could not be written (No space left on device)" in said


def test_what_was_lost_is_said_in_the_form_of_the_log(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_form", logs.JSON)
    reading, writing = pipe
    _, stream = opened(writing)
    for _ in range(100):
        print("x" * 100, file=stream)
    os.read(reading, 1 << 20)
    print("{}", file=stream)
    said = json.loads(os.read(reading, 1 << 20).splitlines()[0])
    assert (said["level"], said["logger"]) == ("warning", "eddy.host.logs")
    assert said["lines"] > 50


ALL_WAYS = """
import asyncio, logging, sys, threading, warnings
import structlog, typer
from rich.console import Console
from eddy.host import logs
from eddy.api.service import log_lines
from eddy.cli.support.output import print_status
logs.open_streams()
logs.guard_stdout()
log_lines.configure("debug", "text")

def failing():
    raise ValueError("in a thread")

class Odd:
    def __del__(self):
        raise ValueError("never heard")

async def failing_task():
    async def fails():
        raise ValueError("in a task")
    task = asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    del task

def all_ways():
    print_status("said")
    typer.echo("echoed", err=True)
    Console(stderr=True).print("drawn")
    logging.getLogger("uvicorn.error").warning("of a library")
    logging.getLogger("x").warning("%d", "not a number")
    structlog.get_logger("x").error("of structlog", exc_info=ValueError("x"))
    structlog.get_logger("x").exception("again")
    warnings.warn("warned")
    thread = threading.Thread(target=failing)
    thread.start()
    thread.join()
    Odd()
    asyncio.run(failing_task())
    print("printed", file=sys.stderr)
    print("on standard output", flush=True)

all_ways()
found = logs.count_lost_lines()
with open(sys.argv[1], "w") as file:
    file.write(str(found))
raise SystemExit(7)
"""


@pytest.mark.parametrize("sink", ["full", "pipe", "closed"])
def test_whoever_writes_is_not_harmed_and_all_is_counted(sink: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALL_WAYS, str(tmp_path / "lost")]
    reading, writing = os.pipe()
    os.close(reading)
    shell = {"full": ">/dev/full 2>&1", "pipe": f">&{writing} 2>&1", "closed": ">&- 2>&- <&-"}[sink]
    done = subprocess.run(["bash", "-c", f'"$@" {shell}', "bash", *command], check=False, pass_fds=[writing])
    os.close(writing)
    assert done.returncode == 7
    assert int((tmp_path / "lost").read_text()) >= 13


CLOSED = """
import os, sys
from eddy.host import logs
logs.open_streams()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
assert file > 2, file
os.system("echo to the output; echo to the error >&2")
"""


def test_no_file_takes_the_number_of_a_stream_that_is_closed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLOSED, str(tmp_path / "kept")]
    subprocess.run(["bash", "-c", '"$@" <&- >&- 2>&-', "bash", *command], check=True)
    assert (tmp_path / "kept").read_bytes() == b""


class FullFile(io.StringIO):
    """A file of somebody else's, on a full disk."""

    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("form", [logs.TEXT, logs.JSON])
def test_records_are_counted_where_another_stream_is_in_the_place_of_ours(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logs.count_lost_lines()
    monkeypatch.setattr(sys, "stderr", FullFile())
    log_lines.configure("info", form)
    structlog.get_logger("x").info("one")
    logging.getLogger("x").info("two")
    structlog.reset_defaults()
    assert logs.count_lost_lines() == before + 2


MANY_THREADS = """
import sys, threading
from eddy.host import logs
logs.open_streams()
logs.guard_stdout()
if len(sys.argv) > 1:
    sys.stderr = open(2, "w", closefd=False)
LENGTHS = (1, 30, 9000, 70_000)

def write(name):
    for number in range(60):
        text = str(number) + name * LENGTHS[number % 4]
        logs.write_rendered(f"<{text}\\n{text}\\n{text}>")

threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
sys.setswitchinterval(1e-5)
for each in threads:
    each.start()
for each in threads:
    each.join()
"""


@pytest.mark.parametrize("elsewhere", [[], ["elsewhere"]])
def test_records_of_several_threads_are_whole(tmp_path: Path, elsewhere: list[str]) -> None:
    with (tmp_path / "log").open("wb") as log:
        subprocess.run([sys.executable, "-c", MANY_THREADS, *elsewhere], check=True, stderr=log)
    whole = (tmp_path / "log").read_text()
    found = re.findall(r"<(\d+)([a-d])\2*\n\1\2+\n\1\2+>\n", whole)
    assert re.sub(r"<(\d+)([a-d])\2*\n\1\2+\n\1\2+>\n", "", whole) == ""
    assert len(set(found)) == len(found) == 240
