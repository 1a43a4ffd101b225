# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What clang says about a program's kernels: their names, arguments, and what a launch must heed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from eddy.core.errors import CompilationFailed
from eddy.gpu.programs.ir_types import layout, named_types
from eddy.gpu.programs.layout import LINE_BYTES, MEETING_TURN, STACK_BYTES
from eddy.gpu.programs.walk_stub import walk

Space = Literal["value", "global", "constant", "local"]

SCALARS: Mapping[str, tuple[str, int]] = {
    **{"char": ("i1", 1), "uchar": ("u1", 1), "short": ("i2", 2), "ushort": ("u2", 2), "int": ("i4", 4)},
    **{"uint": ("u4", 4), "long": ("i8", 8), "ulong": ("u8", 8), "float": ("f4", 4)},
}
"""OpenCL scalar to numpy's letter and size in bytes."""
TYPES: Mapping[str, tuple[str, int]] = {**SCALARS, "double": ("f8", 8), "half": ("f2", 2)}
"""The same with what is there by soft float."""
_SPACES: Mapping[str, Space] = {"0": "value", "1": "global", "2": "constant", "3": "local"}
_VECTOR = re.compile(r"^(\w+) __attribute__\(\(ext_vector_type\((\d+)\)\)\)$")
_KERNEL = re.compile(r"^define .*?spir_kernel void @(\w+)\((.*)$", re.M)
_FUNCTION = re.compile(r"^define [^@]*@(\w+)\((.*?)^\}$", re.M | re.S)
_BY_VALUE = re.compile(r"\bbyval\(([^()]*)\)")
_ENUMERATION = re.compile(r"\s*i(8|16|32|64)\b(.*\bzeroext\b)?")
"""A number of a type that is none of ours: an enum's. A small one says whether it has a sign."""
_LOCAL = re.compile(r"^(@[\w.]+) = internal (?:unnamed_addr )?global ", re.M)
_NAMED = re.compile(r"@[\w.]+")
_NODE = re.compile(r"^(!\d+) = (?:distinct )?!\{(.*)\}$", re.M)
_RETURNS = re.compile(r"^return:|^  store i32 1, ptr %cleanup\.dest\.slot\b", re.M)
"""How the front end leaves a function before its end: to its last block, or by way of the ends of variables' lives."""
_ASKED = re.compile(r"\bcall [^@\n\"]*@_ZL?\d+get_global_idj\((?:i32 noundef (\d+)\))?")
"""Where a function asks for a global id, and for which where that is a constant."""
_LABEL, _TARGETS = re.compile(r"^([\w.$-]+):"), re.compile(r"\blabel %([\w.$-]+)")
SHORT, LARGE = 16 << 10, 96 << 10
"""Characters of what a short kernel comes to at most, and a very long one at least, as the front end leaves it."""
BARRIER_MARK = "@eddy_barrier("
SUBGROUP_MARK = "# eddy-subgroup"
"""What a kernel has whose items look at each other's registers."""
PLACED_MARKS = ("# eddy-placed", "@printf(", "@eddy_printf64(")
"""What a kernel has that looks at its place in a work-group; printf orders its records by it."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kernel.

    Attributes:
        name: As the source names it.
        type: As the source writes it, "float4" or "float*".
        space: "value", or where a pointer points to.
        element: numpy's letter of the scalar or of what a pointer points to; "" where that, or it, is a structure.
        count: Elements of a vector, 1 of a scalar.
        size: Bytes in the packed arguments.
        const: Whether a pointer's target is not written.
        align: Bytes its place is a multiple of; 0 for its size, 16 at most.
        enumeration: Whether it is of an enum type, which may or may not have a sign.
    """

    name: str
    type: str
    space: Space
    element: str
    count: int
    size: int
    const: bool = False
    align: int = 0
    enumeration: bool = False

    @property
    def is_structure(self) -> bool:
        """Whether it is a structure or union passed by value."""
        return self.space == "value" and not self.element

    @property
    def is_pointer(self) -> bool:
        """Whether it is an address."""
        return self.space != "value"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a program.

    Attributes:
        name: As the source names it.
        arguments: In order.
        group_size: Work-group size the source requires; empty where it requires none.
        waits: Whether work-items of a group may wait for each other: it has barriers, local memory or subgroups.
        local_variables: Whether it has `__local` variables; then a core runs one of its work-groups at a time, unless
            `local_each`.
        stub: Address of what unpacks the arguments and calls it.
        stack_bytes: Stack a lane gets at least.
        frame_bytes: Stack a work-item needs.
        placed: Whether it looks at how work-items form work-groups.
        early: Whether work-items may return before a barrier, in it or another kernel of the program.
        switch_words: Words a work-item keeps while another runs in its lane.
        switch_way: Which of the program's ways of keeping them is its own.
        loop_stub: Address of the same with a loop over a lane's items between barriers; 0 where there is none.
        loop_words: Words a work-item keeps over a barrier there.
        tile_stub: Address of the same for a tile of items at once; 0 where there is none.
        tile: Columns and rows of it.
        loop_crowded: Whether a lane rather takes one work-item than several that way, where the group has no more.
        folds: Whether an item may do that of a second row as well, half the rows away.
        join_stub: Address of the same for two neighbours in the first dimension at once, of both rows if it folds; 0
            where there is none.
        ids: How many global ids it may ask for, from the first on.
        short: Whether it has no loops and not many instructions.
        one_way: Whether it has so many that its stub has it once, and goes across the first dimension alone.
        local_each: Whether each work-group has `__local` variables of its own, so that a core runs several groups.
        subgroups: Whether work-items of a subgroup meet in it, or read each other's stacks; then a lane's items are
            neighbours of the other lanes'.
        meets: Whether they do in it or another kernel of the program.
        subgroup_size: Items of a subgroup the source requires; 0 where it requires none.
    """

    name: str
    arguments: tuple[Argument, ...]
    group_size: tuple[int, ...] = ()
    waits: bool = False
    local_variables: bool = False
    stub: int = 0
    stack_bytes: int = STACK_BYTES
    frame_bytes: int = STACK_BYTES
    placed: bool = False
    early: bool = False
    switch_words: int = 0
    switch_way: int = 0
    loop_stub: int = 0
    loop_words: int = 0
    tile_stub: int = 0
    tile: tuple[int, ...] = (1, 1)
    loop_crowded: bool = False
    local_each: bool = False
    folds: bool = False
    join_stub: int = 0
    ids: int = 3
    short: bool = False
    one_way: bool = False
    subgroups: bool = False
    meets: bool = False
    subgroup_size: int = 0

    @property
    def iterates_items(self) -> bool:
        """Whether its stub goes from item to item by itself."""
        return not self.waits and not self.placed

    def offsets(self) -> tuple[int, ...]:
        """Where each argument lies in the packed arguments: aligned to its size, 16 at most, or as it asks."""
        at, found = 0, []
        for argument in self.arguments:
            to = argument.align or min(argument.size, 16)
            at = -(-at // to) * to
            found.append(at)
            at += argument.size
        return tuple(found)


def read_kernels(ir: str) -> dict[str, Kernel]:
    """The kernels of a program, from its LLVM IR.

    Raises:
        CompilationFailed: A kernel takes an argument that cannot be passed.
    """
    nodes = dict(_NODE.findall(ir))
    bodies = {f"@{name}": text for name, text in _FUNCTION.findall(ir)}
    local = set(_LOCAL.findall(ir))
    kernels, named = {}, named_types(ir)
    for name, rest in _KERNEL.findall(ir):
        reached = _reached(f"@{name}", bodies)
        texts = [bodies.get(function, "") for function in reached]
        marked = any(BARRIER_MARK in text for text in texts)
        made = _kernel(name, rest, nodes, marked, bool(local & reached), named)
        early = marked and any(_returns_early(function, bodies) for function in reached)
        placed = any(mark in text for text in texts for mark in PLACED_MARKS)
        asked = {int(number or 2) for text in texts for number in _ASKED.findall(text)}
        size = sum(map(len, texts))
        short = size <= SHORT and not any(map(_goes_back, texts))
        ids = min(3, 1 + max(asked, default=-1))
        kernels[name] = replace(made, placed=placed, early=early, ids=ids, short=short)
        meets = any(SUBGROUP_MARK in text for text in texts)
        kernels[name] = replace(kernels[name], one_way=size > LARGE, subgroups=meets, waits=made.waits or meets)
    early, meets = (
        any(kernel.early for kernel in kernels.values()),
        any(kernel.subgroups for kernel in kernels.values()),
    )
    return {name: replace(kernel, early=early, meets=meets) for name, kernel in kernels.items()}


def _returns_early(name: str, bodies: Mapping[str, str]) -> bool:
    """Whether a function that comes to a barrier has a `return` before its end."""
    if not _RETURNS.search(bodies.get(name, "")):
        return False
    return any(BARRIER_MARK in bodies.get(function, "") for function in _reached(name, bodies))


def _goes_back(text: str) -> bool:
    """Whether a function has a loop, by a branch to a block that is before its end."""
    begun: set[str] = set()
    for line in text.splitlines():
        if label := _LABEL.match(line):
            begun.add(label[1])
        elif not begun.isdisjoint(_TARGETS.findall(line)):
            return True
    return False


def _reached(name: str, bodies: Mapping[str, str]) -> set[str]:
    """Every function and variable a function may come to."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _NAMED.findall(bodies.get(name, ""))
    return reached


