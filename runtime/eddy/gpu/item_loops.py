"""Work-items of a lane as loops between barriers, for groups larger than a core, where a kernel's barriers are regular.

Such a kernel is compiled twice beside what fibers would run: once for one item a lane, where a barrier is one instruction, and
once with a loop over the lane's items around what lies between two barriers. What all items have in common stays in
registers. What an item has of its own over a barrier lies in a row of words for all lanes, as what fibers keep does;
what follows from its id by a few operations is computed again.

A region is what items do from one barrier to the next. All items come to the same barrier or end (`Uniformity.regular`),
so the last item's way says where the group goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from eddy.gpu.ir_function import (
    BARRIER,
    TOKEN,
    Function,
    Irregular,
    defined,
    functions,
    lifetime,
    loaded,
    parse,
    reached,
    stored,
)
from eddy.gpu.ir_types import layout, named_types
from eddy.gpu.item_parameter import LOOP_STUB, STUB
from eddy.gpu.layout import BLOCK, CONTEXT, CONTEXT_ALIASES, LOCAL_BITS, ROW_BYTES
from eddy.gpu.local_places import Placed, local_variables, placed
from eddy.gpu.uniform import ID, Module, Uniformity, called, is_asm

_BODY = "__clang_ocl_kern_imp_"
_ONCE, _ITEMS = "eddy_once_", "eddy_items_"
MAX_BLOCKS = 400
MAX_PRIVATE_BYTES = 64
"""Private arrays and structures that are kept over a barrier, at most; with more of them items are fibers."""
MAX_RELOADS = 16
"""Loads of what registers had no room for, beyond which loops over items are not worth what they save."""
MAX_AGAIN = 16
"""Instructions that are rather repeated than have their result kept."""
_CHEAP = re.compile(
    r" = (?:(?:add|sub|mul|shl|lshr|ashr|and|or|xor|zext|sext|trunc|icmp|getelementptr|select) "
    r"|u(?:div|rem) i32 %[\w.$-]+, (?:2|4|8|16|32|64|128|256)$)"
)
_PHI_WAY = re.compile(r"(?:, )?\[ ([^\[\]]*), (%[\w.$-]+) \]")
_WHOLE = re.compile(r"float|ptr|i8|i16|i32")
_DIGITS = re.compile(r"%\d+\Z")
_AXES = "xyz"
_PURE = "nounwind memory(none)"


@dataclass(slots=True)
class Loops:
    """A module with such kernels.

    Attributes:
        ir: Its text.
        words: By kernel, the words of a row that an item of it keeps.
        placed: Those whose `__local` variables each work-group has for itself.
    """

    ir: str
    words: dict[str, int] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)


def with_item_loops(ir: str, kernels: Iterable[str]) -> Loops:
    """A module in which kernels with regular barriers are loops over items.

    Args:
        ir: LLVM IR as the front end leaves it.
        kernels: Names of those whose items wait for each other.
    """
    texts, named = functions(ir), named_types(ir)
    module, variables = Module(texts), local_variables(ir)
    made = Loops(ir)
    for kernel in kernels:
        text, stub = texts.get(f"{_BODY}{kernel}", ""), texts[f"{STUB}{kernel}"]
        elsewhere = set().union(*(variables & module.named(name) for name in module.called(f"{_BODY}{kernel}")))
        own = None if elsewhere else placed(text, variables)
        own, made_placed = own or Placed(text, {}), own is not None
        try:
            looped = _Looped(kernel, own, module, named)
            body = looped.text()
        except Irregular:
            continue
        once = _once(_as(own.text, kernel, _ONCE), own)
        if made_placed:
            made.placed.add(kernel)
        made.ir = made.ir.replace(stub, _as(stub, kernel, _ONCE))
        second = _as(stub, kernel, _ITEMS).replace(f"@{STUB}{kernel}(", f"@{LOOP_STUB}{kernel}(", 1)
        made.ir += f"\n{once}\n{body}\n{second}"
        made.words[kernel] = looped.words
    if made.words:
        made.ir = _with_loops(_with_tag(made.ir))
    return made


def crowded(assembly: str, kernel: str) -> bool:
    """Whether a kernel's loops over items have more values than there are registers, so that they are slower than one
    item a lane where that can be.

    Args:
        assembly: The compiler's.
        kernel: Its name.
    """
    return _reloads(assembly, LOOP_STUB + kernel) - _reloads(assembly, STUB + kernel) > MAX_RELOADS


def _reloads(assembly: str, name: str) -> int:
    """Loads from the stack in a function."""
    body = assembly.partition(f"\n{name}:")[2].partition(f"-{name}\n")[0]
    return len(re.findall(r"^\tf?lw\t\w+, -?\d+\(sp\)", body, re.M))


def _as(text: str, kernel: str, name: str) -> str:
    return text.replace(f"@{_BODY}{kernel}(", f"@{name}{kernel}(")


def _once(text: str, own: Placed) -> str:
    """A kernel's function for lanes with one item each."""
    lines = [_BAR.format(n=k) if BARRIER.match(line) else line for k, line in enumerate(text.split("\n"))]
    at = lines.index("entry:") + 1
    return "\n".join([*lines[:at], *_bases(own), *lines[at:]])


