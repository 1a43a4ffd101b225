# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is the same in all work-items of a group: values, variables, and whether barriers stand where all come to them.

A value is uniform where it is computed from uniform ones; a variable where only uniform values are written to it, at
places that all items come to or none. What is read from memory at a uniform address is uniform, since items that read
what others write without a barrier between have no result anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from eddy.gpu.programs.ir_function import (
    TOKEN,
    Function,
    defined_value,
    dominators,
    lifetime,
    plain_load_source,
    plain_store,
    reachable_blocks,
)

_CALL = re.compile(r"\bcall [^@\"\n]*@([\w.$]+)\(")
_NAMED = re.compile(r"@[\w.$]+")
_ASM = re.compile(r"\bcall [^@\"\n]*\basm ")
_ITEM_ASM = re.compile(r"\bt6\b|\bx31\b")
ID = re.compile(r"call i32 @_ZL?\d+get_(local|global)_idj\(i32 noundef (\d)\)")
_SAME = re.compile(r"_ZL?\d+get_(?:group_id|local_size|global_size|num_groups|global_offset|work_dim)[jv]\Z")
_VARYING = re.compile(r" = (?:atomicrmw|cmpxchg|va_arg|load (?:atomic|volatile)) ")
_EXIT = "%.exit"
PRINTS = ("printf", "eddy_printf64")
_BULK = re.compile(r"\bcall [^@\"\n]*@llvm\.mem(cpy|move|set)\b[\w.]*\(([^,\n]*), ([^,\n]*),")
_TOUCHES = (" volatile ", " atomic", " cmpxchg ", " fence ")
"""What an instruction has that touches memory others see."""
_CLOCKS = ("llvm.readcyclecounter", "llvm.readsteadycounter")


class IrModule:
    """What functions of a module do, as far as work-items are concerned.

    Args:
        texts: Text of each function, by name.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._called = {name: set(_CALL.findall(text)) for name, text in texts.items()}
        self._pure: dict[str, bool] = {}

    def reads_item_id(self, name: str) -> bool:
        """Whether a function comes to what tells work-items apart."""
        return any(
            at in PRINTS or at == "eddy_first_id" or any(map(_ITEM_ASM.search, _asm_lines(self._texts.get(at, ""))))
            for at in self._reached(name)
        )

    def called(self, name: str) -> set[str]:
        """Functions a function comes to beside itself."""
        return self._reached(name) - {name}

    def referenced_names(self, name: str) -> set[str]:
        """Variables and functions of the module that a function names."""
        return set(_NAMED.findall(self._texts.get(name, "")))

    def reaches_barrier(self, name: str) -> bool:
        """Whether a function comes to a barrier."""
        return "eddy_barrier" in self._reached(name)

    def is_result_uniform(self, name: str) -> bool:
        """Whether a function's result is uniform where its arguments are."""
        if name not in self._pure:
            self._pure[name] = False  # one that calls itself is not
            same = name.startswith("llvm.") and not name.startswith(_CLOCKS)
            self._pure[name] = same or bool(_SAME.match(name)) or self._computes(name)
        return self._pure[name]

    def _computes(self, name: str) -> bool:
        """Whether a function has no memory but its variables, and calls none that has."""
        text = self._texts.get(name, "")
        own = set(re.findall(r"^\s+(%[\w.$-]+) = alloca ", text, re.M))
        for line in text.splitlines()[1:]:
            if _ASM.search(line) or any(each in line for each in _TOUCHES) or not own.issuperset(bulk_pointers(line)):
                return False
            at = plain_load_source(line) or plain_store(line)[1]
            if (at or " load " in line or " store " in line) and at not in own:
                return False
        return bool(text) and all(self.is_result_uniform(called) for called in self._called[name])

    def _reached(self, name: str) -> set[str]:
        found, waiting = set(), [name]
        while waiting:
            at = waiting.pop()
            if at not in found:
                found.add(at)
                waiting += self._called.get(at, ())
        return found


def _asm_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if _ASM.search(line)]