def _structure(text: str, named: Mapping[str, str]) -> tuple[int, int]:
    """Size and alignment of a structure passed by value; zeros where it holds what cannot be passed."""
    try:
        size, align = layout(text, named)
    except (ValueError, KeyError):
        return 0, 0
    return size, min(align, LINE_BYTES)


def _kernel(
    name: str,
    rest: str,
    nodes: Mapping[str, str],
    barriers: bool,
    local_variables: bool,
    named: Mapping[str, str],
) -> Kernel:
    refs = dict(re.findall(r"!(\w+) (!\d+)", rest))

    def column(key: str) -> list[str]:
        return _items(nodes.get(refs.get(f"kernel_arg_{key}", ""), ""))

    columns = (column(key) for key in ("name", "type", "base_type", "addr_space", "type_qual"))
    passed = _parameters(rest)
    arguments = tuple(_argument(name, text, named, *row) for text, *row in zip(passed, *columns, strict=True))
    required = re.findall(r"i32 (\d+)", nodes.get(refs.get("reqd_work_group_size", ""), ""))
    subgroup = re.findall(r"i32 (\d+)", nodes.get(refs.get("intel_reqd_sub_group_size", ""), "") or "i32 0")
    waits = barriers or local_variables or any(argument.space == "local" for argument in arguments)
    groups = tuple(map(int, required))
    return Kernel(name, arguments, groups, waits, local_variables, subgroup_size=int(subgroup[0]))