def _bases(own: Placed) -> Iterator[str]:
    """Where the work-group's own `__local` variables lie."""
    if own.names:
        yield f"  %eddy.place = {_field('barrier')}"
        yield f"  %eddy.span = {_word('local_stride')}"
        yield "  %eddy.base = mul i32 %eddy.place, %eddy.span"
    for value, name in own.names.items():
        yield f"  {value} = getelementptr i8, ptr {name}, i32 %eddy.base"


def _word(name: str) -> str:
    return f'call i32 asm "lw $0, $1(gp)", "=r,i"(i32 {4 * BLOCK.index(name)}) {_PURE}'


def _field(name: str) -> str:
    at = ROW_BYTES * CONTEXT.index(CONTEXT_ALIASES.get(name, name))
    return f'call i32 asm "lw $0, $1(tp)", "=r,i"(i32 {at}) {_PURE}'


_BAR = (
    f"  %eddy.place{{n}} = {_field('barrier')}\n  %eddy.warps{{n}} = {_word('group_warps')}\n"
    '  call void asm sideeffect ".insn r 0x0b, 4, 0, x0, $0, $1", "r,r,~{{memory}}"'
    "(i32 %eddy.place{n}, i32 %eddy.warps{n}) convergent nounwind"
)
"""A barrier of a lane with one item, or behind the loop over its items."""
_LOOP = "!eddy_loop"
"""Stands for the number of what says that a loop is not unrolled."""
_TAG = "!eddy_row"
"""Stands for the number of what says that rows are apart from what kernels read and write."""


def _with_tag(ir: str) -> str:
    """A module in which accesses to rows are known to be apart from typed ones."""
    base = re.search(r'^(!\d+) = !\{!"omnipotent char", ', ir, re.M)
    if not base:
        return ir.replace(f", !tbaa {_TAG}", "")
    number = _free(ir)
    nodes = f'!{number} = !{{!{number + 1}, !{number + 1}, i64 0}}\n!{number + 1} = !{{!"row", {base[1]}, i64 0}}\n'
    return ir.replace(_TAG, f"!{number}") + nodes


def _with_loops(ir: str) -> str:
    """A module whose loops over items are not unrolled: several items in a round are longer than a branch costs."""
    number = iter(range(_free(ir), len(ir)))
    off = next(number)
    nodes = [f'!{off} = !{{!"llvm.loop.unroll.disable"}}']

    def one(_: re.Match[str]) -> str:
        own = next(number)
        nodes.append(f"!{own} = distinct !{{!{own}, !{off}}}")
        return f"!{own}\n"

    return re.sub(rf"{_LOOP}\n", one, ir) + "\n".join(nodes) + "\n"


def _free(ir: str) -> int:
    """A number that no node of a module has, nor any above it."""
    return max(map(int, re.findall(r"^!(\d+) = ", ir, re.M))) + 1


