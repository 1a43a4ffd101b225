# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`__local` variables of each work-group: where a core runs several groups, each has its own.

Variables have one address. A kernel's function reads them from a base that depends on the group's place instead, where
that can be written into the module's text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOCAL = re.compile(r"^(@[\w.$]+) = internal (?:unnamed_addr )?global ", re.M)
_NAMED = re.compile(r"@[\w.$]+")
_GEP = re.compile(r"getelementptr((?: inbounds| nuw| nusw)*) \(")


@dataclass(frozen=True, slots=True)
class PlacedFunction:
    """A function that finds its `__local` variables by values instead of by their addresses.

    Attributes:
        text: The function.
        names: The variables, each by the value that stands for it.
    """

    text: str
    names: dict[str, str]


def local_variables(ir: str) -> set[str]:
    """The `__local` variables of a module, by name."""
    return set(_LOCAL.findall(ir))


def share_locals(ir: str) -> str:
    """A module whose `__local` variables stay memory of the work-group.

    To the optimizer one that a kernel writes before it reads it, and nothing else names, is a variable of the kernel's
    own; what begins with a value from outside the module is not.
    """
    return _LOCAL.sub(lambda found: f"{found[0].removesuffix('global ')}externally_initialized global ", ir)


def place_locals(text: str, variables: set[str]) -> PlacedFunction | None:
    """A function with values in place of `__local` variables; None where one is used in another way than as an address.

    Args:
        text: The function's.
        variables: All of the module.
    """
    used = dict.fromkeys(name for name in _NAMED.findall(text) if name in variables)
    names = {f"%eddy.local{k}": name for k, name in enumerate(used)}
    values = {name: value for value, name in names.items()}
    lines: list[str] = []
    for line in text.split("\n"):
        if not variables & set(_NAMED.findall(line)):
            lines.append(line)
            continue
        before, line = _apart(line, len(lines))
        if (before and " = phi " in line) or re.search(r" \([^()]*@", line):
            return None
        lines += [_NAMED.sub(lambda found: values.get(found[0], found[0]), one) for one in (*before, line)]
    return PlacedFunction("\n".join(lines), names)


def _apart(line: str, number: int) -> tuple[list[str], str]:
    """An instruction whose constant addresses are instructions of their own, and those."""
    before: list[str] = []
    while found := next(reversed([*_GEP.finditer(line)]), None):  # the innermost first
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        name = f"%eddy.at{number}.{len(before)}"
        before.append(f"  {name} = getelementptr{found[1]} {line[found.end() : end - 1]}")
        line = line[: found.start()] + name + line[end:]
    return before, line