def _parameters(rest: str) -> list[str]:
    """What a definition says of each of its parameters, from behind its opening bracket on."""
    found, depth, begin = [], 0, 0
    for at, letter in enumerate(rest):
        if letter in ",)" and not depth:
            found.append(rest[begin:at])
            begin = at + 1
            if letter == ")":
                break
        depth += (letter in "([{<") - (letter in ")]}>")
    return [text for text in found if text.strip()]


def _items(node: str) -> list[str]:
    return [text if text or not number else number for text, number in re.findall(r'!"([^"]*)"|i32 (\d+)', node)]


def _argument(
    kernel: str, passed: str, named: Mapping[str, str], name: str, shown: str, base: str, space: str, qualifiers: str
) -> Argument:
    """One argument, which the module has as `passed`."""
    where = _SPACES.get(space, "value")
    if where != "value":
        target = base.rstrip("*")
        vector = _VECTOR.match(target)
        element = TYPES.get(vector[1] if vector else target, ("", 0))[0]
        return Argument(name, shown, where, element, 1, 4, "const" in qualifiers.split() or where == "constant")
    vector = _VECTOR.match(base)
    scalar, count = (vector[1], int(vector[2])) if vector else (base, 1)
    if scalar in TYPES:
        element, size = TYPES[scalar]
        return Argument(name, shown, "value", element, count, size * (4 if count == 3 else count))
    enumeration, structure = _ENUMERATION.match(passed), _BY_VALUE.search(passed)
    if enumeration:
        size = int(enumeration[1]) // 8
        return Argument(name, shown, "value", f"{'u' if enumeration[2] else 'i'}{size}", 1, size, enumeration=True)
    size, align = _structure(structure[1], named) if structure else (0, 0)
    if not size:
        raise CompilationFailed(
            f"kernel.cl: error: kernel {kernel!r} takes {name!r} of type {shown!r} by value; "
            "pass scalars, vectors and structures by value, anything else through a pointer",
            diagnostics=[],
        )
    return Argument(name, shown, "value", "", 1, size, align=align)


