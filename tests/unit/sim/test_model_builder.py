# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Models built beside the board: one at a time, said on the way, failures with the compiler's last words, none left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from eddy.board.port.port import READY, Preparation
from eddy.core.errors import NotFound
from eddy_sim.design import model_builder
from eddy_sim.design.model_builder import ModelBuilder

SLOW = "import time, pathlib\nwhile not pathlib.Path({go!r}).exists(): time.sleep(0.02)\npathlib.Path({path!r}).touch()"
BAD = "import sys; [print('line', n, file=sys.stderr) for n in range(50)]; sys.exit('error: no such wire')"


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Rig:
    """A builder whose programs are small Python scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said, self.clock = folder, list[str](), Clock()
        self.started: list[str] = []
        self.builder = ModelBuilder(self.said.append, self.built, self.command, self.clock)

    def built(self, module: str) -> bool:
        if module == "nothing":
            raise NotFound("no module 'nothing'")
        return (self.folder / module).exists()

    def command(self, module: str) -> Sequence[str]:
        self.started.append(module)
        script = BAD if module == "bad" else SLOW.format(go=str(self.folder / "go"), path=str(self.folder / module))
        return [sys.executable, "-c", "import time; time.sleep(600)" if module == "endless" else script]

    def go(self) -> None:
        """Let programs end."""
        (self.folder / "go").touch()

    def until(self, module: str, condition: Callable[[Preparation], bool]) -> Preparation:
        deadline = time.monotonic() + 180
        while not condition(found := self.builder.prepare(module)):
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        return found


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.builder.close()


def test_a_model_that_is_there_is_ready_and_one_that_is_not_is_built_once(rig: Rig) -> None:
    (rig.folder / "dct").touch()
    assert rig.builder.prepare("dct") == READY
    first = rig.builder.prepare("zigzag")
    assert (first.ready, first.failed) == (False, "")
    assert first.doing == "building the simulation model of zigzag, 0 s so far"
    rig.go()
    rig.until("zigzag", lambda found: found.ready)
    assert rig.started == ["zigzag"]
    assert [line.partition(" the ")[0] for line in rig.said] == ["building", "built"]


def test_builds_wait_for_each_other_and_say_so(rig: Rig) -> None:
    rig.builder.prepare("one")
    second = rig.builder.prepare("two")
    assert second.doing == "building the simulation model of two as soon as that of one is"
    assert rig.started == ["one"]
    rig.go()
    rig.until("two", lambda found: found.ready)
    assert rig.started == ["one", "two"]


def test_a_long_build_is_spoken_of_again(rig: Rig) -> None:
    rig.builder.prepare("endless")
    rig.clock.now_s = 20.0
    assert rig.builder.prepare("endless").doing.endswith("20 s so far")
    assert rig.said[-1].endswith("20 s so far")


def test_a_build_that_fails_shows_the_end_of_what_the_compiler_said_and_is_tried_again_later(rig: Rig) -> None:
    failed = rig.until("bad", lambda found: bool(found.failed)).failed
    assert failed.startswith("the simulation model of bad cannot be built: line 39\n")
    assert failed.endswith("error: no such wire")
    assert rig.builder.prepare("bad").failed == failed
    assert rig.started == ["bad"]
    rig.clock.now_s += model_builder.FORGET_S + 1
    assert rig.builder.prepare("bad").failed == ""
    assert rig.started == ["bad", "bad"]


def test_what_is_no_module_is_left_to_the_load(rig: Rig) -> None:
    assert rig.builder.prepare("nothing") == Preparation(False, "", "no module 'nothing'")
    assert not rig.started


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_build_outlives_the_builder(rig: Rig) -> None:
    rig.builder.prepare("endless")
    assert rig.builder._current is not None
    process = rig.builder._current.process
    rig.builder.close()
    assert process.poll() is not None


def test_a_build_ends_with_its_compilers_when_its_parent_is_killed(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, threading\n"
        "from eddy_sim.design import model_builder\n"
        "def build(module, memory_bits):\n"
        "    compiler = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(compiler.pid) + '.')\n"
        "    compiler.wait()\n"
        "model_builder.build.build_module = build\n"
        "model_builder.main('x')\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, start_new_session=True)
    assert child.stdin is not None
    deadline = time.monotonic() + 180
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(".")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    compiler = int((tmp_path / "pid").read_text().rstrip("."))
    child.stdin.close()  # what the kernel does when a parent dies
    assert child.wait(180) == -9
    while alive(compiler) and time.monotonic() < deadline:
        time.sleep(0.02)
    state = Path(f"/proc/{compiler}/stat")
    assert not alive(compiler) or state.read_text().split()[2] == "Z"


def test_a_build_that_is_done_ends_well_while_its_parent_lives() -> None:
    script = (
        "import sys\n"
        "from eddy_sim.design import model_builder\n"
        "model_builder.build.build_module = lambda module, memory_bits: None\n"
        "sys.exit(model_builder.main('x'))\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert child.wait(180) == 0
    assert child.stderr is not None
    assert child.stdin is not None
    assert child.stderr.read() == b""
    child.stderr.close()
    child.stdin.close()


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "its-server-killed"])
def test_compilers_in_sessions_of_their_own_end_too(tmp_path: Path, killed: bool) -> None:
    note = tmp_path / "tool"
    tool = f"import os, time, pathlib; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(600)"
    build = (
        "import threading; from eddy_sim.design import model_builder; from eddy_sim.tools import toolchain;"
        "threading.Thread(target=model_builder._end_with_parent, daemon=True).start();"
        f"toolchain.run([{sys.executable!r}, '-c', {tool!r}], 'x', {{}})"
    )
    builder = ModelBuilder(built=lambda _: False, command=lambda _: [sys.executable, "-c", build])
    builder.prepare("any")
    deadline = time.monotonic() + 180
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if killed:
        assert builder._current is not None
        assert builder._current.process.stdin is not None
        builder._current.process.stdin.close()  # as the system does for a process that dies
        builder._current.process.stdin = None
        builder._current.process.wait(180)
    builder.close()
    while Path(f"/proc/{note.read_text()}/cmdline").exists() and Path(f"/proc/{note.read_text()}/cmdline").read_bytes():
        assert time.monotonic() < deadline, "a compiler was left behind"
        time.sleep(0.02)
