# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A region of a kernel's function: what items do from one barrier to the next."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eddy.gpu.programs.ir_function import TOKEN, Block, IrregularFunction, defined_value, plain_store, reachable_blocks

PHI_WAY = re.compile(r"(?:, )?\[ ([^\[\]]*), (%[\w.$-]+) \]")
"""A value of a phi and the block it comes from."""


class ItemRegion:
    """The blocks from one barrier, or the function's entry, up to the next barriers or the end.

    Args:
        blocks: The function's.
        start: The first block.
        number: Its place among the function's regions.

    Attributes:
        number, start: As given.
        names: Its blocks.
        written: Variables it writes to.
        named: Everything it names.
        ends: Where items go on: the first block of a region, "" for the function's end.
    """

    def __init__(self, blocks: Mapping[str, Block], start: str, number: int) -> None:
        self.number, self.start, self._blocks = number, start, blocks
        self.names = reachable_blocks(blocks, [start], waits=False)
        lines = [line for name in self.names for line in blocks[name].lines]
        self.written = {plain_store(line)[1] for line in lines}
        self.named = {token for line in lines for token in TOKEN.findall(line)}
        ends = [self.end(name) for name in self.names]
        self.ends = list(dict.fromkeys(end for end in ends if end is not None))

    def end(self, name: str) -> str | None:
        """Where a block ends the region: the block behind its barrier, "" for the function's end."""
        block = self._blocks[name]
        if block.waits:
            return block.targets[0]
        return "" if block.lines[-1].split()[0] == "ret" else None

    def check(self, values: set[str]) -> None:
        """Refuse a value from before the region, or from a block that has not been come to for certain.

        Args:
            values: All values the function defines, and its blocks.

        Raises:
            Irregular: There is one.
        """
        made = {
            value: name for name in self.names for line in self._blocks[name].lines if (value := defined_value(line))
        }
        plain = values - set(self._blocks)
        for name in self.names:
            seen: set[str] = set()
            for line in self._blocks[name].lines:
                if " = phi " in line:
                    self._check_phi(line, values, made)
                else:
                    used = {token for token in TOKEN.findall(line) if token in plain} - seen - {defined_value(line)}
                    if not all(token in made and self._before(made[token], name) for token in used):
                        raise IrregularFunction("a value that is used behind a barrier")
                seen.add(defined_value(line))

    def _check_phi(self, line: str, values: set[str], made: Mapping[str, str]) -> None:
        for value, at in PHI_WAY.findall(line):
            source = made.get(value, at)
            known = value not in values or value in made
            if at in self.names and not (known and (source == at or self._before(source, at))):
                raise IrregularFunction("a value that is used behind a barrier")

    def _before(self, one: str, other: str) -> bool:
        """Whether the region comes to a block only by another."""
        if one == other or self.start == one:
            return one != other
        return other not in reachable_blocks(self._blocks, [self.start], over=(one,), waits=False)
