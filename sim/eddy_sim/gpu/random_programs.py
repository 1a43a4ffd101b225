# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Random programs for comparing the RTL with the model of the instruction set, lane by lane.

Every program starts all warps with all lanes, gives each lane memory of its own (a stretch of lines, words of lines it
shares with the other lanes of its warp, and local memory), and ends by itself: loops count down, jumps go forward,
traps return behind the instruction. So the trace of a warp depends on nothing but the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from eddy_sim.gpu import encode as e
from eddy_sim.gpu.elf import ElfProgram, Segment

CODE, DATA, SHARED = 0x80000000, 0x81000000, 0x82000000
LANE_BYTES = 256
COUNT, LOCAL, OWN, COMMON, HANDLER, HANDLER2 = 26, 27, 28, 29, 30, 31
"""Registers that random instructions do not write."""
FREE = 26

SPECIAL_FLOATS = (
    *(0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345),
    *(0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0x4F800000),
)
SPECIAL_INTS = (0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFF8000, 31, 32)


@dataclass
class Options:
    """What a random program may hold.

    Attributes:
        threads: Lanes of a warp.
        warps: Warps a core.
        fpu: Floating-point instructions.
        traps: Instructions that trap.
        groups: Instructions that show which lanes execute together, or what they share.
        length: Instructions, about.
    """

    threads: int = 4
    warps: int = 4
    fpu: bool = True
    traps: bool = True
    groups: bool = True
    length: int = 400


