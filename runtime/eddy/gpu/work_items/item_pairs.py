# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Work-items of two rows, of two columns or of both at once: kernels whose items go the same ways.

An ND-range is folded in its second dimension: a lane does an item of the first half of rows together with that of the
second half. It is joined in its first dimension: a lane does two neighbours, whose words lie side by side; where it is
folded as well, those of both rows. What is the same for items is done once, so that loops, addresses and what they read
in common cost a part. Where items of two rows would part at a branch before anything is written, as those at the edge
of a matrix do, they are done one by one instead; neighbours must not part. A joined launch has a stub of its own, so
that what one kind needs takes no registers from the other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from eddy.gpu.programs.ir_function import (
    TOKEN,
    IrregularFunction,
    defined_value,
    functions,
    lifetime,
    parse,
    plain_store,
    reachable_blocks,
)
from eddy.gpu.programs.ir_types import bytes_of, named_types
from eddy.gpu.work_items.ir_pieces import BODY, called_as, word
from eddy.gpu.work_items.item_parameter import JOIN_STUB, READS, STUB
from eddy.gpu.work_items.neighbour_strides import neighbour_strides
from eddy.gpu.work_items.uniform import ID, IrModule, Uniformity, bulk_pointers, called_function, is_asm

COLUMNS, ROWS, BOTH = "0", "1", "01"
"""The dimensions in which items differ that are done at once."""
PAIR, ONE, TWO = "eddy_pair_", "eddy_one_", "eddy_two_"
"""Begin the names of the functions for two items, for one whose row is given, and that which decides which to take."""
NEAR, PLACED, JOINED = "eddy_near_", "eddy_placed_", "eddy_joined_"
"""The same for neighbours, for an item whose column and row are given, and that which decides."""
EACH = ("one", "other")
"""The items, by dimension."""
MAX_BLOCKS = 100
MAX_PRIVATE_BYTES = 128
"""Private arrays and structures of all items that are done at once, at most."""
MAX_STRIDE = 4
"""Bytes between neighbours' words, at most: a warp's should lie in a part of a line."""
MAX_RELOADS, MAX_LOOP_RELOADS = 200, 4
"""Loads of what registers had no room for, in all (a stub has its kernel twice) and in an inner loop, beyond which
items are done one by one."""
MAX_MORE_RELOADS = 16
"""The same of neighbours of one row, beside those of one item."""
_RELOAD = re.compile(r"^\tf?lw\t\w+, -?\d+\(sp\)", re.M)
_LABEL = re.compile(r"^(\.LBB\d+_\d+):", re.M)
_OPERATIONS = re.compile(r"(?:= (?:atomicrmw|cmpxchg)|^\s+fence|\b(?:store|load) (?:atomic|volatile)) ")
_DIGITS = re.compile(r"%\d+\Z")
_PHI_FROM = re.compile(r", (%[\w.$-]+) \]")


@dataclass(slots=True)
class PairModule:
    """A module with such kernels.

    Attributes:
        ir: Its text.
        folded: Those that have a function for two rows.
        joined: Those that have a stub for neighbours; in two rows if the kernel is folded.
    """

    ir: str
    folded: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)


def with_item_pairs(ir: str, fold: Iterable[str], join: Iterable[str]) -> PairModule:
    """A module in which kernels that can be are done for several items at a time.

    Args:
        ir: LLVM IR as the front end leaves it.
        fold: Names of kernels whose items the launch may share out as it likes, and that may be done for two rows.
        join: The same of neighbours.
    """
    texts, named = functions(ir), named_types(ir)
    module, made = IrModule(texts), PairModule(ir)

    def several(kernel: str, axes: str) -> str:
        try:
            return _Several(kernel, texts.get(f"{BODY}{kernel}", ""), module, named, axes).text()
        except IrregularFunction:
            return ""

    for kernel in fold:
        if pair := several(kernel, ROWS):
            text, stub = texts[f"{BODY}{kernel}"], texts[f"{STUB}{kernel}"]
            made.ir = made.ir.replace(stub, called_as(stub, kernel, TWO))
            made.ir += f"\n{pair}\n{_one(text, kernel, ONE, ROWS)}\n{_two(text.partition(chr(10))[0], kernel)}"
            made.folded.append(kernel)
    for kernel in join:
        axes = BOTH if kernel in made.folded else COLUMNS
        if near := several(kernel, axes):
            text, stub = texts[f"{BODY}{kernel}"], texts[f"{STUB}{kernel}"]
            own = called_as(stub, kernel, JOINED).replace(f"@{STUB}{kernel}(", f"@{JOIN_STUB}{kernel}(", 1)
            one = _one(text, kernel, PLACED, axes)
            made.ir += f"\n{own}\n{near}\n{one}\n{_joined(text.partition(chr(10))[0], kernel, axes)}"
            made.joined.append(kernel)
    return made


