# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bitwuzla as a program: takes SMT-LIB commands on standard input and answers each at once, as `yosys-smtbmc` asks.

Its wheel is a library for Python, and has no program of that kind.
"""

from __future__ import annotations

import ctypes
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

NAME = "bitwuzla"
"""The program's name, by which `yosys-smtbmc` starts it."""
_TOKEN = re.compile(r'\|[^|]*\||"[^"]*"|;.*|[()]')
"""What parentheses may hide in (a quoted symbol, a string, a comment), or a parenthesis."""


def put_into(folder: Path) -> None:
    """Put the program into a folder that is then looked through for programs."""
    program = folder / NAME
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m eddy_sim.tools.smt_solver "$@"\n', encoding="utf-8"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def commands(lines: Iterable[str]) -> Iterator[str]:
    """Whole commands of SMT-LIB, each as soon as the line that ends it is there."""
    depth, text = 0, ""
    for line in lines:
        text += line
        found = [token for token in _TOKEN.findall(line) if token in "()"]
        depth += found.count("(") - found.count(")")
        if found and not depth:
            yield text
            text = ""


def main() -> None:
    """Answer commands until `(exit)` or the end of the input."""
    if "--help" in sys.argv:
        # What `yosys-smtbmc` looks for, to know how the program is started.
        print("--lang")
        return
    import bitwuzla

    parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
    flush = ctypes.CDLL(None).fflush
    for command in commands(sys.stdin):
        if command.startswith("(exit"):
            break
        parser.parse(command, parse_file=False)
        # The library prints its answer, and leaves it in the buffer of C.
        flush(None)


if __name__ == "__main__":
    main()
