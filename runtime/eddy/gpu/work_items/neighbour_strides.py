# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How far apart in memory neighbouring work-items read and write, where the text of a kernel's function says it.

A value is taken to be a multiple of the first id plus what neighbours have in common; the multiple is a number, or is
not known, as that of a word that was read from memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from contextlib import suppress

from eddy.gpu.programs.ir_function import (
    TOKEN,
    Function,
    IrregularFunction,
    defined_value,
    plain_load_source,
    plain_store,
)
from eddy.gpu.programs.ir_types import bytes_of
from eddy.gpu.work_items.uniform import ID

_SUM = re.compile(r" = (add|sub|mul|shl) (?:nuw |nsw )*i\d+ (\S+), (\S+)$")
_SAME = re.compile(r" = (?:zext|sext|trunc|freeze|bitcast|ptrtoint|inttoptr) .*?(%\S+)")
_ELEMENT = re.compile(r" = getelementptr (?:inbounds |nuw |nusw )*(.+?), ptr ([%@]\S+), i\d+ (\S+?)(?:, (.*))?$")
_ACCESS = re.compile(r" = load |^\s+store |@llvm\.mem(?:cpy|move)\.")
_ADDRESS = re.compile(r"\bptr (?:noundef |align \d+ )*(%[\w.$-]+)")
_NUMBER = re.compile(r"-?\d+\Z")


def neighbour_strides(
    function: Function, varying: Collection[str], direct: Set[str], named: Mapping[str, str]
) -> set[int]:
    """Bytes from the words of a work-item to its neighbour's in the first dimension, of each access where it is known.

    Args:
        function: The kernel's.
        varying: Its values and variables that may differ between neighbours.
        direct: Variables that are only read and written as a whole.
        named: The module's named types.
    """
    lines = [line for block in function.blocks.values() for line in block.lines]
    multiples = _Multiples(varying, direct, named)
    while multiples.learn(lines):
        pass
    apart = [
        line for line in lines if _ACCESS.search(line) and not direct & {plain_load_source(line), plain_store(line)[1]}
    ]
    return {by for line in apart for name in _ADDRESS.findall(line) if (by := multiples.known.get(name)) is not None}


class _Multiples:
    """What of the first id values are: a number; None where that is not known.

    Args:
        varying, direct, named: As `neighbour_strides` has them.
    """

    def __init__(self, varying: Collection[str], direct: Collection[str], named: Mapping[str, str]) -> None:
        self._varying, self._direct, self._named = varying, direct, named
        self.known: dict[str, int | None] = {}

    def learn(self, lines: Iterable[str]) -> bool:
        """Whether anything new follows from a function's lines."""
        before = dict(self.known)
        for line in lines:
            value, to = plain_store(line)
            made = to if to in self._direct else defined_value(line)
            # What follows from values that are not there yet is looked at again.
            with suppress(KeyError):
                if made in self._varying:
                    by = self._of(value) if made == to else self._made(line)
                    self.known[made] = by if self.known.get(made, by) == by else None
        return self.known != before

    def _of(self, name: str) -> int | None:
        return self.known[name] if name in self._varying else 0

    def _made(self, line: str) -> int | None:
        source = plain_load_source(line)
        if source:
            return self._of(source) if source in self._direct else None
        if ID.search(line):
            return 1
        if same := _SAME.search(line):
            return self._of(same[1])
        if element := _ELEMENT.search(line):
            kind, base, index, rest = element.groups()
            if any(self._of(name) != 0 for name in TOKEN.findall(rest or "")):
                return None
            return _sum(self._of(base), self._of(index), self._bytes(kind))
        found = _SUM.search(line)
        if not found:
            return None
        one, other = self._of(found[2]), self._of(found[3])
        if found[1] in ("add", "sub"):
            return _sum(one, other, 1 if found[1] == "add" else -1)
        for number, of in ((found[3], one), (found[2], other)):
            if _NUMBER.match(number) and of is not None and (number is found[3] or found[1] == "mul"):
                return of * int(number) if found[1] == "mul" else of << int(number)
        return None

    def _bytes(self, kind: str) -> int | None:
        try:
            return bytes_of(kind, self._named)
        except IrregularFunction:
            return None


def _sum(one: int | None, other: int | None, times: int | None) -> int | None:
    """One and some times the other; what is nothing takes any number of times."""
    if one is None or other is None or (times is None and other):
        return None
    return one + other * (times or 0)