def has_register_pressure(assembly: str, kernel: str, joined: bool = False) -> bool:
    """Whether a kernel's function for two rows, or for neighbours, has more values than there are registers.

    Args:
        assembly: The compiler's.
        kernel: Its name.
        joined: Which of the two.
    """
    body = function_body(assembly, f"{JOIN_STUB if joined else STUB}{kernel}")
    _, *parts = _LABEL.split(body)
    # What is loaded behind a loop's last branch is not of the loop.
    ends = (re.split(rf", {name}$", text, flags=re.M) for name, text in zip(parts[::2], parts[1::2], strict=True))
    loops = ("".join(end[:-1]) for end in ends)
    return stack_reloads(body) > MAX_RELOADS or any(stack_reloads(text) > MAX_LOOP_RELOADS for text in loops)


def is_crowded_row(assembly: str, kernel: str) -> bool:
    """Whether neighbours of one row need so many registers more than an item that they are not worth what they save."""
    near, one = (stack_reloads(function_body(assembly, f"{stub}{kernel}")) for stub in (JOIN_STUB, STUB))
    return near - one > MAX_MORE_RELOADS


def function_body(assembly: str, name: str) -> str:
    """A function's instructions."""
    return assembly.partition(f"\n{name}:")[2].partition(f"-{name}\n")[0]


def stack_reloads(text: str) -> int:
    """Loads from the stack."""
    return len(_RELOAD.findall(text))


def _parameters(head: str) -> tuple[int, int]:
    """Where the parameters of a function's first line begin and end."""
    begin = head.index("(", head.index("@")) + 1
    depth, end = 1, begin
    while depth:
        depth += {"(": 1, ")": -1}.get(head[end], 0)
        end += 1
    return begin, end - 1


def _with(line: str, more: str) -> str:
    """A call or a function's first line with more arguments, the last."""
    begin, end = _parameters(line)
    return f"{line[:end]}{', ' if line[begin:end] else ''}{more}{line[end:]}"


def _named(line: str) -> str:
    """A line in which parameters without a name have one."""
    return TOKEN.sub(lambda found: f"%eddy.p{found[0][1:]}" if _DIGITS.match(found[0]) else found[0], line)


def _one(text: str, kernel: str, name: str, axes: str) -> str:
    """The function that does an item that it is told."""
    head, *lines = called_as(text, kernel, name).split("\n")
    told = [_told(line, "one") if _axis(line) in tuple(axes) else line for line in lines]
    return "\n".join([_with(_named(head), _places(axes, ["one"])), *map(_named_parameters(head), told)])


def _places(axes: str, which: Sequence[str]) -> str:
    """Parameters for ids."""
    return ", ".join(f"i32 %eddy.{what}.{axis}" for axis in axes for what in which)


def _told(line: str, which: str) -> str:
    """What stands for an instruction that asks for an id."""
    return f"  {defined_value(line)} = add i32 %eddy.{which}.{_axis(line)}, 0"


def _named_parameters(head: str) -> Callable[[str], str]:
    """What gives parameters without a name the one they have in `_named`."""
    begin, end = _parameters(head)
    given = {name for name in TOKEN.findall(head[begin:end]) if _DIGITS.match(name)}
    return lambda line: TOKEN.sub(lambda found: _named(found[0]) if found[0] in given else found[0], line)


