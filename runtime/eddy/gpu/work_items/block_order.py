# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The order of a function's blocks in memory: where ways meet lies behind all of them, and loops are in one piece.

Of lanes that parted, those at the lowest address go first. A block that lies behind the place where its lanes meet the
others is done after these have gone on, for a loop's remaining rounds perhaps; so each block lies behind every block
that leads to it, but for the branches back of loops, and what leaves a loop lies behind all of it. The optimizer has
other orders where it unrolls loops or copies them. Only jumps are added, left out or turned round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_FUNCTION = re.compile(r"^([A-Za-z_.$][\w.$]*):[^\n]*\n(?=# %bb\.0:)(.*?)^(?=\.Lfunc_end\d+:)", re.M | re.S)
_LABEL = re.compile(r"^(\.LBB\d+_\d+):")
_JUMP = re.compile(r"^\tj\t(\.LBB\d+_\d+)$")
_BRANCH = re.compile(r"^\t(b\w+)\t(.*?)(\.LBB\d+_\d+)$")
_ENDS = re.compile(r"^\t(?:ret|unimp|tail\t.*|jr\t.*|mret)$")
_PLAIN = re.compile(r"^(?:\t[a-z][\w.]*(?:\t.*)?|\.Lpcrel_hi\d+:|\s*(?:#.*)?)$")
_OPPOSITES = (
    *(("beq", "bne"), ("blt", "bge"), ("bltu", "bgeu"), ("bgt", "ble"), ("bgtu", "bleu")),
    *(("beqz", "bnez"), ("bltz", "bgez"), ("blez", "bgtz")),
)
_OPPOSITE = {**dict(_OPPOSITES), **{other: one for one, other in _OPPOSITES}}


@dataclass(slots=True)
class _Block:
    """Instructions up to a branch.

    Attributes:
        label: Its name; "" where none leads here but the block before it.
        lines: What it does.
        branch: Operation and operands of the branch at its end; empty where there is none.
        taken: Block the branch leads to; -1 where there is none.
        follows: Block it goes on to otherwise; -1 where it does not.
    """

    label: str
    lines: list[str]
    branch: tuple[str, str] = ("", "")
    taken: int = -1
    follows: int = -1

    @property
    def ways(self) -> set[int]:
        """Blocks that may come next."""
        return {self.taken, self.follows} - {-1}


class _Unknown(ValueError):
    """A text has what is not known here; it stays as it is."""


def with_block_order(assembly: str) -> str:
    """Assembly whose functions have their blocks in that order; what is not understood stays as it is.

    Args:
        assembly: The compiler's.
    """

    def one(found: re.Match[str]) -> str:
        try:
            blocks = _blocks(found[2].split("\n")[:-1])
        except _Unknown:
            return found[0]
        order = block_order([block.ways for block in blocks])
        if order == list(range(len(blocks))):
            return found[0]
        head = found[0][: found.start(2) - found.start()]
        return head + "".join(f"{line}\n" for line in _lines(blocks, order, found[1]))

    return _FUNCTION.sub(one, assembly)


def block_order(ways: Sequence[Iterable[int]]) -> list[int]:
    """The order of blocks of which the first is where a function begins, by the blocks each may go on to."""
    found = {k: set(targets) for k, targets in enumerate(ways)}
    return _ordered(set(found), found, 0)


def _ordered(region: set[int], ways: Mapping[int, set[int]], first: int) -> list[int]:
    """A region's blocks: `first` first, as if nothing led back to it; then each as soon as all before it is there."""
    parts = _circles(region, {k: (ways[k] & region) - {first} for k in region})
    part_of = {k: n for n, part in enumerate(parts) for k in part}
    before = {n: set[int]() for n in range(len(parts))}
    for k in region:
        for target in (ways[k] & region) - {first}:
            if part_of[target] != part_of[k]:
                before[part_of[target]].add(part_of[k])
    order, left, done = [], set(range(len(parts))), set[int]()
    while left:
        ready = [n for n in left if before[n] <= done]
        chosen = part_of[first] if part_of[first] in left else min(ready, key=lambda n: min(parts[n]))
        left.remove(chosen)
        done.add(chosen)
        order += _part(parts[chosen], ways, region)
    return order


def _part(part: set[int], ways: Mapping[int, set[int]], region: set[int]) -> list[int]:
    """A block, or a loop: from the block on that is come to from outside; with several of those as it was."""
    if len(part) == 1:
        return list(part)
    entries = {target for k in region - part for target in ways[k] & part}
    return _ordered(part, ways, entries.pop()) if len(entries) == 1 else sorted(part)


