# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The first global id as a parameter: a loop over work-items that the optimizer can see.

`get_global_id(0)` reads through `eddy_first_id()`, which no library defines. Before a module is optimized, every
function that comes to it gets a parameter for that address, and passes it on; a kernel's stub has a variable of that
name. So what a kernel computes from its id is computed from the loop's variable, and its arguments stay in registers.

The text is clang's own, of a module it has not optimized: a definition begins with `define` and ends with `}`, an
instruction is one line, and whatever a source puts into strings has its line ends and quotes escaped.
"""

from __future__ import annotations

import re

READS = "eddy_first_id"
"""The function that stands for the address of the first global id."""
STUB = "eddy_call_"
LOOP_STUB = "eddy_loop_"
TILE_STUB = "eddy_tile_"
JOIN_STUB = "eddy_join_"
"""Begin the names of stubs: of kernels, of those whose lanes take several items (`eddy.gpu.work_items.item_loops`), of
those whose lanes take a tile of them at once (`eddy.gpu.work_items.tile_module`), and of those whose lanes do
neighbours at once (`eddy.gpu.work_items.item_pairs`)."""
_STUBS = (STUB, LOOP_STUB, TILE_STUB, JOIN_STUB)
_DEFINED = re.compile(r"^define [^@\n]*@([\w.$]+)\(")
_OWN = re.compile(r"^define (?:available_externally )?dso_local (?!hidden |protected )")
"""A function that others could have; one that is `extern inline` has no other definition either."""
_CALLED = re.compile(r"^\s+(?:%[\w.\"$-]+ = )?(?:tail |musttail |notail )?call [^@\n\"]*?@([\w.$]+)\(")
_READ = re.compile(rf"^(\s+%[\w.$-]+ = )(?:tail )?call [^@\n\"]*@{READS}\(\).*$")
_CONSTANT = re.compile(r"^(attributes #\d+ = \{ )convergent (.*\bmemory\(none\).*)$", re.M)
"""What reads an id or a size: the same in every work-item of a way, so it may be moved out of loops."""
_PARAMETER = "%eddy.first.id"
"""Its name in functions; no variable of a source has a dot in its name."""


def thread_item_id(ir: str) -> str:
    """A module whose functions hand the first global id on, and of which only the stubs are seen from outside.

    Args:
        ir: LLVM IR with the names of values kept.
    """
    lines = ir.split("\n")
    needing = _needing(lines)
    where = ""
    for k, line in enumerate(lines):
        defined = _DEFINED.match(line)
        if defined:
            where = defined[1]
            lines[k] = _definition(line, defined, where in needing)
        elif line == "}":
            where = ""
        elif where:
            lines[k] = _instruction(line, needing, f"%{READS}" if where.startswith(_STUBS) else _PARAMETER)
    return _CONSTANT.sub(r"\1\2", "\n".join(lines))


def _needing(lines: list[str]) -> set[str]:
    """Functions that come to the first global id, themselves or by what they call."""
    calls: dict[str, set[str]] = {}
    where = ""
    for line in lines:
        if defined := _DEFINED.match(line):
            where = defined[1]
            calls[where] = set()
        elif where and (called := _CALLED.match(line)):
            calls[where].add(called[1])
    needing: set[str] = set()
    found = {READS}
    while found:
        needing |= found
        found = {name for name, called in calls.items() if called & needing} - needing
    return needing - {READS}


def _definition(line: str, defined: re.Match[str], needs: bool) -> str:
    """A definition with its parameter; a function that is no stub is the module's own."""
    if defined[1].startswith(_STUBS):
        return line
    if needs:
        line = _with(line, defined.end(), _PARAMETER)
    return _OWN.sub("define internal ", line)


def _instruction(line: str, needing: set[str], at: str) -> str:
    """An instruction of a function in which `at` is the address of the first global id."""
    read = _READ.match(line)
    if read:
        return f"{read[1]}getelementptr i8, ptr {at}, i32 0"
    called = _CALLED.match(line)
    return _with(line, called.end(), at) if called and called[1] in needing else line


def _with(line: str, place: int, name: str) -> str:
    """A line with one more parameter or argument, the first."""
    rest = line[place:]
    return f"{line[:place]}ptr noundef {name}{'' if rest.startswith(')') else ', '}{rest}"
