# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Work-items of two rows at once: kernels with loops that all items go through alike, as a product of matrices.

An ND-range is folded in its second dimension: a lane does an item of the first half of rows together with that of the
second half. What is the same for both is done once, so that loops and what they read at a common address cost half.
Where the two would part at a branch before anything is written, as those at the edge of a matrix do, they are done one
by one instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from eddy.gpu.work_items.item_parameter import READS, STUB
from eddy.gpu.work_items.uniform import ID, IrModule, Uniformity, called_function, is_asm

AXIS = "1"
"""The dimension in which the two items differ."""
PAIR, ONE, TWO = "eddy_pair_", "eddy_one_", "eddy_two_"
"""Begin the names of the functions for two items, for one whose row is given, and that which decides which to take."""
MAX_BLOCKS = 100
MAX_PRIVATE_BYTES = 64
"""Private arrays and structures of an item, at most."""
MAX_RELOADS, MAX_LOOP_RELOADS = 200, 4
"""Loads of what registers had no room for, in all (a stub has its kernel twice) and in an inner loop, beyond which
items are done one by one."""
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
        kernels: Their names.
    """

    ir: str
    kernels: list[str] = field(default_factory=list)


def with_item_pairs(ir: str, kernels: Iterable[str]) -> PairModule:
    """A module in which kernels that can be are done for two items at a time.

    Args:
        ir: LLVM IR as the front end leaves it.
        kernels: Names of those whose items the launch may share out as it likes.
    """
    texts, named = functions(ir), named_types(ir)
    module, made = IrModule(texts), PairModule(ir)
    for kernel in kernels:
        text, stub = texts.get(f"{BODY}{kernel}", ""), texts[f"{STUB}{kernel}"]
        try:
            pair = _Pair(kernel, text, module, named).text()
        except IrregularFunction:
            continue
        made.ir = made.ir.replace(stub, called_as(stub, kernel, TWO))
        made.ir += f"\n{pair}\n{_one(text, kernel)}\n{_two(text.partition(chr(10))[0], kernel)}"
        made.kernels.append(kernel)
    return made


def has_register_pressure(assembly: str, kernel: str) -> bool:
    """Whether a kernel's function has more values than there are registers.

    Args:
        assembly: The compiler's.
        kernel: Its name.
    """
    body = function_body(assembly, f"{STUB}{kernel}")
    _, *parts = _LABEL.split(body)
    # What is loaded behind a loop's last branch is not of the loop.
    ends = (re.split(rf", {name}$", text, flags=re.M) for name, text in zip(parts[::2], parts[1::2], strict=True))
    loops = ("".join(end[:-1]) for end in ends)
    return stack_reloads(body) > MAX_RELOADS or any(stack_reloads(text) > MAX_LOOP_RELOADS for text in loops)


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


def _one(text: str, kernel: str) -> str:
    """The function that does an item of a row that it is told."""
    head, *lines = called_as(text, kernel, ONE).split("\n")
    rows = [f"  {defined_value(line)} = add i32 %eddy.one, 0" if _is_row(line) else line for line in lines]
    return "\n".join([_with(_named(head), "i32 %eddy.one"), *map(_named_parameters(head), rows)])


def _named_parameters(head: str) -> Callable[[str], str]:
    """What gives parameters without a name the one they have in `_named`."""
    begin, end = _parameters(head)
    given = {name for name in TOKEN.findall(head[begin:end]) if _DIGITS.match(name)}
    return lambda line: TOKEN.sub(lambda found: _named(found[0]) if found[0] in given else found[0], line)


def _is_row(line: str) -> bool:
    """Whether an instruction asks for the second id."""
    found = ID.search(line)
    return found is not None and found[2] == AXIS


def _two(head: str, kernel: str) -> str:
    """The function that does a lane's items of both rows."""
    begin, end = _parameters(head)
    given = _named(head[begin:end])
    more = ", " if given else ""
    return f"""{called_as(_named(head), kernel, TWO)}
entry:
  %eddy.ids = call ptr @{READS}()
  %eddy.at.row = getelementptr i8, ptr %eddy.ids, i32 {4 * int(AXIS)}
  %eddy.row = load i32, ptr %eddy.at.row, align 4
  %eddy.fold = {word("fold")}
  %eddy.offset = {word("global_offset_1")}
  %eddy.size = {word("global_size_1")}
  %eddy.end = add i32 %eddy.offset, %eddy.size
  %eddy.second = add i32 %eddy.row, %eddy.fold
  %eddy.inside = icmp ult i32 %eddy.second, %eddy.end
  %eddy.folded = icmp ne i32 %eddy.fold, 0
  %eddy.two = and i1 %eddy.inside, %eddy.folded
  br i1 %eddy.two, label %eddy.try, label %eddy.each

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


class _Pair:
    """A kernel's function for two items; it says whether they went the same way."""

    def __init__(self, kernel: str, text: str, module: IrModule, named: Mapping[str, str]) -> None:
        if not text or "byval(" in text.partition("\n")[0]:
            raise IrregularFunction("no function of its own, or structures of its own behind parameters")
        self._kernel, self._module = kernel, module
        self._function = parse(text)
        self._blocks = self._function.blocks
        again = {name for name, block in self._blocks.items() if name in reachable_blocks(self._blocks, block.targets)}
        rows = any(_is_row(line) for block in self._blocks.values() for line in block.lines)
        if len(self._blocks) > MAX_BLOCKS or not again or not rows:
            raise IrregularFunction("too long, or without a loop or rows")
        self._uniform = Uniformity(self._function, module, AXIS)
        variables = self._function.variables
        self._private = set(variables) - self._uniform.direct
        self._twice = self._uniform.varying | self._uniform.variables | self._private
        if sum(bytes_of(variables[name], named) for name in self._private) > MAX_PRIVATE_BYTES:
            raise IrregularFunction("private memory")
        self._own = {defined_value(line) for block in self._blocks.values() for line in block.lines} - {""}
        self._own |= {*self._blocks, *variables}
        self._agreeing = {name for name in self._blocks if self._differ(name)}
        for name in self._agreeing:
            self._check(name, again)

    def text(self) -> str:
        """The function."""
        head = called_as(_named(self._function.head), self._kernel, PAIR).replace("void", "i1", 1)
        head = re.sub(r"( #\d+) .*\{$", r"\1 {", _with(head, "i32 %eddy.one, i32 %eddy.other"))
        return f"{head}\n" + "".join(f"{line}\n" for line in self._lines()) + "}\n"

    def _differ(self, name: str) -> bool:
        """Whether items may go different ways from a block on."""
        block = self._blocks[name]
        condition = TOKEN.findall(block.lines[-1].partition("label")[0])
        return len(block.targets) > 1 and not self._twice.isdisjoint(condition)

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
        name = called_function(line)
        return bool(name) and not self._module.is_result_uniform(name) and not ID.search(line)

    def _lines(self) -> Iterator[str]:
        yield "eddy.begin:"
        for line in self._function.beginning:
            yield from self._doubled(line) if defined_value(line) in self._twice else (self._line(line, ""),)
        yield f"  br label {self._line(self._function.entry, '')}"
        for name, block in self._blocks.items():
            yield f"{self._line(name, '')[1:]}:"
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
        if lifetime(line)[1]:
            twice = lifetime(line)[1] in self._twice
        elif to in self._uniform.direct:
            twice = to in self._twice
        else:
            twice = not defined_value(line) or defined_value(line) in self._twice
        yield from self._doubled(line) if twice else (self._line(line, ""),)

    def _doubled(self, line: str) -> Iterator[str]:
        for suffix, own in ((".one", "%eddy.one"), (".other", "%eddy.other")):
            made = self._line(line, suffix)
            yield f"  {defined_value(made)} = add i32 {own}, 0" if _is_row(line) else made

    def _end(self, name: str, line: str) -> Iterator[str]:
        if line.split()[0] == "ret":
            yield "  ret i1 true"
        elif name in self._agreeing:
            one, other = (self._line(line, suffix) for suffix in (".one", ".other"))
            agreed = f"{self._line(name, '')}.agreed"
            first, second = (TOKEN.search(way) for way in (one, other))
            assert first is not None
            assert second is not None
            yield f"  {agreed}.not = xor i1 {first[0]}, {second[0]}"
            yield f"  br i1 {agreed}.not, label %eddy.apart, label {agreed}"
            yield f"{agreed[1:]}:"
            yield one
        else:
            yield self._line(line, "")

    def _last(self, name: str) -> str:
        """The part of a block that goes on to others; still as the function calls it, but for what is put behind."""
        return f"{name}.agreed" if name in self._agreeing else name

    def _line(self, line: str, suffix: str) -> str:
        """A line with the values of one of the items."""

        def one(found: re.Match[str]) -> str:
            name = found[0]
            base = name.removesuffix(".agreed")
            if name in self._own:
                return f"%v{name[1:]}{suffix if name in self._twice else ''}"
            if base in self._agreeing:
                return f"%v{base[1:]}.agreed"
            return f"%eddy.p{name[1:]}" if _DIGITS.match(name) else name

        return TOKEN.sub(one, line)
