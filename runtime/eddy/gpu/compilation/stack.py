# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How much stack a program's work-items need at most, from its machine code.

A core ends a kernel whose stack pointer leaves its stack, so the size has to be right. The bound is therefore computed
before anything runs, over the linked program: library functions, soft float, what the compiler spills and what assembly
does are all in it. Every way from a kernel's stub is followed with what is known of the registers; a way on which the
stack pointer cannot be told, a recursion or a jump to a computed address have no bound, and such a program is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eddy.core.errors import EddyError
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.rv32 import CALLEE_SAVED, END, GP, RA, SP, T6, TP, ZERO, Instruction, decode
from eddy.gpu.work_items.fibers import SWITCH

BEGIN = "eddy_begin"
"""What the runtime calls on a lane's stack, outside any kernel."""
NEXT_ITEM, FINISH = "eddy_next", "eddy_finish"
"""Where kernels go when they have done an item, and when they have done all; both set the stack pointer again."""
MAX_NESTING = 64
"""Functions between a kernel and the innermost one that is called."""
MAX_STEPS = 400_000
"""Instructions looked at in one program; a second or two."""
_WORD = 0xFFFF_FFFF
_INSTEAD = "use the atomic functions of OpenCL C, which are for words"


class StackUnbounded(EddyError):
    """No bound can be given; `details` has `function`, its address."""


class UnsupportedInstruction(StackUnbounded):
    """The cores do not have an instruction of the program."""


@dataclass(frozen=True, slots=True)
class Offset:
    """An address on the stack: bytes from where the stack pointer was on entry; a lower bound unless `exact`."""

    bytes: int
    exact: bool = True


Known = int | Offset
Registers = dict[int, Known]
"""What is known of registers: a constant, or an address on the stack; others may hold anything."""


class StackNeeds:
    """Computes bounds over one program.

    Args:
        image: The program from `REGION_BASE` on.
        symbols: Name to address of what it defines.
    """

    def __init__(self, image: bytes, symbols: Mapping[str, int]) -> None:
        self._image, self._symbols = image, symbols
        # A barrier keeps a work-item's registers elsewhere, and comes back with its stack pointer.
        self._ends = {symbols[NEXT_ITEM], symbols[FINISH], symbols.get(SWITCH)}
        self._needs: dict[int, int] = {}
        self._under_way: list[int] = []
        self._steps_left = MAX_STEPS

    def of_kernel(self, stub: int) -> int:
        """Bytes a lane needs to run a kernel's items, the runtime's own calls included.

        Raises:
            Unbounded: There is no bound; the message says why.
        """
        return max(self.of_function(stub), self.of_function(self._symbols[BEGIN]))

    def of_function(self, entry: int) -> int:
        """Bytes a function needs below the stack pointer it is called with.

        Raises:
            Unbounded: There is no bound; the message says why.
        """
        if entry in self._needs:
            return self._needs[entry]
        if entry in self._under_way:
            ring = [*self._under_way[self._under_way.index(entry) :], entry]
            names = " -> ".join(map(self.name, ring))
            raise StackUnbounded(f"is recursive ({names}), and a work-item's stack has a fixed size", function=entry)
        if len(self._under_way) == MAX_NESTING:
            raise StackUnbounded(f"is called through more than {MAX_NESTING} functions", function=entry)
        self._under_way.append(entry)
        self._needs[entry] = _Walk(self, entry).depth()
        self._under_way.pop()
        return self._needs[entry]

    def name(self, address: int) -> str:
        """The function an address is in, as the program names it."""
        below = [(at, name) for name, at in self._symbols.items() if at <= address and name[:1] not in ".$"]
        return max(below)[1] if below else f"0x{address:08x}"

    def at(self, pc: int) -> Instruction:
        """The instruction at an address; an "end" where another item goes on, or where there is no program."""
        at = pc - REGION_BASE
        self._steps_left -= 1
        if self._steps_left < 0:
            raise StackUnbounded("is part of a program too long to be checked", function=pc)
        if pc in self._ends or not 0 <= at <= len(self._image) - 4 or at % 4:
            return END
        return decode(int.from_bytes(self._image[at : at + 4], "little"), pc)


