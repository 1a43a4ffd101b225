# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Loops in which items of a subgroup meet: once more behind each round (`eddy.gpu.work_items.meetings`).

A loop's text is what the front end leaves between the block the loop goes back to and the block it names as the loop's
end; blocks with a `break` or `return` behind a place are in it, though no way leads back from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from eddy.gpu.programs.ir_function import dominators

CALL = re.compile(r"^(\s+(?:%[\w.\"$-]+ = )?)((?:tail |musttail |notail )?call [^@\n\"]*?@([\w.$]+)\()([^\n]*)\n", re.M)
"""A call of a function by its name, and which."""
MEET = "_ZL9eddy_meetv"
"""The library's function in which items meet."""
_BLOCKS = re.compile(r"^(?=[\w.$-]+:)", re.M)
_TARGET = re.compile(r"\blabel %([\w.$-]+)")
_BEGINS = re.compile(r"(?:(?:for|while)\.cond|(?:while|do)\.body)\d*\Z")
_ENDS = re.compile(r"(for|while|do)\.end\d*\Z")
_LOOP = re.compile(r", !llvm\.loop !\d+")


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop's text: from its first block up to the one behind it, and the blocks that go back."""

    first: int
    end: int
    backs: tuple[int, ...]


def with_rounds(text: str, places: Set[str], once: Set[str]) -> str:
    """A function whose items meet at the end of each round of loops with places, where they do not anyway.

    Args:
        text: The front end's.
        places: Functions in which items meet.
        once: Those in which they do so once, whichever way they go.
    """
    head, *blocks = _BLOCKS.split(text.removesuffix("}\n"))
    calls = [[call[3] for call in CALL.finditer(block) if call[3] in places] for block in blocks]
    names = [block.partition(":")[0] for block in blocks]
    known = set(names)
    ways = {
        name: [to for to in _TARGET.findall(block) if to in known] for name, block in zip(names, blocks, strict=True)
    }
    above = dominators(names[0], ways)
    loops = _loops(names, ways, above)
    behind: dict[int, str] = {}
    for loop in reversed(loops):
        last = max((k for k in range(loop.first, loop.end) if calls[k]), default=-1)
        if last < 0 or " = phi " in blocks[loop.first]:
            continue
        inner = any(loop.first < one.first <= last < one.end for one in loops)
        if (
            not inner
            and calls[last][-1] in once
            and all(_leads(names[last], names[back], above) for back in loop.backs)
        ):
            continue
        first, label = names[loop.first], f"eddy.round{loop.first}"
        kept = [found for back in loop.backs for found in _LOOP.findall(blocks[back])]
        for back in loop.backs:
            blocks[back] = re.sub(rf"\blabel %{re.escape(first)}(?![\w.$-])", f"label %{label}", blocks[back])
        meets = f"{label}:\n  %{label}.met = call i32 @{MEET}()\n  br label %{first}{''.join(kept[:1])}\n\n"
        behind[loop.end] = behind.get(loop.end, "") + meets
    blocks[-1] += "\n" * (len(blocks) in behind)
    return head + "".join(behind.get(k, "") + block for k, block in enumerate([*blocks, "}\n"]))


def _leads(one: str, other: str, above: Mapping[str, str]) -> bool:
    """Whether every way to another block goes over one."""
    while other != one and above.get(other, other) != other:
        other = above[other]
    return other == one


def _loops(names: Sequence[str], ways: Mapping[str, Sequence[str]], above: Mapping[str, str]) -> list[_Loop]:
    """A function's loops, in the order of their text."""
    at = {name: k for k, name in enumerate(names)}
    backs: dict[int, list[int]] = {}
    for k, name in enumerate(names):
        for first in {at[to] for to in ways[name] if at[to] <= k}:
            backs.setdefault(first, []).append(k)
    ends = _ends(names, above)
    return [_Loop(first, max(ends.get(first, 0), backs[first][-1] + 1), tuple(backs[first])) for first in sorted(backs)]


def _ends(names: Sequence[str], above: Mapping[str, str]) -> dict[int, int]:
    """Where the text of each loop ends, by its first block: at the block so named; it is left out where nothing comes
    to it, and then at the first block that is come to otherwise.
    """
    found: dict[int, int] = {}
    begun: list[tuple[str, int]] = []
    bodies: set[int] = set()
    for k, name in enumerate(names):
        if _BEGINS.match(name):
            # Where a condition is always true, the body may be the first block.
            if name.startswith("while.body") and begun and names[begun[-1][1]].startswith("while.cond"):
                own = begun[-1][1] not in bodies
                bodies.add(begun[-1][1])
                if own:
                    continue
            begun.append((name.partition(".")[0], k))
        elif ends := _ENDS.match(name):
            mine = [n for n, (kind, first) in enumerate(begun) if kind == ends[1] and _leads(names[first], name, above)]
            if mine:
                found[begun[mine[-1]][1]] = k
                del begun[mine[-1] :]
    for k, name in enumerate(names):
        if _BEGINS.match(name) and k not in found:
            rest = (n for n in range(k + 1, len(names)) if names[n] in above and not _leads(name, names[n], above))
            found[k] = next(rest, len(names))
    return found
