# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Instruction words of RV32IMF, Zicsr and Vortex's thread control, for generated programs."""

from __future__ import annotations

from enum import IntEnum

NOP = 0x00000013


class Csr(IntEnum):
    """Numbers of control and status registers."""

    FFLAGS = 0x001
    FRM = 0x002
    FCSR = 0x003
    MTVEC = 0x305
    MSCRATCH = 0x340
    MEPC = 0x341
    MCAUSE = 0x342
    MTVAL = 0x343
    COUNTER_CLASS = 0x7C0
    MINSTRET = 0xB02
    THREAD = 0xCC0
    WARP = 0xCC1
    CORE = 0xCC2
    ACTIVE_WARPS = 0xCC3
    LANES = 0xCC4
    THREADS = 0xFC0
    WARPS = 0xFC1
    CORES = 0xFC2
    LOCAL_BASE = 0xFC3
    CLUSTER_CAP = 0xFD0
    MHARTID = 0xF14


def r_type(opcode: int, rd: int, funct3: int, rs1: int, rs2: int, funct7: int) -> int:
    """Three registers."""
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def i_type(opcode: int, rd: int, funct3: int, rs1: int, immediate: int) -> int:
    """A register and 12 bits."""
    return (immediate & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def s_type(opcode: int, funct3: int, rs1: int, rs2: int, immediate: int) -> int:
    """Stores."""
    high, low = immediate >> 5 & 0x7F, immediate & 0x1F
    return high << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | low << 7 | opcode


def branch(funct3: int, rs1: int, rs2: int, offset: int) -> int:
    """A branch to pc + offset."""
    o = offset
    return (
        (o >> 12 & 1) << 31
        | (o >> 5 & 0x3F) << 25
        | rs2 << 20
        | rs1 << 15
        | funct3 << 12
        | (o >> 1 & 0xF) << 8
        | (o >> 11 & 1) << 7
        | 0x63
    )


def jal(rd: int, offset: int) -> int:
    """A jump to pc + offset."""
    o = offset
    return (o >> 20 & 1) << 31 | (o >> 1 & 0x3FF) << 21 | (o >> 11 & 1) << 20 | (o >> 12 & 0xFF) << 12 | rd << 7 | 0x6F


def jalr(rd: int, rs1: int, immediate: int = 0) -> int:
    """A jump to rs1 + immediate."""
    return i_type(0x67, rd, 0, rs1, immediate)


def addi(rd: int, rs1: int, immediate: int) -> int:
    """rd = rs1 + immediate."""
    return i_type(0x13, rd, 0, rs1, immediate)


def add(rd: int, rs1: int, rs2: int) -> int:
    """rd = rs1 + rs2."""
    return r_type(0x33, rd, 0, rs1, rs2, 0)


def slli(rd: int, rs1: int, amount: int) -> int:
    """rd = rs1 << amount."""
    return i_type(0x13, rd, 1, rs1, amount)


def lui(rd: int, high: int) -> int:
    """rd = high << 12."""
    return (high & 0xFFFFF) << 12 | rd << 7 | 0x37


def auipc(rd: int, high: int) -> int:
    """rd = pc + (high << 12)."""
    return (high & 0xFFFFF) << 12 | rd << 7 | 0x17


def li(rd: int, value: int) -> list[int]:
    """rd = value, in two instructions."""
    low = (value & 0xFFF) - (0x1000 if value & 0x800 else 0)
    return [lui(rd, (value - low) >> 12), addi(rd, rd, low)]


def csr(op: int, rd: int, number: int, source: int) -> int:
    """A CSR instruction; `op` is funct3, `source` a register or five bits."""
    return i_type(0x73, rd, op, source, number)


def csrr(rd: int, number: int) -> int:
    """rd = CSR."""
    return csr(2, rd, number, 0)


def csrw(number: int, rs1: int) -> int:
    """CSR = rs1."""
    return csr(1, 0, number, rs1)


def amo(operation: int, rd: int, rs1: int, rs2: int, *, acquire: bool = False, release: bool = False) -> int:
    """rd = the word at rs1, which becomes what `operation` (funct5) makes of it and rs2; amocas compares with rd."""
    return r_type(0x2F, rd, 2, rs1, rs2, operation << 2 | acquire << 1 | release)


ECALL, EBREAK, MRET, WFI, FENCE, FENCE_I = 0x73, 0x100073, 0x30200073, 0x10500073, 0x0FF0000F, 0x100F


def _thread(funct3: int, rd: int = 0, rs1: int = 0, rs2: int = 0) -> int:
    return r_type(0x0B, rd, funct3, rs1, rs2, 0)


def tmc(rs1: int) -> int:
    """The lanes in rs1 go on."""
    return _thread(0, rs1=rs1)


def wspawn(rs1: int, rs2: int) -> int:
    """Warps below rs1 start at rs2."""
    return _thread(1, rs1=rs1, rs2=rs2)


def split(rd: int, rs1: int, negate: bool = False) -> int:
    """Opens a divergent region; rd is its token."""
    return _thread(2, rd=rd, rs1=rs1, rs2=int(negate))


def join(rs1: int) -> int:
    """Closes the region of token rs1."""
    return _thread(3, rs1=rs1)


def bar(rs1: int, rs2: int) -> int:
    """Barrier rs1 for rs2 warps."""
    return _thread(4, rs1=rs1, rs2=rs2)


def pred(rs1: int, rs2: int, negate: bool = False) -> int:
    """Lanes with rs1 go on; rs2 if there is none."""
    return _thread(5, rd=int(negate), rs1=rs1, rs2=rs2)


def vote(kind: int, rd: int, rs1: int) -> int:
    """All, any, uniform, ballot: kinds 0 to 3."""
    return r_type(0x0B, rd, kind, rs1, 0, 1)


def shuffle(kind: int, rd: int, rs1: int, rs2: int) -> int:
    """Up, down, butterfly, index: kinds 0 to 3."""
    return r_type(0x0B, rd, 4 + kind, rs1, rs2, 1)