def bulk_pointers(line: str) -> list[str]:
    """Of an instruction that copies or fills bytes, where they go to, and where they come from; else nothing.

    An address that is computed in its place is told as it is written, which is no variable's name.
    """
    found = _BULK.search(line)
    if found is None:
        return []
    return [found[2].rpartition(" ")[2], *([] if found[1] == "set" else [found[3].rpartition(" ")[2]])]


def called_function(line: str) -> str:
    """The function an instruction calls; "" where it calls none."""
    found = _CALL.search(line)
    return found[1] if found else ""


def is_asm(line: str) -> bool:
    """Whether an instruction is inline assembly."""
    return bool(_ASM.search(line))


class Uniformity:
    """Which values and variables of a function differ from item to item.

    Args:
        function: Whose.
        module: Where it is from.
        axis: The dimension in which the items differ; "" for all items of a group.
        parting: Whether items that differ in `axis` may go different ways; otherwise they are taken to go the same.

    Attributes:
        varying: Values that may differ, and addresses that may be of private memory.
        direct: Variables that are only read and written as a whole.
        variables: Of those, the ones with a value that may differ.
        regular: Whether all items come to each barrier as often as any does.
    """

    def __init__(self, function: Function, module: IrModule, axis: str = "", parting: bool = True) -> None:
        self._function, self._module, self._axis, self._parting = function, module, axis, parting
        self.direct = self._direct()
        self.varying = set(function.variables) - self.direct
        self.variables: set[str] = set()
        self._apart: set[str] = set()
        self._joins: set[str] = set()
        self._parted: set[str] = set()
        while self._more():
            pass
        self.regular = not any(function.blocks[name].waits for name in self._apart)

    def _direct(self) -> set[str]:
        taken: set[str] = set()
        for block in self._function.blocks.values():
            for line in block.lines:
                if lifetime(line)[1]:
                    continue
                value, to = plain_store(line)
                whole = plain_load_source(line) or to
                taken |= {token for token in TOKEN.findall(line) if token != whole}
                if value == to:
                    taken.add(to)
        return set(self._function.variables) - taken

    def _more(self) -> bool:
        before = len(self.varying), len(self.variables), len(self._parted)
        for name, block in self._function.blocks.items():
            for line in block.lines:
                self._look(name, line)
            if len(block.targets) > 1 and name not in self._parted and self.varying & set(_condition(block.lines[-1])):
                self._part(name)
        return before != (len(self.varying), len(self.variables), len(self._parted))

    def _look(self, block: str, line: str) -> None:
        value, to = plain_store(line)
        if to in self.direct and (value in self.varying or block in self._apart):
            self.variables.add(to)
        made = defined_value(line)
        if made and made not in self.varying and self._differs(block, line, made):
            self.varying.add(made)

    def _differs(self, block: str, line: str, made: str) -> bool:
        at = plain_load_source(line)
        if at in self.direct:
            return at in self.variables
        if found := ID.search(line):
            return self._axis in ("", found[2])
        if _VARYING.search(line) or is_asm(line):
            return True
        if (name := called_function(line)) and not self._module.is_result_uniform(name):
            return True
        if " = phi " in line and block in self._joins | self._apart:
            return True
        return any(token in self.varying for token in TOKEN.findall(line) if token != made)

    def _part(self, name: str) -> None:
        """Items go different ways from a block on, until they meet."""
        self._parted.add(name)
        if not self._parting:
            return
        blocks = self._function.blocks
        meeting = self._meetings.get(name, _EXIT)
        self._apart |= set(reachable_blocks(blocks, blocks[name].targets, over=(meeting,)))
        self._joins.add(meeting)

    @cached_property
    def _meetings(self) -> dict[str, str]:
        """Where all ways from a block meet, at the latest at the function's end."""
        back: dict[str, list[str]] = {name: [] for name in (*self._function.blocks, _EXIT)}
        for name, block in self._function.blocks.items():
            for target in block.targets or (_EXIT,):
                back[target].append(name)
        return dominators(_EXIT, back)


def _condition(line: str) -> list[str]:
    """Values a branch looks at."""
    return TOKEN.findall(line.partition("label")[0])