def _axis(line: str) -> str:
    """The dimension whose id an instruction asks for; "" where it asks for none."""
    found = ID.search(line)
    return found[2] if found else ""


_SECOND_ROW = f"""  %eddy.ids = call ptr @{READS}()
  %eddy.at.row = getelementptr i8, ptr %eddy.ids, i32 {4 * int(ROWS)}
  %eddy.row = load i32, ptr %eddy.at.row, align 4
  %eddy.fold = {word("fold")}
  %eddy.offset = {word("global_offset_1")}
  %eddy.size = {word("global_size_1")}
  %eddy.end = add i32 %eddy.offset, %eddy.size
  %eddy.second = add i32 %eddy.row, %eddy.fold
  %eddy.inside = icmp ult i32 %eddy.second, %eddy.end
  %eddy.folded = icmp ne i32 %eddy.fold, 0
  %eddy.two = and i1 %eddy.inside, %eddy.folded
"""
_COLUMNS = f"""  %eddy.at.column = getelementptr i8, ptr %eddy.ids, i32 {4 * int(COLUMNS)}
  %eddy.place = load i32, ptr %eddy.at.column, align 4
  %eddy.first.column = {word("global_offset_0")}
  %eddy.twice = shl i32 %eddy.place, 1
  %eddy.column = sub i32 %eddy.twice, %eddy.first.column
  %eddy.next.column = add i32 %eddy.column, 1
"""


def _two(head: str, kernel: str) -> str:
    """The function that does a lane's items of both rows."""
    begin, end = _parameters(head)
    given = _named(head[begin:end])
    more = ", " if given else ""
    return f"""{called_as(_named(head), kernel, TWO)}
entry:
{_SECOND_ROW}  br i1 %eddy.two, label %eddy.try, label %eddy.each

eddy.try:
  %eddy.done = call i1 @{PAIR}{kernel}({given}{more}i32 %eddy.row, i32 %eddy.second)
  br i1 %eddy.done, label %eddy.out, label %eddy.each

eddy.each:
  %eddy.at = phi i32 [ %eddy.row, %entry ], [ %eddy.row, %eddy.try ], [ %eddy.second, %eddy.each ]
  call void @{ONE}{kernel}({given}{more}i32 %eddy.at)
  %eddy.first = icmp ne i32 %eddy.at, %eddy.second
  %eddy.again = and i1 %eddy.two, %eddy.first
  br i1 %eddy.again, label %eddy.each, label %eddy.out

eddy.out:
  ret void
}}
"""


def _joined(head: str, kernel: str, axes: str) -> str:
    """The function that does a lane's neighbours, of both rows where there are two."""
    begin, end = _parameters(head)
    given = _named(head[begin:end])
    more = ", " if given else ""
    columns = f"{given}{more}i32 %eddy.column, i32 %eddy.next.column"
    head = called_as(_named(head), kernel, JOINED)
    if axes == COLUMNS:
        return f"""{head}
entry:
  %eddy.ids = call ptr @{READS}()
{_COLUMNS}  %eddy.done = call i1 @{NEAR}{kernel}({columns})
  br i1 %eddy.done, label %eddy.out, label %eddy.each

eddy.each:
  %eddy.x = phi i32 [ %eddy.column, %entry ], [ %eddy.next.column, %eddy.each ]
  call void @{PLACED}{kernel}({given}{more}i32 %eddy.x)
  %eddy.again = icmp eq i32 %eddy.x, %eddy.column
  br i1 %eddy.again, label %eddy.each, label %eddy.out

eddy.out:
  ret void
}}
"""
    return f"""{head}
entry:
{_SECOND_ROW}{_COLUMNS}  br i1 %eddy.two, label %eddy.try, label %eddy.each

eddy.try:
  %eddy.done = call i1 @{NEAR}{kernel}({columns}, i32 %eddy.row, i32 %eddy.second)
  br i1 %eddy.done, label %eddy.out, label %eddy.each

eddy.each:
  %eddy.x = phi i32 [ %eddy.column, %entry ], [ %eddy.column, %eddy.try ], [ %eddy.other, %eddy.each ]
  %eddy.y = phi i32 [ %eddy.row, %entry ], [ %eddy.row, %eddy.try ], [ %eddy.on, %eddy.each ]
  call void @{PLACED}{kernel}({given}{more}i32 %eddy.x, i32 %eddy.y)
  %eddy.left = icmp eq i32 %eddy.x, %eddy.column
  %eddy.other = select i1 %eddy.left, i32 %eddy.next.column, i32 %eddy.column
  %eddy.on = select i1 %eddy.left, i32 %eddy.y, i32 %eddy.second
  %eddy.first = icmp ne i32 %eddy.y, %eddy.second
  %eddy.below = and i1 %eddy.two, %eddy.first
  %eddy.again = or i1 %eddy.left, %eddy.below
  br i1 %eddy.again, label %eddy.each, label %eddy.out

eddy.out:
  ret void
}}
"""


