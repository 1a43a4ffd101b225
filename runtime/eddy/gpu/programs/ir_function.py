# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A function of clang's own text, before it is optimized: its blocks, cut at barriers, and the ways between them.

An instruction is one line, or a `switch` with its cases. All that outlives a statement lies in a variable: an `alloca`
at the function's beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

TOKEN = re.compile(r"%[\w.$-]+")
BARRIER = re.compile(r"^\s+call void @(?:_ZL?7barrierj|eddy_barrier)\(")
_HEAD = re.compile(r"^define [^\n]*@([\w.$]+)\(")
_LABEL = re.compile(r"^([\w.$-]+):")
_TARGET = re.compile(r"\blabel (%[\w.$-]+)")
_DEFINED = re.compile(r"^\s+(%[\w.$-]+) = ")
_ALLOCA = re.compile(r"^\s+(%[\w.$-]+) = alloca ([^\n]*), align \d+$")
_LOAD = re.compile(r"^\s+%[\w.$-]+ = load (?!atomic|volatile)[^\n]*?, ptr (%[\w.$-]+),")
_STORE = re.compile(r"^\s+store (?!atomic|volatile)(.*), ptr (%[\w.$-]+),")
_LIFETIME = re.compile(r"^\s+call void @llvm\.lifetime\.(start|end)\.\w+\((?:i64 \d+, )?ptr (%[\w.$-]+)\)")


class IrregularFunction(Exception):
    """A function is not of the form that can be worked on; it stays as it is."""


@dataclass(slots=True)
class Block:
    """Instructions that follow each other.

    Attributes:
        lines: As in the text, the last one says where it goes on; without it where `waits`.
        targets: Blocks it may go on to.
        waits: Whether it ends at a barrier.
    """

    lines: list[str]
    targets: tuple[str, ...]
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function.

    Attributes:
        head: Its first line.
        blocks: By token, "%entry" first; blocks with a barrier are several.
        variables: Type of each `alloca`, which are in no block.
        beginning: Their lines.
    """

    head: str
    blocks: dict[str, Block]
    variables: dict[str, str]
    beginning: list[str]

    @property
    def entry(self) -> str:
        """The first block."""
        return next(iter(self.blocks))


def defined_value(line: str) -> str:
    """The value an instruction defines; "" where it defines none."""
    found = _DEFINED.match(line)
    return found[1] if found else ""


def plain_load_source(line: str) -> str:
    """What a plain load reads from, where it is a value; or ""."""
    found = _LOAD.match(line)
    return found[1] if found else ""


def plain_store(line: str) -> tuple[str, str]:
    """The value, "" for a constant, that a plain store writes, and the value it writes to; or two times ""."""
    found = _STORE.match(line)
    if not found:
        return "", ""
    value = found[1].rsplit(" ", 1)[-1]
    return value if value.startswith("%") else "", found[2]


def lifetime(line: str) -> tuple[str, str]:
    """Whether a variable's life starts or ends here, and which; or two times ""."""
    found = _LIFETIME.match(line)
    return (found[1], found[2]) if found else ("", "")


def functions(ir: str) -> dict[str, str]:
    """Text of each function a module defines, by name."""
    found, name, begin, at = {}, "", 0, 0
    for line in ir.splitlines(keepends=True):
        if head := _HEAD.match(line):
            name, begin = head[1], at
        at += len(line)
        if name and line == "}\n":
            found[name], name = ir[begin:at], ""
    return found


def parse(text: str) -> Function:
    """A function, cut at its barriers.

    Raises:
        Irregular: It has variables of a size known only at run time, or is written otherwise than clang does.
    """
    head, *lines = text.splitlines()
    variables: dict[str, str] = {}
    beginning: list[str] = []
    blocks: dict[str, Block] = {}
    ends: dict[str, str] = {}
    name, whole, number = "", "", 0
    body: list[str] = []
    for line in _joined(lines[:-1]):
        if label := _LABEL.match(line):
            name, body, number = f"%{label[1]}", [], 0
            whole = name
        elif not name:
            raise IrregularFunction("no first label")
        elif made := _ALLOCA.match(line):
            if "," in made[2].split("{")[0].split("<")[0]:
                raise IrregularFunction("a variable whose size is not known")
            variables[made[1]] = made[2]
            beginning.append(line)
        elif BARRIER.match(line):
            number += 1
            following = f"{whole}.after{number}"
            blocks[name] = Block(body, (following,), True)
            name, body = following, []
        else:
            body.append(line)
            if _ends(line):
                blocks[name] = Block(body, tuple(dict.fromkeys(_TARGET.findall(line))))
                ends[whole] = name
    if any(target not in blocks for block in blocks.values() for target in block.targets):
        raise IrregularFunction("a block that is not there")
    for block in blocks.values():
        block.lines = [_with_ends(line, ends) if " = phi " in line else line for line in block.lines]
    return Function(head, blocks, variables, beginning)


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Lines of instructions, a `switch` with its cases in one."""
    cases = ""
    for line in lines:
        if cases or (line.lstrip().startswith("switch ") and not line.rstrip().endswith("]")):
            cases += f" {line.strip()}" if cases else line
            if line.strip() == "]":
                yield cases
                cases = ""
        elif line.strip() and not line.startswith(";"):
            yield line


def _ends(line: str) -> bool:
    return line.split(maxsplit=1)[0] in ("br", "ret", "switch", "unreachable", "indirectbr")


def _with_ends(line: str, ends: Mapping[str, str]) -> str:
    """A `phi` in which blocks that were cut are called as their last part is."""
    return re.sub(r", (%[\w.$-]+) \]", lambda found: f", {ends.get(found[1], found[1])} ]", line)


def reachable_blocks(
    blocks: Mapping[str, Block], begin: Iterable[str], over: Iterable[str] = (), waits: bool = True
) -> list[str]:
    """Blocks that may be come to, in the function's order.

    Args:
        blocks: Of a function.
        begin: Where from, included.
        over: Blocks that are not gone into.
        waits: Whether the way goes on behind barriers.
    """
    barred, found = set(over), set()
    waiting = [name for name in begin if name not in barred]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if waits or not blocks[name].waits:
            waiting += [target for target in blocks[name].targets if target not in barred]
    return [name for name in blocks if name in found]


def dominators(begin: str, ways: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The immediate dominator of each node that can be come to from `begin`, whose own it is.

    Args:
        begin: Where every way begins.
        ways: Where each node goes on.
    """
    order = _order(begin, ways)
    number = {name: k for k, name in enumerate(order)}
    before: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for target in ways[name]:
            before[target].append(name)
    found = {begin: begin}
    changed = True
    while changed:
        changed = False
        for name in order[1:]:
            known = [at for at in before[name] if at in found]
            new = known[0]
            for other in known[1:]:
                new = _meeting(new, other, found, number)
            changed |= found.get(name) != new
            found[name] = new
    return found


def _meeting(one: str, other: str, found: Mapping[str, str], number: Mapping[str, int]) -> str:
    while one != other:
        while number[one] > number[other]:
            one = found[one]
        while number[other] > number[one]:
            other = found[other]
    return one


def _order(begin: str, ways: Mapping[str, Iterable[str]]) -> list[str]:
    """Nodes in reverse postorder."""
    order, seen, stack = [], {begin}, [(begin, iter(ways[begin]))]
    while stack:
        name, rest = stack[-1]
        target = next((at for at in rest if at not in seen), None)
        if target is None:
            order.append(name)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(ways[target])))
    return order[::-1]