@dataclass
class Generator:
    """Writes one program."""

    options: Options
    rng: random.Random
    words: list[int] = field(default_factory=list)
    nesting: int = 0

    def register(self) -> int:
        """One to read."""
        return self.rng.randrange(32)

    def target(self) -> int:
        """One to write."""
        return self.rng.randrange(FREE)

    def float_register(self) -> int:
        """Any floating-point register."""
        return self.rng.randrange(32)

    def immediate(self) -> int:
        """Twelve bits, often small."""
        return self.rng.choice((self.rng.randrange(-2048, 2048), self.rng.randrange(-4, 5)))

    # ---- Single instructions

    def arithmetic(self) -> list[int]:
        """OP."""
        funct3 = self.rng.randrange(8)
        funct7 = self.rng.choice((0, 0, 32)) if funct3 in (0, 5) else 0
        return [e.r_type(0x33, self.target(), funct3, self.register(), self.register(), funct7)]

    def immediates(self) -> list[int]:
        """OP-IMM."""
        funct3 = self.rng.randrange(8)
        value = self.immediate()
        if funct3 in (1, 5):
            value = self.rng.randrange(32) | (self.rng.choice((0, 0x400)) if funct3 == 5 else 0)
        return [e.i_type(0x13, self.target(), funct3, self.register(), value)]

    def upper(self) -> list[int]:
        """lui, auipc."""
        return [self.rng.choice((e.lui, e.auipc))(self.target(), self.rng.randrange(1 << 20))]

    def multiply(self) -> list[int]:
        """M."""
        return [e.r_type(0x33, self.target(), self.rng.randrange(8), self.register(), self.register(), 1)]

    def address(self, size: int) -> tuple[int, int]:
        """A base register and an offset within memory the lane owns."""
        align = -(1 << size)
        if self.options.traps and self.rng.random() < 0.04:
            align = -1
        kind = self.rng.random()
        if kind < 0.4:
            return OWN, self.rng.randrange(LANE_BYTES - 4) & align
        line = 64 * self.rng.randrange(4)
        return (COMMON if kind < 0.8 else LOCAL), line + (self.rng.randrange(4) & align)

    def load(self) -> list[int]:
        """Integer loads."""
        funct3 = self.rng.choice((0, 1, 2, 2, 4, 5))
        base, offset = self.address(funct3 & 3)
        return [e.i_type(0x03, self.target(), funct3, base, offset)]

    def store(self) -> list[int]:
        """Integer stores."""
        funct3 = self.rng.choice((0, 1, 2, 2))
        base, offset = self.address(funct3)
        return [e.s_type(0x23, funct3, base, self.register(), offset)]

    def atomic(self) -> list[int]:
        """Atomic operations: lanes on words of their own, and on a word that the lanes of a warp share."""
        base, offset = self.address(2)
        at = self.rng.randrange(1, FREE)
        words = [e.addi(at, base, offset)]
        if base != OWN and self.options.groups and self.rng.random() < 0.5:
            words += [
                e.csrr(HANDLER, e.Csr.THREAD),
                e.slli(HANDLER, HANDLER, 2),
                e.r_type(0x33, at, 0, at, HANDLER, 32),
            ]
        operation = self.rng.choice((0, 0, 1, 4, 5, 5, 8, 12, 16, 20, 24, 28))
        acquire, release = self.rng.random() < 0.2, self.rng.random() < 0.2
        word = e.amo(operation, self.target(), at, self.register(), acquire=acquire, release=release)
        if self.options.traps and self.rng.random() < 0.05:
            word = self.rng.choice((word ^ 1 << 12, word & ~(31 << 27) | self.rng.choice((2, 3, 6, 7, 9, 31)) << 27))
        return [*words, word]

    def float_memory(self) -> list[int]:
        """flw, fsw."""
        base, offset = self.address(2)
        if self.rng.random() < 0.5:
            return [e.i_type(0x07, self.float_register(), 2, base, offset)]
        return [e.s_type(0x27, 2, base, self.float_register(), offset)]

    def floating(self) -> list[int]:
        """F."""
        rng = self.rng
        rm = rng.choice((0, 1, 2, 3, 4, 7, 7))
        if self.options.traps and rng.random() < 0.02:
            rm = rng.choice((5, 6))
        a, b, c, d = (self.float_register() for _ in range(4))
        kind = rng.randrange(10)
        if kind < 3:
            return [e.r_type(rng.choice((0x43, 0x47, 0x4B, 0x4F)), d, rm, a, b, c << 2)]
        if kind < 6:
            return [e.r_type(0x53, d, rm, a, b, rng.choice((0x00, 0x04, 0x08, 0x00, 0x04, 0x08, 0x0C)))]
        if kind == 6:
            return [rng.choice((e.r_type(0x53, d, rm, a, 0, 0x2C), e.r_type(0x53, d, rng.randrange(3), a, b, 0x10)))]
        if kind == 7:
            to_float = e.r_type(0x53, d, rm, self.register(), rng.randrange(2), 0x68)
            return [rng.choice((to_float, e.r_type(0x53, self.target(), rm, a, rng.randrange(2), 0x60)))]
        if kind == 8:
            compare = e.r_type(0x53, self.target(), rng.randrange(3), a, b, 0x50)
            return [rng.choice((compare, e.r_type(0x53, d, rng.randrange(2), a, b, 0x14)))]
        move = e.r_type(0x53, d, 0, self.register(), 0, 0x78)
        return [rng.choice((move, e.r_type(0x53, self.target(), rng.randrange(2), a, 0, 0x70)))]

    def csr(self) -> list[int]:
        """CSRs whose value depends on the lane and the program alone."""
        rng = self.rng
        known = [e.Csr.THREAD, e.Csr.WARP, e.Csr.CORE, e.Csr.LANES, e.Csr.THREADS, e.Csr.WARPS, e.Csr.CORES]
        known += [e.Csr.LOCAL_BASE, e.Csr.MHARTID, e.Csr.MSCRATCH, e.Csr.MEPC, e.Csr.MCAUSE, e.Csr.MTVAL]
        if self.options.fpu:
            known += [e.Csr.FFLAGS, e.Csr.FRM, e.Csr.FCSR] * 2
        number = int(rng.choice(known))
        if number >> 10 == 3:
            return [e.csrr(self.target(), number)]
        if number == e.Csr.FRM:
            return [e.csr(5, self.target(), number, rng.randrange(5))]
        if number == e.Csr.FCSR:
            return [e.csr(2, self.target(), number, 0)]
        return [e.csr(rng.choice((1, 2, 3, 5, 6, 7)), self.target(), number, self.register())]

    def lanes(self) -> list[int]:
        """Votes and shuffles."""
        if self.rng.random() < 0.5:
            return [e.vote(self.rng.randrange(4), self.target(), self.register())]
        spec = self.target()
        value = self.rng.choice((self.rng.randrange(1 << 18), 0x1F << 6 | self.rng.randrange(self.options.threads)))
        words = e.li(spec, value) if spec else []
        return [*words, e.shuffle(self.rng.randrange(4), self.target(), self.register(), spec)]

    def trap(self) -> list[int]:
        """ecall, ebreak, illegal words, unknown CSRs, writes to constants, jumps to odd halves."""
        rng = self.rng
        choices = [e.ECALL, e.EBREAK, 0, 0xFFFFFFFF, e.csrr(self.target(), 0x123), e.csrw(e.Csr.THREAD, 1)]
        choices += [e.r_type(0x33, 1, 0, 2, 3, 0x15), e.branch(rng.choice((0, 1, 4, 5)), self.register(), 0, 6)]
        choices += [e.jal(self.target(), 6), e.i_type(0x03, 1, 3, OWN, 0), e.r_type(0x0B, 0, 7, 0, 0, 0)]
        return [rng.choice(choices)]

    def misaligned_jump(self) -> list[int]:
        """A jump through a register, misaligned in lanes with an odd number."""
        at = self.rng.randrange(1, FREE)
        odd = [e.csrr(HANDLER, e.Csr.THREAD), e.i_type(0x13, HANDLER, 7, HANDLER, 1), e.slli(HANDLER, HANDLER, 1)]
        return [e.auipc(at, 0), *odd, e.add(at, at, HANDLER), e.jalr(self.target(), at, 24)]

    # ---- Control

    def simple(self) -> list[int]:
        """One instruction that goes on to the next."""
        kinds: list[Callable[[], list[int]]] = [self.arithmetic, self.immediates, self.upper, self.multiply]
        weights = [8.0, 8, 1, 3]
        kinds += [self.load, self.store, self.atomic]
        weights += [5, 5, 2]
        if self.options.groups:
            kinds += [self.csr, self.lanes]
            weights += [1, 2]
        if self.options.fpu:
            kinds += [self.floating, self.float_memory]
            weights += [14, 3]
        if self.options.traps:
            kinds += [self.trap, self.misaligned_jump]
            weights += [0.6, 0.2]
        return self.rng.choices(kinds, weights)[0]()

    def block(self, length: int) -> list[int]:
        """Straight code, branches and loops, about `length` instructions."""
        words: list[int] = []
        while len(words) < length:
            kind = self.rng.random()
            if kind < 0.12 and length - len(words) > 6:
                words += self.skip(self.rng.randrange(1, min(12, length - len(words))))
            elif kind < 0.15 and self.nesting == 0 and length - len(words) > 8:
                words += self.loop(self.rng.randrange(3, 12))
            elif kind < 0.18:
                words += self.call()
            else:
                words += self.simple()
        return words

    def skip(self, length: int) -> list[int]:
        """A branch over a block; sometimes an else."""
        then = self.block(length)
        condition = (self.rng.choice((0, 1, 4, 5, 6, 7)), self.register(), self.register())
        if self.rng.random() < 0.5:
            return [e.branch(*condition, 4 * (len(then) + 1)), *then]
        other = self.block(length)
        return [e.branch(*condition, 4 * (len(then) + 2)), *then, e.jal(0, 4 * (len(other) + 1)), *other]

    def loop(self, length: int) -> list[int]:
        """A loop with another trip count in every lane."""
        self.nesting += 1
        body = self.block(length)
        self.nesting -= 1
        begin = [e.i_type(0x13, COUNT, 7, self.register(), 7), e.addi(COUNT, COUNT, 1)]
        return [*begin, *body, e.addi(COUNT, COUNT, -1), e.branch(1, COUNT, 0, -4 * (len(body) + 1))]

    def call(self) -> list[int]:
        """A call and a return, by one of the link registers."""
        link = self.rng.choice((1, 5))
        body = [word for word in (self.immediates()[0], self.arithmetic()[0]) if word >> 7 & 31 != link]
        return [e.jal(link, 8), e.jal(0, 4 * (len(body) + 2)), *body, e.jalr(0, link, 0)]

    # ---- The whole

    def program(self) -> ElfProgram:
        """The program, with its data."""
        rng = self.rng
        handler = [
            *(e.csrr(HANDLER, e.Csr.MEPC), e.addi(HANDLER, HANDLER, 4), e.csrw(e.Csr.MEPC, HANDLER)),
            *(e.csrr(HANDLER, e.Csr.MCAUSE), e.csrr(HANDLER2, e.Csr.MTVAL), e.MRET),
        ]
        start = self.prologue()
        body = self.block(self.options.length)
        words = [e.jal(0, 4 * (len(handler) + 1)), *handler, *start, *body, e.tmc(0)]
        code = b"".join(word.to_bytes(4, "little") for word in words)
        data = bytearray()
        for _ in range(16 * 16 * 2 * LANE_BYTES // 4):
            value = rng.choice((rng.getrandbits(32), rng.choice(SPECIAL_FLOATS), rng.choice(SPECIAL_INTS)))
            data += value.to_bytes(4, "little")
        return ElfProgram(CODE, (Segment(CODE, code, len(code)), Segment(DATA, bytes(data), len(data))))

    def prologue(self) -> list[int]:
        """All warps, all lanes, the handler, each lane's memory, values in the registers."""
        words = [*e.li(1, CODE + 4), e.csrw(e.Csr.MTVEC, 1)]
        words += [*e.li(1, self.options.warps), e.auipc(2, 0), e.addi(2, 2, 12), e.wspawn(1, 2)]
        words += [*e.li(1, (1 << self.options.threads) - 1), e.tmc(1)]
        words += [e.csrr(3, e.Csr.MHARTID), e.slli(4, 3, 8), *e.li(OWN, DATA), e.add(OWN, OWN, 4)]
        words += [e.csrr(5, e.Csr.THREAD), e.slli(5, 5, 2), e.csrr(6, e.Csr.WARP), e.slli(7, 6, 10)]
        words += [e.csrr(8, e.Csr.CORE), e.slli(9, 8, 16), *e.li(COMMON, SHARED), e.add(COMMON, COMMON, 5)]
        words += [e.add(COMMON, COMMON, 7), e.add(COMMON, COMMON, 9), *e.li(LOCAL, 0xFFFF0000), e.add(LOCAL, LOCAL, 5)]
        words += [e.add(LOCAL, LOCAL, 7), e.csrw(e.Csr.MTVEC, 0) if not self.options.traps else e.NOP]
        words += [e.i_type(0x03, x, 2, OWN, 4 * x) for x in range(1, FREE)]
        if self.options.fpu:
            words += [e.i_type(0x07, f, 2, OWN, 128 + 4 * f) for f in range(31)]
        return words


def random_program(seed: int, options: Options) -> ElfProgram:
    """The program of a seed."""
    return Generator(options, random.Random(seed)).program()
