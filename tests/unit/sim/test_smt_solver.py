# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bitwuzla as a program that answers each command at once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from eddy_sim.tools import smt_solver

SETTINGS = "(set-option :produce-models true)\n(set-logic QF_BV)\n"


def test_commands_end_where_their_parentheses_do() -> None:
    lines = ["; (a comment\n", "(set-info :a |of ( two)|)\n", "(assert\n", '  (= "(" x)) ; )\n', "(check-sat)\n"]
    assert list(smt_solver.commands(lines)) == ["".join(lines[:2]), "".join(lines[2:4]), lines[4]]


def test_a_command_is_answered_before_the_next_is_asked(tmp_path: Path) -> None:
    smt_solver.put_into(tmp_path)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    started = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": {**os.environ, "PATH": path}}
    with subprocess.Popen([smt_solver.NAME], **started) as program:  # type: ignore[call-overload]

        def answer(commands: str) -> str:
            program.stdin.write(commands)
            program.stdin.flush()
            return str(program.stdout.readline()).strip()

        assert answer(f"{SETTINGS}(declare-fun |a b| () (_ BitVec 8))\n(push 1)\n(check-sat)\n") == "sat"
        assert answer("(assert (bvult |a b| #x00))\n(check-sat)\n") == "unsat"
        assert answer("(pop 1)\n(assert (= |a b| #x07))\n(check-sat)\n") == "sat"
        assert answer("(get-value (|a b|))\n") == "((|a b| #b00000111))"
        program.stdin.write("(exit)\n")
        program.stdin.flush()
        assert program.wait(180) == 0
