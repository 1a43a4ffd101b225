# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs of jobs that were accepted in an earlier life, which another version of Eddy may have compiled.

How a program is laid out, started and given its arguments belongs to the compiler, library and planner it was made
with. One that was made with others is not run: the source is compiled again.
"""

from __future__ import annotations

import functools

from eddy.gpu.compilation import library
from eddy.gpu.compilation.toolchain import CompilerMissing
from eddy.gpu.programs.program import Program

PROGRAMS = 16
"""Programs remembered; a few tens of kilobytes each."""


def load_program(text: str) -> Program | None:
    """A program as it was kept; None where it was made with another compiler or library, or cannot be read.

    Where there is no compiler now, nothing can be made again, and any that can be read will do.
    """
    program = _read(text)
    if program is None:
        return None
    try:
        return program if program.made_by == library.digest(program.fpu) else None
    except CompilerMissing:
        return program


@functools.lru_cache(maxsize=PROGRAMS)
def _read(text: str) -> Program | None:
    """The same text gives the same program while it is remembered: thousands of jobs may run one kernel."""
    try:
        return Program.from_json(text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