class _Several:
    """A kernel's function for two items, or four; it says whether they went the same way."""

    def __init__(self, kernel: str, text: str, module: IrModule, named: Mapping[str, str], axes: str) -> None:
        if not text or "byval(" in text.partition("\n")[0]:
            raise IrregularFunction("no function of its own, or structures of its own behind parameters")
        self._kernel, self._module, self._axes = kernel, module, axes
        self._function = parse(text)
        self._blocks = self._function.blocks
        again = {name for name, block in self._blocks.items() if name in reachable_blocks(self._blocks, block.targets)}
        asked = {_axis(line) for block in self._blocks.values() for line in block.lines}
        if len(self._blocks) > MAX_BLOCKS or (ROWS in axes and not again) or not asked.issuperset(axes):
            raise IrregularFunction("too long, or without a loop or ids")
        uniform = {axis: Uniformity(self._function, module, axis, parting=False) for axis in axes}
        variables, self._direct = self._function.variables, uniform[axes[0]].direct
        private = set(variables) - self._direct
        self._varying = {axis: found.varying | found.variables | private for axis, found in uniform.items()}
        self._twice = set[str]().union(*self._varying.values())
        if sum(bytes_of(variables[name], named) for name in private) << len(axes) > MAX_PRIVATE_BYTES:
            raise IrregularFunction("private memory")
        self._own = {defined_value(line) for block in self._blocks.values() for line in block.lines} - {""}
        self._own |= {*self._blocks, *variables}
        self._agreeing = {name for name in self._blocks if self._differ(name)}
        for name in self._agreeing:
            self._check(name, again)
        if COLUMNS in axes:
            # In a kernel without loops two comparisons cost what its neighbours save.
            if not again and any(self._differ(name, COLUMNS) for name in self._agreeing):
                raise IrregularFunction("neighbours that may part, without a loop")
            strides = neighbour_strides(self._function, self._varying[COLUMNS], self._direct, named)
            if any(abs(by) > MAX_STRIDE for by in strides):
                raise IrregularFunction("neighbours that are not side by side in memory")

    def text(self) -> str:
        """The function."""
        name = PAIR if self._axes == ROWS else NEAR
        head = called_as(_named(self._function.head), self._kernel, name).replace("void", "i1", 1)
        head = re.sub(r"( #\d+) .*\{$", r"\1 {", _with(head, _places(self._axes, EACH)))
        return f"{head}\n" + "".join(f"{line}\n" for line in self._lines()) + "}\n"

    def _differ(self, name: str, axes: str = BOTH) -> bool:
        """Whether items may go different ways from a block on, that differ in some dimensions."""
        block = self._blocks[name]
        condition = TOKEN.findall(block.lines[-1].partition("label")[0])
        return len(block.targets) > 1 and any(set(axes) & set(self._axes_of(at)) for at in condition)

    def _check(self, name: str, again: set[str]) -> None:
        """Where two items part both are begun again, so nothing may have been written, and it should be rare."""
        block = self._blocks[name]
        if name in again or not block.lines[-1].lstrip().startswith("br i1 "):
            raise IrregularFunction("ways that differ within a loop")
        before = [at for at in self._blocks if name in reachable_blocks(self._blocks, [at])]
        if any(self._writes(line) for at in before for line in self._blocks[at].lines):
            raise IrregularFunction("ways that differ after something is written")

    def _writes(self, line: str) -> bool:
        if lifetime(line)[1]:
            return False
        if _OPERATIONS.search(line) or " asm sideeffect " in line:
            return True
        if line.lstrip().startswith("store "):
            return plain_store(line)[1] not in self._function.variables
        if pointers := bulk_pointers(line):
            return pointers[0] not in self._function.variables
        name = called_function(line)
        return bool(name) and not self._module.is_result_uniform(name) and not ID.search(line)

    def _lines(self) -> Iterator[str]:
        yield "eddy.begin:"
        for line in self._function.beginning:
            yield from self._repeated(line, self._axes_of(defined_value(line)))
        yield f"  br label {self._line(self._function.entry, {})}"
        for name, block in self._blocks.items():
            yield f"{self._line(name, {})[1:]}:"
            for line in block.lines[:-1]:
                yield from self._instruction(line)
            yield from self._end(name, block.lines[-1])
        yield "eddy.apart:"
        yield "  ret i1 false"

    def _instruction(self, line: str) -> Iterator[str]:
        name, to = called_function(line), plain_store(line)[1]
        if " = phi " in line:
            line = _PHI_FROM.sub(lambda at: f", {self._last(at[1])} ]", line)
        elif is_asm(line) and re.search(r"\bt6\b|\bx31\b", line):
            raise IrregularFunction("assembly that reads ids")
        elif (
            name
            and not ID.search(line)
            and not self._module.is_result_uniform(name)
            and self._module.reads_item_id(name)
        ):
            raise IrregularFunction("a function that reads ids")
        of = lifetime(line)[1] or (to if to in self._direct else defined_value(line))
        yield from self._repeated(line, self._axes_of(of) if of else self._axes)

    def _axes_of(self, name: str) -> str:
        """The dimensions in which a value or variable differs."""
        return "".join(axis for axis in self._axes if name in self._varying[axis])

    def _repeated(self, line: str, axes: str) -> Iterator[str]:
        """An instruction once for each of the items that differ in some dimensions."""
        for items in itertools.product(EACH, repeat=len(axes)):
            item = dict(zip(axes, items, strict=True))
            made = self._line(line, item)
            yield _told(made, item[_axis(line)]) if _axis(line) in item else made

    def _end(self, name: str, line: str) -> Iterator[str]:
        if line.split()[0] == "ret":
            yield "  ret i1 true"
        elif name in self._agreeing:
            condition = TOKEN.search(line)
            assert condition is not None
            first, *others = self._repeated(condition[0], self._axes_of(condition[0]))
            agreed = f"{self._line(name, {})}.agreed"
            for k, other in enumerate(others):
                yield f"  {agreed}.not{k} = xor i1 {first}, {other}"
            apart = f"{agreed}.not0"
            for k in range(1, len(others)):
                yield f"  {agreed}.any{k} = or i1 {apart}, {agreed}.not{k}"
                apart = f"{agreed}.any{k}"
            yield f"  br i1 {apart}, label %eddy.apart, label {agreed}"
            yield f"{agreed[1:]}:"
            yield self._line(line, dict.fromkeys(self._axes, EACH[0]))
        else:
            yield self._line(line, {})

    def _last(self, name: str) -> str:
        """The part of a block that goes on to others; still as the function calls it, but for what is put behind."""
        return f"{name}.agreed" if name in self._agreeing else name

    def _line(self, line: str, item: Mapping[str, str]) -> str:
        """A line with the values of one of the items, told by dimension."""

        def one(found: re.Match[str]) -> str:
            name = found[0]
            base = name.removesuffix(".agreed")
            if name in self._own:
                return f"%v{name[1:]}" + "".join(f".{item[axis]}.{axis}" for axis in self._axes_of(name))
            if base in self._agreeing:
                return f"%v{base[1:]}.agreed"
            return f"%eddy.p{name[1:]}" if _DIGITS.match(name) else name

        return TOKEN.sub(one, line)
