"""A kernel's function with loops over a lane's work-items between its barriers.

A region is what items do from one barrier to the next. All items come to the same barrier or end
(`Uniformity.regular`), so the last item's way says where the group goes on. Uniform variables begin each
item as they were before the region; what an item has of its own lies in its row while others run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eddy.gpu.ir_function import TOKEN, Irregular, defined, lifetime, parse, reached, stored
from eddy.gpu.ir_pieces import BAR, ITEMS, LOOP, PURE, TAG, bases, called_as, lane_word, word
from eddy.gpu.ir_types import bytes_of
from eddy.gpu.kept_variables import Again, LiveVariables
from eddy.gpu.layout import LOCAL_BITS, ROW_BYTES
from eddy.gpu.local_places import Placed
from eddy.gpu.uniform import ID, IrModule, Uniformity, called, is_asm

MAX_BLOCKS, MAX_COPIES = 400, 1000
"""Blocks of a kernel, and of all its regions, at most."""
MAX_PRIVATE_BYTES = 64
"""Private arrays and structures that are kept over a barrier, at most; with more of them items are fibers."""
_PHI_WAY = re.compile(r"(?:, )?\[ ([^\[\]]*), (%[\w.$-]+) \]")
_WHOLE = re.compile(r"float|ptr|i8|i16|i32")
_DIGITS = re.compile(r"%\d+\Z")
_AXES = "xyz"


class LoopedKernel:
    """A kernel with loops over items between its barriers."""

    def __init__(self, kernel: str, own: Placed, module: IrModule, named: Mapping[str, str]) -> None:
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
        if sum(map(len, self._regions.values())) > MAX_COPIES:
            raise Irregular("too long, with what is behind each barrier")
        self._again = Again(self._function, self._uniform, module)
        self._live = LiveVariables(self._function, self._uniform.direct)
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
        head = called_as(self._function.head, self._kernel, ITEMS)
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
            size = bytes_of(kind, named)
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
        yield f'  %eddy.id = call i32 asm "mv $0, t6", "=r"() {PURE}'
        yield f"  %eddy.step = {word('local_step')}"
        mask = (1 << LOCAL_BITS) - 1
        for what in ("id", "step"):
            for k, axis in enumerate(_AXES):
                yield f"  %eddy.{what}.s{axis} = lshr i32 %eddy.{what}, {LOCAL_BITS * k}"
                yield f"  %eddy.{what}.{axis} = and i32 %eddy.{what}.s{axis}, {mask}"
        for k, axis in enumerate(_AXES):
            yield f"  %eddy.size.{axis} = {word(f'local_size_{k}')}"
            yield f"  %eddy.start.{axis} = {lane_word(f'start_{k}')}"
        yield f"  %eddy.first.word = {lane_word('first')}"
        yield "  %eddy.first.row = inttoptr i32 %eddy.first.word to ptr"
        yield f"  %eddy.lines = {lane_word('lines' if self.inner == 'y' else 'columns')}"
        yield f"  %eddy.stride = {word('fiber_stride')}"
        yield from bases(self._own)
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

    def __init__(self, of: LoopedKernel, number: int) -> None:
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
        return other not in reached(self._blocks, [self._start], over=(one,), waits=False)

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
        for k in range(words):
            value, here, there = (f"%{label}.{at + k}.{what}" for what in ("value", "here", "there"))
            row = f"%r{self._number}.row"
            yield f"  {there} = getelementptr i8, ptr {row}, i32 {ROW_BYTES * (at + k)}"
            yield f"  {here} = getelementptr i8, ptr {name}, i32 {4 * k}"
            moved = kind if whole else "i32"
            align = _align(moved)
            own, row_at = f"ptr {here}, align {align}", f"ptr {there}, align {align}, !tbaa {TAG}"
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
        yield f"  br i1 %{r}.more.{of.inner}, label %{r}.item, label %{r}.turn, !llvm.loop {LOOP}"
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
            yield f'  %{r}.fresh = call i32 asm "", "=r,0"(i32 %{r}.wrapped) {PURE}'
            yield f"  store i32 %{r}.fresh, ptr %eddy.x, align 4"
        if of._axes > 2:
            yield from self._advance("z")
            yield f"  %{r}.deeper = select i1 %{r}.more.x, i32 %{r}.at.z, i32 %{r}.on.z"
            yield f"  store i32 %{r}.deeper, ptr %eddy.z, align 4"
        yield f"  br label %{r}.line, !llvm.loop {LOOP}"
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
        yield BAR.format(n=label)
        yield f"  br label %r{self._of._starts.index(end)}.start"

    def _renamed(self, line: str) -> str:
        return self._of._renamed(line, f".r{self._number}")


def _align(kind: str) -> int:
    return {"i8": 1, "i16": 2}.get(kind, 4)
