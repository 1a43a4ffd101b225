# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""RV32 machine code, as far as the flow of control and the stack pointer go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ZERO, RA, SP, GP, TP = range(5)
T6 = 31
CALLEE_SAVED = frozenset({8, 9, *range(18, 28)})
"""s0 to s11: what a function finds in them it leaves in them."""

Kind = Literal["alu", "constant", "jump", "jump_register", "branch", "store", "other", "reserve", "end"]

_OP_IMM, _OP, _LUI, _AUIPC, _JAL, _JALR, _BRANCH = 0x13, 0x33, 0x37, 0x17, 0x6F, 0x67, 0x63
_LOAD, _STORE, _FENCE, _SYSTEM, _AMO, _VORTEX = 0x03, 0x23, 0x0F, 0x73, 0x2F, 0x0B
_FLOAT_LOAD, _FLOAT_STORE, _FLOAT = 0x07, 0x27, 0x53
_RESERVATIONS = (2, 3)
"""funct5 of lr and sc."""
_UNIMPLEMENTED = 0xC0001073
"""`unimp`, as the compiler writes a trap: a write to a constant CSR."""
_FUSED = frozenset({0x43, 0x47, 0x4B, 0x4F})
_FLOAT_TO_INTEGER = frozenset({0x50, 0x60, 0x70})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        kind: What it does to flow and registers; "end" where a core stops at it; "reserve" for lr and sc.
        rd: Integer register it writes; 0 for none.
        rs1: First source register.
        rs2: Second one, None where there is an immediate operand.
        immediate: Operand, distance of a branch or jump, or the constant itself.
        operation: funct3 and funct7 of "alu".
    """

    kind: Kind
    rd: int = ZERO
    rs1: int = ZERO
    rs2: int | None = None
    immediate: int = 0
    operation: tuple[int, int] = (0, 0)


END = Instruction("end")


def decode(word: int, pc: int) -> Instruction:
    """The instruction at an address; encodings the cores do not have are an "end", since they trap."""
    code, rd, rs1, rs2 = word & 0x7F, word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    funct3, funct7 = word >> 12 & 7, word >> 25
    if code == _OP_IMM:
        shift = funct3 in (1, 5)
        immediate = rs2 if shift else _signed(word >> 20, 12)
        return Instruction("alu", rd, rs1, None, immediate, (funct3, funct7 if shift else 0))
    if code == _OP:
        return Instruction("alu", rd, rs1, rs2, 0, (funct3, funct7))
    if code in (_LUI, _AUIPC):
        upper = word & 0xFFFFF000
        return Instruction("constant", rd, immediate=(upper + (pc if code == _AUIPC else 0)) & 0xFFFFFFFF)
    if code == _JAL:
        raw = (word >> 31 << 20) | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        return Instruction("jump", rd, immediate=_signed(raw, 21))
    if code == _JALR:
        return Instruction("jump_register", rd, rs1, None, _signed(word >> 20, 12))
    if code == _BRANCH:
        raw = (word >> 31 << 12) | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
        return Instruction("branch", ZERO, rs1, rs2, _signed(raw, 13))
    return _without_flow(code, rd, funct3, funct7, word)


def _without_flow(code: int, rd: int, funct3: int, funct7: int, word: int) -> Instruction:
    if code in (_STORE, _FLOAT_STORE):
        return Instruction("store", ZERO, word >> 15 & 31, None, _signed(funct7 << 5 | rd, 12))
    if code in (_FENCE, _FLOAT_LOAD) or code in _FUSED:
        return Instruction("other")
    if code == _SYSTEM:
        return Instruction("other", rd) if funct3 and word != _UNIMPLEMENTED else END
    if code == _AMO and funct7 >> 2 in _RESERVATIONS:
        return Instruction("reserve", rd)
    if code in (_LOAD, _AMO, _VORTEX):
        # `tmc x0` ends the lane.
        return END if code == _VORTEX and word == _VORTEX else Instruction("other", rd)
    if code == _FLOAT:
        return Instruction("other", rd if funct7 & 0x7C in _FLOAT_TO_INTEGER else ZERO)
    return END


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
