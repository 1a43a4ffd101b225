# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a work-item keeps over a barrier: variables that are needed again, and those that are rather computed again."""

from __future__ import annotations

import re

from eddy.gpu.programs.ir_function import TOKEN, Function, defined_value, lifetime, plain_load_source, plain_store
from eddy.gpu.work_items.uniform import ID, IrModule, Uniformity, called_function, is_asm

MAX_AGAIN = 16
"""Instructions that are rather repeated than have their result kept."""
_WRITES = re.compile(r"^\s+store (.*), ptr %[\w.$-]+,")
_READS = re.compile(r" = (?:load|getelementptr|atomicrmw|cmpxchg) ")
_CHEAP = re.compile(
    r" = (?:(?:add|sub|mul|shl|lshr|ashr|and|or|xor|zext|sext|trunc|icmp|getelementptr|select) "
    r"|u(?:div|rem) i32 %[\w.$-]+, (?:2|4|8|16|32|64|128|256)$)"
)


class LiveVariables:
    """Which variables are needed where."""

    def __init__(self, function: Function, direct: set[str]) -> None:
        self.at: dict[str, set[str]] = {name: set() for name in function.blocks}
        blocks = function.blocks
        marked = {lifetime(line)[1] for block in blocks.values() for line in block.lines}
        self._variables, self._direct = set(function.variables), direct
        self._lasting = self._variables - direct - marked
        effects = {name: self._effect(block.lines, not block.targets) for name, block in blocks.items()}
        changed = True
        while changed:
            changed = False
            for name in reversed(blocks):
                behind = set().union(*(self.at[target] for target in blocks[name].targets))
                needed, gone = effects[name]
                new = needed | (behind - gone)
                changed |= new != self.at[name]
                self.at[name] = new

    def _effect(self, lines: list[str], last: bool) -> tuple[set[str], set[str]]:
        """Variables a block needs before it writes them, and those it gives a new value or life."""
        needed: set[str] = set(self._lasting) if last else set()
        gone: set[str] = set()
        for line in reversed(lines):
            what, name = lifetime(line)
            whole = plain_store(line)[1] if plain_store(line)[1] in self._direct else ""
            if what == "start" or whole or (what == "end" and name in self._direct):
                over = name or whole
                needed.discard(over)
                gone.add(over)
            if not what:
                needed |= {token for token in TOKEN.findall(line) if token in self._variables and token != whole}
            elif what == "end" and name not in self._direct:
                needed.add(name)
        return needed, gone


def escaped_variables(function: Function, direct: set[str]) -> set[str]:
    """Variables that may be written to where they are not named, since their address is kept or given to a function.

    Args:
        function: Whose.
        direct: Those that are only read and written as a whole.
    """
    lines = [line for block in function.blocks.values() for line in block.lines]
    parts = [line for line in lines if " = getelementptr " in line]
    found = set()
    for name in set(function.variables) - direct:
        addresses, before = {name}, 0
        while before != len(addresses):
            before = len(addresses)
            addresses |= {defined_value(line) for line in parts if not addresses.isdisjoint(TOKEN.findall(line))}
        if any(_leaks(line, addresses) for line in lines):
            found.add(name)
    return found


def _leaks(line: str, addresses: set[str]) -> bool:
    """Whether an instruction does something else with one of some addresses than to read, to write or to add to it."""
    if addresses.isdisjoint(TOKEN.findall(line)):
        return False
    written = _WRITES.match(line)
    if written:
        return not addresses.isdisjoint(TOKEN.findall(written[1]))
    return not (_READS.search(line) or called_function(line).startswith(("llvm.lifetime.", "llvm.mem")))


class Rematerialization:
    """Variables whose value follows from ids by few operations, which are repeated rather than kept.

    Attributes:
        lines: By variable, the instructions that give it its value, its store the last one.
    """

    def __init__(self, function: Function, uniform: Uniformity, module: IrModule) -> None:
        self._uniform, self._module = uniform, module
        self.lines: dict[str, list[str]] = {}
        first = function.blocks[function.entry].lines
        writes = [plain_store(line)[1] for block in function.blocks.values() for line in block.lines]
        self._made = {defined_value(line): line for line in first if defined_value(line)}
        self._fixed = {
            to
            for line in first
            if (to := plain_store(line)[1]) in uniform.direct and to not in uniform.variables and writes.count(to) == 1
        }
        self._own = {defined_value(line) for block in function.blocks.values() for line in block.lines} - {""}
        for line in first:
            value, to = plain_store(line)
            if to in uniform.direct - self._fixed and writes.count(to) == 1 and value:
                lines = self._slice(value)
                if lines is not None and len(lines) <= MAX_AGAIN:
                    self.lines[to] = [*lines, line]

    def needed(self, live: set[str]) -> list[str]:
        """Instructions that give those of some variables their values, in order."""
        wanted, waiting = set(), [name for name in self.lines if name in live]
        while waiting:
            name = waiting.pop()
            if name not in wanted:
                wanted.add(name)
                waiting += [at for line in self.lines[name] if (at := plain_load_source(line)) in self.lines]
        return list(dict.fromkeys(line for name in self.lines if name in wanted for line in self.lines[name]))

    def _slice(self, value: str) -> list[str] | None:
        """The instructions that make a value, where they are few and may be repeated."""
        found: dict[str, None] = {}
        waiting = [value]
        while waiting:
            at = waiting.pop()
            if at not in self._own:
                continue  # a parameter
            line = self._made.get(at)
            if line is None or not self._repeatable(line):
                return None
            found[at] = None
            waiting += [token for token in TOKEN.findall(line) if token != at and token in self._own]
        return [line for at, line in self._made.items() if at in found]

    def _repeatable(self, line: str) -> bool:
        if at := plain_load_source(line):
            return at in self._fixed or at in self.lines
        if ID.search(line):
            return True
        if name := called_function(line):
            return self._module.is_result_uniform(name) and not name.startswith("llvm.")
        return bool(_CHEAP.search(line)) and not is_asm(line)