def _circles(region: set[int], ways: Mapping[int, set[int]]) -> list[set[int]]:
    """Blocks that can be come to from each other, together."""
    number: dict[int, int] = {}
    least: dict[int, int] = {}
    found: list[set[int]] = []
    open_blocks: list[int] = []
    for begin in sorted(region):
        if begin in number:
            continue
        work = [(begin, iter(sorted(ways[begin])))]
        number[begin] = least[begin] = len(number)
        open_blocks.append(begin)
        while work:
            at, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    least[work[-1][0]] = min(least[work[-1][0]], least[at])
                if least[at] == number[at]:
                    cut = open_blocks.index(at)
                    found.append(set(open_blocks[cut:]))
                    del open_blocks[cut:]
            elif target not in number:
                number[target] = least[target] = len(number)
                open_blocks.append(target)
                work.append((target, iter(sorted(ways[target]))))
            elif target in open_blocks:
                least[at] = min(least[at], number[target])
    return found


def _blocks(lines: Sequence[str]) -> list[_Block]:
    """A function's blocks, from its lines."""
    blocks, targets, opaque = [_Block("", [])], list[str](), False
    for line in lines:
        opaque = (opaque or line == "\t#APP") and line != "\t#NO_APP"
        label, branch, jump = (None if opaque else kind.match(line) for kind in (_LABEL, _BRANCH, _JUMP))
        if opaque and ".LBB" in line:
            raise _Unknown
        if label and not blocks[-1].label and not blocks[-1].lines:
            blocks[-1].label = label[1]
        elif label:
            blocks.append(_Block(label[1], []))
            targets.append("")
        elif branch or jump:
            blocks[-1].branch = (branch[1], branch[2]) if branch else ("j", "")
            targets.append(branch[3] if branch else jump[1] if jump else "")
            blocks.append(_Block("", []))
        elif opaque or _PLAIN.match(line):
            blocks[-1].lines.append(line)
            if not opaque and _ENDS.match(line):
                blocks[-1].branch = ("end", "")
                targets.append("")
                blocks.append(_Block("", []))
        else:
            raise _Unknown
    return _linked(blocks, [*targets, ""])


def _linked(blocks: list[_Block], targets: Sequence[str]) -> list[_Block]:
    """Blocks that know where they lead; what is empty and not come to is left out."""
    empty = all(not line.partition("#")[0].strip() for line in blocks[-1].lines)
    if blocks[-1].label or not empty or len(blocks) < 2:
        raise _Unknown
    blocks.pop()
    at = {block.label: k for k, block in enumerate(blocks) if block.label}
    for k, (block, target) in enumerate(zip(blocks, targets, strict=False)):
        operation = block.branch[0]
        if (operation and operation not in ("j", "end", *_OPPOSITE)) or (target and target not in at):
            raise _Unknown
        if operation not in ("j", "end"):
            block.follows = k + 1
        block.taken = at[target] if target else -1
    if blocks[-1].follows == len(blocks):
        raise _Unknown
    return blocks


def _lines(blocks: Sequence[_Block], order: Sequence[int], name: str) -> list[str]:
    """The blocks one behind the other."""
    labels = [block.label or f".L{name}_block{k}" for k, block in enumerate(blocks)]
    text = []
    named = {block.label for block in blocks}
    for k, behind in zip(order, [*order[1:], -1], strict=True):
        ends = _ends(blocks[k], behind)
        text.append((labels[k], [*blocks[k].lines, *(f"{words}{labels[to]}" for words, to in ends)]))
        named |= {labels[to] for _, to in ends}
    return [line for label, lines in text for line in ([f"{label}:", *lines] if label in named else lines)]


def _ends(block: _Block, behind: int) -> list[tuple[str, int]]:
    """Branch and jump at a block's end, with the block each leads to, where another lies behind it."""
    operation, operands = block.branch
    taken, follows = block.taken, block.follows
    if operation == "j":
        taken, follows = -1, taken
    elif operation in _OPPOSITE and taken == behind:
        operation, taken, follows = _OPPOSITE[operation], follows, taken
    branch = [(f"\t{operation}\t{operands}", taken)] if taken != -1 else []
    return branch + ([("\tj\t", follows)] if follows not in (-1, behind) else [])
