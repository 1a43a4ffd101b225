# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy gpu run`: how a program may end, and what is said about it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eddy.cli.boards import gpu
from eddy.cli.main import app
from eddy_sim.gpu import run as gpu_run
from eddy_sim.gpu.assemble import assemble
from typer.testing import CliRunner
from unit.gpu_kit import build_quickly

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_core")]

TOHOST = '.section .tohost, "aw"\n.align 6\n.globl tohost\ntohost: .dword 0\n'
END = ".insn r 0x0b, 0, 0, x0, x0, x0\n"
STORE = "la a1, tohost\nsw a0, 0(a1)\nsw zero, 4(a1)\n1: j 1b\n"


def elf(text: str) -> Path:
    return assemble(".section .text.init\n.globl _start\n_start:\n" + text + TOHOST)


def run(text: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit status and JSON."""
    outcome = CliRunner().invoke(app, ["gpu", "run", str(elf(text)), "--json", *options])
    return outcome.exit_code, json.loads(outcome.stdout)


@pytest.mark.parametrize(
    ("text", "options", "ended_by", "exit_code"),
    [
        ("li a0, 1\n" + STORE, (), "tohost", 0),
        ("li a0, 15\n" + STORE, (), "tohost", 7),
        ("li a0, 0\nli a1, 0x88\nsw a0, 0(a1)\n1: j 1b\n", (), "exit", 0),
        ("li a0, 5\nli a1, 0x88\nsw a0, 0(a1)\n" + END, (), "exit", 5),
        (END, (), "idle", 0),
        (".word 0\n", (), "fault", 130),
        ("1: j 1b\n", ("--max-cycles", "5000"), "max-cycles", 124),
    ],
)
def test_every_end_has_its_code(text: str, options: tuple[str, ...], ended_by: str, exit_code: int) -> None:
    status, document = run(text, *options)
    assert (document["ended_by"], document["exit_code"]) == (ended_by, exit_code)
    assert status == (1 if exit_code else 0)


def test_the_limit_counts_what_is_shown() -> None:
    """Not the cycles in which the cores are cleared before they begin."""
    text = "nop\n" * 50 + END
    _, whole = run(text)
    for limit, ended_by in ((whole["cycles"] - 1, "max-cycles"), (whole["cycles"], "idle"), (60, "max-cycles")):
        _, document = run(text, "--max-cycles", str(limit))
        assert (document["ended_by"], document["cycles"]) == (ended_by, limit)
    for limit in (1, 1000, 5000):
        assert run("1: j 1b\n", "--max-cycles", str(limit))[1]["cycles"] == limit


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/reference/gpu-run.md").read_text(encoding="utf-8")
    source, command = (
        page.split("```asm\n")[1].split("```")[0],
        re.search(r"^    python (-m ziglang cc .*)$", page, re.M),
    )
    assert command is not None
    (tmp_path / "p.S").write_text(source, encoding="utf-8")
    environment = {**os.environ, "ZIG_LOCAL_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, *shlex.split(command[1])], cwd=tmp_path, env=environment, check=True)
    outcome = CliRunner().invoke(app, ["gpu", "run", str(tmp_path / "p.elf")])
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("E\nexit code            0 (ended by exit)\n")


def test_counters_add_up() -> None:
    _, document = run("li a0, 15\n.insn r 0x0b, 0, 0, x0, a0, x0\n" + "nop\n" * 50 + END)
    assert document["cycle_thread"][3] == 51
    assert document["cycle_thread"][0] == 2
    assert sum(document["cycle_thread"]) == document["total_active_cycles"] == document["instructions"] == 53
    assert document["cycles"] > 53


def test_a_shape_and_all_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    build_quickly(monkeypatch)
    shape = ("--cores", "2", "--warps", "1", "--threads", "2", "--no-fpu")
    _, one = run("csrr a0, mhartid\n" + END, *shape)
    _, all_of_them = run("csrr a0, mhartid\n" + END, *shape, "--all-cores")
    assert (one["instructions"], all_of_them["instructions"]) == (2, 4)
    assert len(one["cycle_thread"]) == 2
    status, document = run("fadd.s fa0, fa0, fa0\n", *shape)
    assert (status, document["exit_code"], document["faults"][0]["cause"]) == (1, 130, 2)


def test_people_are_told_the_same() -> None:
    text = "li a1, 0x40\nli a0, 'h'\nsb a0, 0(a1)\nli a0, 'i'\nsb a0, 0(a1)\nlw a0, 1(a1)\n"
    outcome = CliRunner().invoke(app, ["gpu", "run", str(elf(text))])
    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("hi\nexit code            132 (ended by fault)\n")
    assert "core 0 stopped: misaligned load, pc 0x80000014, value 0x00000041" in outcome.stdout


@pytest.mark.parametrize("arguments", [["none.elf"], ["x", "--warps", "17"], ["x", "--cores", "0"]])
def test_what_cannot_be_run_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["gpu", "run", *arguments]).exit_code in (2, 4)


def test_the_default_bound_is_the_simulation_s() -> None:
    assert gpu.MAX_CYCLES == gpu_run.MAX_CYCLES