class _Looped:
    """A kernel with loops over items between its barriers."""

    def __init__(self, kernel: str, own: Placed, module: Module, named: Mapping[str, str]) -> None:
        text = own.text
        if not text or "byval(" in text.partition("\n")[0]:
            raise Irregular("no function of its own, or structures of its own behind parameters")
        self._kernel, self._module, self._own = kernel, module, own
        self._function = parse(text)
        if len(self._function.blocks) > MAX_BLOCKS:
            raise Irregular("too long")
        self._axes = self._check()
        self._uniform = Uniformity(self._function, module)
        if not self._uniform.regular:
            raise Irregular("barriers that not all items come to")
        blocks = self._function.blocks
        self._starts = [self._function.entry, *(b.targets[0] for b in blocks.values() if b.waits)]
        self._regions = {start: reached(blocks, [start], waits=False) for start in self._starts}
        self._again = _Again(self._function, self._uniform, module)
        self._live = _Live(self._function, self._uniform.direct)
        self._rows = self._places(named)
        self._values = self._names()

    @property
    def inner(self) -> str:
        """The dimension that a lane goes along first: the second, along which its first id stays."""
        return "y" if self._axes > 1 else "x"

    @property
    def words(self) -> int:
        """Words of a row that an item keeps."""
        return sum(size for _, size in self._rows.values())

    def text(self) -> str:
        """The function."""
        head = _as(self._function.head, self._kernel, _ITEMS)
        parts = ["".join(f"{line}\n" for line in self._begin())]
        parts += [_Region(self, number).text() for number in range(len(self._starts))]
        return f"{self._renamed(head, '')}\n{''.join(parts)}}}\n"

    def _check(self) -> int:
        """Refuse what reads ids otherwise; the number of dimensions the kernel looks at."""
        axes = 1
        for block in self._function.blocks.values():
            for line in block.lines:
                found = ID.search(line)
                if found:
                    axes = max(axes, int(found[2]) + 1)
                elif is_asm(line) and re.search(r"\bt6\b|\bx31\b", line):
                    raise Irregular("assembly that reads ids")
                elif (name := called(line)) and (self._module.reads_item(name) or self._module.waits(name)):
                    raise Irregular("a function that reads ids or waits")
        return axes

    def _places(self, named: Mapping[str, str]) -> dict[str, tuple[int, int]]:
        """The first word and the number of words of each variable that items keep over a barrier."""
        rows: dict[str, tuple[int, int]] = {}
        at, private = 0, 0
        kept = set().union(*(self._live.at[start] for start in self._starts[1:])) if len(self._starts) > 1 else set()
        for name, kind in self._function.variables.items():
            if name not in kept or name in self._again.lines or self.is_uniform(name):
                continue
            try:
                size = 4 if kind == "ptr" else layout(kind, named)[0]
            except (ValueError, KeyError):
                raise Irregular("a variable of another kind") from None
            if not _WHOLE.fullmatch(kind) and size % 4:
                raise Irregular("a variable that is not of words")
            private += 0 if name in self._uniform.direct else size
            rows[name] = at, max(1, size // 4)
            at += rows[name][1]
        if private > MAX_PRIVATE_BYTES:
            raise Irregular("private memory is kept")
        return rows

    def _names(self) -> set[str]:
        blocks = self._function.blocks
        made = {defined(line) for block in blocks.values() for line in block.lines} - {""}
        return made | set(blocks)

    def is_uniform(self, name: str) -> bool:
        """Whether a variable is the same in all items."""
        return name in self._uniform.direct and name not in self._uniform.variables

    def _begin(self) -> Iterator[str]:
        yield "entry:"
        yield from self._function.beginning
        for axis in _AXES:
            yield f"  %eddy.{axis} = alloca i32, align 4"
        yield "  %eddy.row = alloca ptr, align 4"
        yield "  %eddy.next = alloca i32, align 4"
        yield "  %eddy.left = alloca i32, align 4"
        yield f'  %eddy.id = call i32 asm "mv $0, t6", "=r"() {_PURE}'
        yield f"  %eddy.step = {_word('local_step')}"
        mask = (1 << LOCAL_BITS) - 1
        for what in ("id", "step"):
            for k, axis in enumerate(_AXES):
                yield f"  %eddy.{what}.s{axis} = lshr i32 %eddy.{what}, {LOCAL_BITS * k}"
                yield f"  %eddy.{what}.{axis} = and i32 %eddy.{what}.s{axis}, {mask}"
        for k, axis in enumerate(_AXES):
            yield f"  %eddy.size.{axis} = {_word(f'local_size_{k}')}"
            yield f"  %eddy.start.{axis} = {_field(f'start_{k}')}"
        yield f"  %eddy.first.word = {_field('first')}"
        yield "  %eddy.first.row = inttoptr i32 %eddy.first.word to ptr"
        yield f"  %eddy.lines = {_field('lines' if self.inner == 'y' else 'columns')}"
        yield f"  %eddy.stride = {_word('fiber_stride')}"
        yield from _bases(self._own)
        yield "  br label %r0.start"

    def _renamed(self, line: str, suffix: str) -> str:
        """A line with the values of one region; parameters without a name get one."""

        def one(found: re.Match[str]) -> str:
            name = found[0]
            if name in self._values:
                return f"%v{name[1:]}{suffix}" if suffix else name
            return f"%eddy.p{name[1:]}" if _DIGITS.match(name) else name

        return TOKEN.sub(one, line)


class _Region:
    """What items do from one barrier on, as a loop."""

    def __init__(self, of: _Looped, number: int) -> None:
        self._of, self._number = of, number
        self._start = of._starts[number]
        self._names = of._regions[self._start]
        self._blocks = of._function.blocks
        lines = [line for name in self._names for line in self._blocks[name].lines]
        self._written = {stored(line)[1] for line in lines}
        self._named = {token for line in lines for token in TOKEN.findall(line)}
        ends = [self._end(name) for name in self._names]
        self._ends = list(dict.fromkeys(end for end in ends if end is not None))
        self._check_values()

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _end(self, name: str) -> str | None:
        """Where a block ends the region: the block behind its barrier, "" for the function's end."""
        block = self._blocks[name]
        if block.waits:
            return block.targets[0]
        return "" if block.lines[-1].split()[0] == "ret" else None

    def _check_values(self) -> None:
        """No value comes from before the region, or from a block that has not been come to for certain."""
        made: dict[str, str] = {}
        for name in self._names:
            for line in self._blocks[name].lines:
                if value := defined(line):
                    made[value] = name
        inside = set(self._names)
        for name in self._names:
            seen: set[str] = set()
            for line in self._blocks[name].lines:
                if " = phi " in line:
                    seen.add(defined(line))
                    for value, at in _PHI_WAY.findall(line):
                        source = made.get(value, at)
                        known = value not in self._of._values or value in made
                        if at in inside and not (known and (source == at or self._before(source, at))):
                            raise Irregular("a value that is used behind a barrier")
                    continue
                for token in TOKEN.findall(line):
                    if token not in self._of._values or token in self._blocks:
                        continue
                    if token == defined(line):
                        seen.add(token)
                    elif token not in seen and not (made.get(token) in inside and self._before(made[token], name)):
                        raise Irregular("a value that is used behind a barrier")

    def _before(self, one: str, other: str) -> bool:
        """Whether the region comes to a block only by another."""
        if one == other or self._start == one:
            return one != other
        blocks = {name: self._blocks[name] for name in self._names}
        free = _inner(blocks, self._start, one)
        return other not in free

    def _lines(self) -> Iterator[str]:
        of, r = self._of, f"r{self._number}"
        uniform = [
            name
            for name in of._function.variables
            if name in self._written and of.is_uniform(name) and name in of._live.at[self._start]
        ]
        kinds = of._function.variables
        yield f"{r}.start:"
        for k, name in enumerate(uniform):
            yield f"  %{r}.same{k} = load {kinds[name]}, ptr {name}, align {_align(kinds[name])}"
        for axis in _AXES:
            yield f"  store i32 %eddy.id.{axis}, ptr %eddy.{axis}, align 4"
        yield "  store ptr %eddy.first.row, ptr %eddy.row, align 4"
        yield "  store i32 %eddy.lines, ptr %eddy.left, align 4"
        yield f"  br label %{r}.line"
        yield f"{r}.line:"
        yield f"  store i32 %eddy.id.{of.inner}, ptr %eddy.{of.inner}, align 4"
        yield f"  br label %{r}.item"
        yield f"{r}.item:"
        for axis in _AXES:
            yield f"  %{r}.{axis} = load i32, ptr %eddy.{axis}, align 4"
        yield f"  %{r}.row = load ptr, ptr %eddy.row, align 4"
        for k, name in enumerate(uniform):
            yield f"  store {kinds[name]} %{r}.same{k}, ptr {name}, align {_align(kinds[name])}"
        if self._number:
            yield from self._taken()
        yield f"  br label {self._renamed(self._start)}"
        for name in self._names:
            yield f"{self._renamed(name)[1:]}:"
            yield from self._block(name)
        for k, end in enumerate(self._ends):
            yield f"{r}.out{k}:"
            if end:
                yield from self._kept(end)
            if len(self._ends) > 1:
                yield f"  store i32 {k}, ptr %eddy.next, align 4"
            yield f"  br label %{r}.step"
        if self._ends:
            yield from self._step()
            yield from self._leave()

    def _taken(self) -> Iterator[str]:
        """An item's variables as they were."""
        of, r = self._of, f"r{self._number}"
        live = of._live.at[self._start]
        for n, line in enumerate(of._again.needed(live)):
            yield self._line(of._renamed(line, f".{r}.again"), n)
        for name in of._rows:
            if name in live:
                yield from self._copy(name, f"{r}.take", True)

    def _kept(self, end: str) -> Iterator[str]:
        """An item's variables that may have changed and that are needed again."""
        for name in self._of._rows:
            touched = name in (self._written if name in self._of._uniform.direct else self._named)
            if name in self._of._live.at[end] and touched:
                yield from self._copy(name, f"r{self._number}.keep{self._ends.index(end)}", False)

    def _copy(self, name: str, label: str, take: bool) -> Iterator[str]:
        at, words = self._of._rows[name]
        kind = self._of._function.variables[name]
        whole = bool(_WHOLE.fullmatch(kind))
        for word in range(words):
            value, here, there = (f"%{label}.{at + word}.{what}" for what in ("value", "here", "there"))
            row = f"%r{self._number}.row"
            yield f"  {there} = getelementptr i8, ptr {row}, i32 {ROW_BYTES * (at + word)}"
            yield f"  {here} = getelementptr i8, ptr {name}, i32 {4 * word}"
            moved = kind if whole else "i32"
            align = _align(moved)
            own, row_at = f"ptr {here}, align {align}", f"ptr {there}, align {align}, !tbaa {_TAG}"
            yield f"  {value} = load {moved}, {row_at if take else own}"
            yield f"  store {moved} {value}, {own if take else row_at}"

    def _block(self, name: str) -> Iterator[str]:
        block, r = self._blocks[name], f"r{self._number}"
        end = self._end(name)
        lines = block.lines if end is None or block.waits else block.lines[:-1]
        for n, line in enumerate(lines):
            if lifetime(line)[1]:
                continue
            if " = phi " in line:
                line = self._phi(line)
            yield self._line(self._renamed(line), n)
        if end is not None:
            yield f"  br label %{r}.out{self._ends.index(end)}"

    def _phi(self, line: str) -> str:
        """Without the ways that do not come from the region."""
        head, _, _ = line.partition("[")
        ways = [f"[ {value}, {at} ]" for value, at in _PHI_WAY.findall(line) if at in self._names]
        return head + ", ".join(ways)

    def _line(self, line: str, number: int) -> str:
        """An instruction, an id as this item has it."""
        found = ID.search(line)
        if not found:
            return line
        value, axis = defined(line), int(found[2])
        if axis > 2:
            return f"  {value} = add i32 0, 0"
        own = f"%r{self._number}.{_AXES[axis]}"
        return f"  {value} = add i32 {own}, {'0' if found[1] == 'local' else f'%eddy.start.{_AXES[axis]}'}"

    def _step(self) -> Iterator[str]:
        """On to the lane's next item: along a line in the inner dimension, then to its next line."""
        of, r = self._of, f"r{self._number}"
        yield f"{r}.step:"
        yield f"  %{r}.row.on = getelementptr i8, ptr %{r}.row, i32 %eddy.stride"
        yield f"  store ptr %{r}.row.on, ptr %eddy.row, align 4"
        yield from self._advance(of.inner)
        yield f"  br i1 %{r}.more.{of.inner}, label %{r}.item, label %{r}.turn, !llvm.loop {_LOOP}"
        yield f"{r}.turn:"
        yield f"  %{r}.left = load i32, ptr %eddy.left, align 4"
        yield f"  %{r}.fewer = sub i32 %{r}.left, 1"
        yield f"  store i32 %{r}.fewer, ptr %eddy.left, align 4"
        yield f"  %{r}.any = icmp ne i32 %{r}.fewer, 0"
        yield f"  br i1 %{r}.any, label %{r}.next, label %{r}.done"
        yield f"{r}.next:"
        if of.inner == "y":
            yield from self._advance("x")
            # What follows from the id is computed again for each line: most groups have one, and registers are few.
            yield f"  %{r}.wrapped = select i1 %{r}.more.x, i32 %{r}.on.x, i32 %eddy.id.x"
            yield f'  %{r}.fresh = call i32 asm "", "=r,0"(i32 %{r}.wrapped) {_PURE}'
            yield f"  store i32 %{r}.fresh, ptr %eddy.x, align 4"
        if of._axes > 2:
            yield from self._advance("z")
            yield f"  %{r}.deeper = select i1 %{r}.more.x, i32 %{r}.at.z, i32 %{r}.on.z"
            yield f"  store i32 %{r}.deeper, ptr %eddy.z, align 4"
        yield f"  br label %{r}.line, !llvm.loop {_LOOP}"
        yield f"{r}.done:"

    def _advance(self, axis: str) -> Iterator[str]:
        r = f"r{self._number}"
        yield f"  %{r}.at.{axis} = load i32, ptr %eddy.{axis}, align 4"
        yield f"  %{r}.on.{axis} = add i32 %{r}.at.{axis}, %eddy.step.{axis}"
        yield f"  store i32 %{r}.on.{axis}, ptr %eddy.{axis}, align 4"
        yield f"  %{r}.more.{axis} = icmp ult i32 %{r}.on.{axis}, %eddy.size.{axis}"

    def _leave(self) -> Iterator[str]:
        """Where the group goes on: where its items came to."""
        r, last = f"r{self._number}", len(self._ends) - 1
        for k, end in enumerate(self._ends):
            if k < last:
                yield f"  %{r}.next{k} = load i32, ptr %eddy.next, align 4"
                yield f"  %{r}.is{k} = icmp eq i32 %{r}.next{k}, {k}"
                yield f"  br i1 %{r}.is{k}, label %{r}.to{k}, label %{r}.not{k}"
                yield f"{r}.to{k}:"
            yield from self._go(end, f".{r}.{k}")
            if k < last:
                yield f"{r}.not{k}:"

    def _go(self, end: str, label: str) -> Iterator[str]:
        if not end:
            yield "  ret void"
            return
        yield _BAR.format(n=label)
        yield f"  br label %r{self._of._starts.index(end)}.start"

    def _renamed(self, line: str) -> str:
        return self._of._renamed(line, f".r{self._number}")


def _inner(blocks: Mapping[str, object], start: str, without: str) -> set[str]:
    """Blocks of a region that can be come to without one of them."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        block = blocks.get(name)
        if name in found or name == without or block is None:
            continue
        found.add(name)
        if not block.waits:  # type: ignore[attr-defined]
            waiting += block.targets  # type: ignore[attr-defined]
    return found


def _align(kind: str) -> int:
    return {"i8": 1, "i16": 2}.get(kind, 4)


class _Live:
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
            whole = stored(line)[1] if stored(line)[1] in self._direct else ""
            if what == "start" or whole or (what == "end" and name in self._direct):
                over = name or whole
                needed.discard(over)
                gone.add(over)
            if not what:
                needed |= {token for token in TOKEN.findall(line) if token in self._variables and token != whole}
            elif what == "end" and name not in self._direct:
                needed.add(name)
        return needed, gone


class _Again:
    """Variables whose value follows from ids by few operations, which are repeated rather than kept.

    Attributes:
        lines: By variable, the instructions that give it its value, its store the last one.
    """

    def __init__(self, function: Function, uniform: Uniformity, module: Module) -> None:
        self._uniform, self._module = uniform, module
        self.lines: dict[str, list[str]] = {}
        first = function.blocks[function.entry].lines
        writes = [stored(line)[1] for block in function.blocks.values() for line in block.lines]
        self._made = {defined(line): line for line in first if defined(line)}
        self._fixed = {
            to
            for line in first
            if (to := stored(line)[1]) in uniform.direct and to not in uniform.variables and writes.count(to) == 1
        }
        self._own = {defined(line) for block in function.blocks.values() for line in block.lines} - {""}
        for line in first:
            value, to = stored(line)
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
                waiting += [at for line in self.lines[name] if (at := loaded(line)) in self.lines]
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
        if at := loaded(line):
            return at in self._fixed or at in self.lines
        if ID.search(line):
            return True
        if name := called(line):
            return self._module.same(name) and not name.startswith("llvm.")
        return bool(_CHEAP.search(line)) and not is_asm(line)
