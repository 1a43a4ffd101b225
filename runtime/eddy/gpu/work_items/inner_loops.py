# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long a kernel's innermost loops are in machine code, by which the compiler chooses between two ways to address.

Usually each array that a loop walks through has a register that is advanced from round to round. Where there are more
of them than registers, a loop reads them from its stack, and adding to a base each time is shorter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from eddy.gpu.work_items.item_pairs import function_body, stack_reloads

MAX_RELOADS = 4
"""Loads of what registers had no room for in an innermost loop, beyond which the other way is looked at."""
ADDED_UP = ("-mllvm", "-disable-lsr")
"""Flags of the other way: addresses are computed from a base in each round."""
_LABEL = re.compile(r"^(\.LBB\d+_\d+):")
_TARGET = re.compile(r"\t(\.LBB\d+_\d+)$|, (\.LBB\d+_\d+)$")


def find_innermost_loops(assembly: str, function: str) -> Iterator[tuple[int, int]]:
    """Instructions, and loads from the stack among them, of each innermost loop of a function.

    Args:
        assembly: The compiler's.
        function: Its name there.
    """
    instructions: list[str] = []
    begins: dict[str, int] = {}
    for line in function_body(assembly, function).split("\n"):
        label = _LABEL.match(line)
        if label:
            begins[label[1]] = len(instructions)
        elif re.match(r"\t[a-z]", line):
            instructions.append(line.partition("#")[0].rstrip())
    spans = []
    for end, line in enumerate(instructions, 1):
        target = _TARGET.search(line)
        begin = begins.get(target[1] or target[2], end) if target else end
        if begin < end:
            spans.append((begin, end))
    for begin, end in dict.fromkeys(spans):
        if not any((b, e) != (begin, end) and begin <= b and e <= end for b, e in spans):
            yield end - begin, stack_reloads("\n".join(instructions[begin:end]))


def has_register_pressure(assembly: str, functions: Iterable[str]) -> bool:
    """Whether an innermost loop of any of the functions has more values than there are registers."""
    return any(loads > MAX_RELOADS for function in functions for _, loads in find_innermost_loops(assembly, function))


def has_shorter_loops(assembly: str, other: str, functions: Iterable[str]) -> bool:
    """Whether the functions' innermost loops are shorter in another assembly than in one, as a geometric mean.

    Args:
        assembly: The one.
        other: The other.
        functions: Their names, the same in both.
    """
    return sum(_log_length(other, function) - _log_length(assembly, function) for function in functions) < 0


def _log_length(assembly: str, function: str) -> float:
    return math.log(1 + sum(length for length, _ in find_innermost_loops(assembly, function)))