def stubs(kernels: Mapping[str, Kernel]) -> str:
    """OpenCL C that goes behind a source: functions that take a kernel's arguments from memory, and are the kernel.

    They do not return: they go on to the runtime's next item, which expects nothing in registers. Where nothing shows
    which lane has which item, they do all of the lane's (`eddy_first_id`, where an item's global ids are, is of
    `eddy.gpu.work_items.item_parameter`).
    """
    lines = ['# 1 "stubs"\n']
    for kernel in kernels.values():
        lines += [
            f'_Static_assert(sizeof({argument.type}) == {argument.size}, "{argument.name} is not what it was");\n'
            for argument in kernel.arguments
            if argument.is_structure
        ]
        lines.append(
            f"__attribute__((noreturn)) void eddy_call_{kernel.name}(const __private unsigned char *eddy_a) "
            f"{{ unsigned int eddy_first_id[3]; {_items_of(kernel)} __builtin_unreachable(); }}\n"
        )
    return "".join(lines)


def _items_of(kernel: Kernel) -> str:
    """The kernel's call for one item, or for all of a lane's."""
    loads = map(_load, kernel.arguments, kernel.offsets())
    read = "".join(f"const __auto_type eddy_{k} = {load}; " for k, load in enumerate(loads))
    call = f"{kernel.name}({', '.join(f'eddy_{k}' for k in range(len(kernel.arguments)))});"
    if kernel.iterates_items:
        call = call if kernel.one_way else f"[[clang::always_inline]] {call}"
        return read + walk(call, kernel.ids, kernel.one_way)
    ids = "".join(f"eddy_first_id[{k}] = EDDY_LANE(START_{k}) + EDDY_LOCAL_{k}(EDDY_LOCAL()); " for k in range(3))
    if kernel.subgroups:
        # A lane is among those that meet from here to there; then it waits for the others' end of this turn.
        begin, end = (
            f'__asm__ volatile("sw %0, %1(tp)" : : "r"({value}), "i"(EDDY_CTX_MEETING)); '
            for value in (0, MEETING_TURN)
        )
        call = f"{begin}[[clang::always_inline]] {call} {end}"
    return f'{ids}{read}{call} __asm__ volatile("tail eddy_next");'


def _load(argument: Argument, at: int) -> str:
    """The expression that reads an argument; types in words of our header, whatever the tenant called them."""
    if argument.is_structure:
        return f"*(const __private {argument.type} *)(eddy_a + {at})"
    if not argument.is_pointer:
        names = {letter: name for name, (letter, _) in TYPES.items()}
        kind = names[argument.element] + (str(argument.count) if argument.count > 1 else "")
        return f"*(const __private {kind} *)(eddy_a + {at})"
    word = f"*(const __private unsigned int *)(eddy_a + {at})"
    if argument.space == "local":
        # Each work-group of a core has __local arguments of its own.
        word += " + (EDDY_LANE(BARRIER) & 31) * EDDY_WORD(LOCAL_STRIDE)"
    return f"(__{argument.space} void *)({word})"


_ENTRY = re.compile(
    r"^(eddy_(?:call|loop|join)_\w+:.*\n(?:\s*(?:\.\w+.*|#.*)?\n)*?\s+addi\s+sp, sp, -\d+\n)"
    r"((?:\s+f?sw\s+(?:ra|f?s\d+), .*\n)+)",
    re.M,
)


def drop_saves(assembly: str) -> str:
    """Assembly whose stubs no longer save the registers of a caller they never return to."""
    return _ENTRY.sub(r"\1", assembly)