class _Walk:
    """Every way through one function, until nothing new is learned."""

    def __init__(self, program: StackNeeds, entry: int) -> None:
        self._program, self._entry, self._deepest = program, entry, 0
        self._seen: dict[int, Registers] = {}
        """What is known where ways meet: at targets of branches and jumps."""
        self._waiting: list[tuple[int, Registers]] = [(entry, {SP: Offset(0)})]

    def depth(self) -> int:
        """The deepest point of the stack, in bytes from the entry's stack pointer."""
        while self._waiting:
            target, arrived = self._waiting.pop()
            joined = self._joined(target, arrived)
            if joined is not None:
                self._seen[target] = joined
                self._follow(target, dict(joined))
        return self._deepest

    def _joined(self, pc: int, registers: Registers) -> Registers | None:
        """What is known on every way that comes here; None where this one adds nothing."""
        before = self._seen.get(pc)
        if before is None:
            return registers
        if before[SP] != registers[SP]:
            raise self._refused("moves its stack pointer in a loop, or differently on two ways that meet")
        kept = {name: value for name, value in before.items() if registers.get(name) == value}
        return kept if len(kept) < len(before) else None

    def _follow(self, pc: int, registers: Registers) -> None:
        """Go on from an address until a jump or an end; branches are left for later."""
        while True:
            found = self._program.at(pc)
            if found.kind == "end":
                return
            if found.kind in ("jump", "jump_register"):
                target = self._target(pc, found, registers)
                if target is None:
                    return
                if found.rd == ZERO:
                    self._waiting.append((target, registers))
                    return
                self._call(target, found.rd, registers)
            elif found.kind == "reserve":
                raise UnsupportedInstruction(
                    "uses lr and sc, which the cores do not have; " + _INSTEAD, function=self._entry
                )
            elif found.kind == "branch":
                self._waiting.append((pc + found.immediate, dict(registers)))
            else:
                self._write(found, registers)
            pc += 4

    def _target(self, pc: int, found: Instruction, registers: Registers) -> int | None:
        """Where a jump goes; None where the function returns."""
        if found.kind == "jump":
            return pc + found.immediate
        base = 0 if found.rs1 == ZERO else registers.get(found.rs1)
        if isinstance(base, int):
            return (base + found.immediate) & _WORD & ~1
        if found.rd != ZERO or found.rs1 != RA or found.immediate:
            raise self._refused("jumps to an address that is computed as it runs (a computed goto, or assembly)")
        if registers[SP] != Offset(0):
            raise self._refused("returns with another stack pointer than it was called with")
        return None

    def _call(self, target: int, link: int, registers: Registers) -> None:
        if link == SP:
            raise self._unknown()
        if self._program.at(target).kind != "end":
            self._deepest = max(self._deepest, _depth(registers) + self._program.of_function(target))
        for name in registers.keys() - CALLEE_SAVED - {SP}:
            del registers[name]

    def _write(self, found: Instruction, registers: Registers) -> None:
        """Learn from an instruction without flow of control."""
        base = registers.get(found.rs1)
        if found.kind == "store" and isinstance(base, Offset):
            self._deepest = max(self._deepest, -base.bytes - found.immediate)
        if found.rd == ZERO:
            return
        if found.rd in (GP, TP, T6):
            raise self._refused("writes gp, tp or t6, which hold the launch, the lane's context and the local id")
        value: Known | None = found.immediate if found.kind == "constant" else None
        value = _alu(found, registers) if found.kind == "alu" else value
        if found.rd == SP and not isinstance(value, Offset):
            raise self._unknown()
        if found.rd == SP and isinstance(value, Offset) and value.bytes > 0:
            raise self._refused("moves its stack pointer up, or by more than 2 GiB")
        if value is None:
            registers.pop(found.rd, None)
        else:
            registers[found.rd] = value
        if found.rd == SP:
            self._deepest = max(self._deepest, _depth(registers))

    def _unknown(self) -> StackUnbounded:
        return self._refused("moves its stack pointer by an amount only known as it runs (alloca, or assembly)")

    def _refused(self, why: str) -> StackUnbounded:
        return StackUnbounded(why, function=self._entry)


def _depth(registers: Registers) -> int:
    """How far the stack pointer is below the entry's, in bytes."""
    at = registers[SP]
    assert isinstance(at, Offset)
    return -at.bytes


def _alu(found: Instruction, registers: Registers) -> Known | None:
    """The result of an operation, as far as it is known."""
    first = 0 if found.rs1 == ZERO else registers.get(found.rs1)
    second = found.immediate if found.rs2 is None else 0 if found.rs2 == ZERO else registers.get(found.rs2)
    adds, subtracts = found.operation == (0, 0), found.operation == (0, 0x20) and found.rs2 is not None
    if isinstance(second, Offset) and isinstance(first, int) and adds:
        first, second = second, first
    if not isinstance(second, int):
        return None
    if isinstance(first, Offset):
        if adds or subtracts:
            return Offset(first.bytes + _as_signed(second if adds else -second), first.exact)
        aligns = found.operation == (7, 0) and _as_signed(second) < 0
        return Offset(first.bytes + _as_signed(second), False) if aligns else None
    return _constant(found, first, second) if isinstance(first, int) else None


def _constant(found: Instruction, first: int, second: int) -> int | None:
    """An operation on constants: those that build them."""
    if found.operation == (0, 0):
        return (first + second) & _WORD
    if found.operation == (0, 0x20) and found.rs2 is not None:
        return (first - second) & _WORD
    if found.operation == (1, 0):
        return first << (second & 31) & _WORD
    bitwise = {4: first ^ second, 6: first | second, 7: first & second}
    return bitwise[found.operation[0]] & _WORD if found.operation in ((4, 0), (6, 0), (7, 0)) else None


def _as_signed(value: int) -> int:
    value &= _WORD
    return value - (1 << 32) if value >> 31 else value
