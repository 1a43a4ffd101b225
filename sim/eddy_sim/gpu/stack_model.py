# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Vortex's semantics of divergence, with one program counter and a stack for a warp; and programs to compare with.

A warp has one program counter, a mask of active lanes and a stack. `split` pushes the mask and the lanes of the other
side; `join` makes the other side run, or restores the mask; `pred` and `tmc` set the mask. So does Vortex's own
hardware, and so its compiler's programs are meant. Our cores keep a program counter a lane and know no stack; random
structured programs must give the same in both.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from eddy_sim.gpu import encode as e
from eddy_sim.gpu.elf import ElfProgram, Segment

CODE, RESULT = 0x80000000, 0x81000000
MASK = 0xFFFFFFFF
HASH, OUT, SCRATCH, FULL = 10, 11, 12, 13
VALUES = range(14, 20)
"""Registers with what lanes compute; tokens and masks of open regions are in registers from 20 on."""
REGION = 20
MAX_NESTING = 5


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


@dataclass
class StackWarp:
    """One warp after Vortex's semantics; just the instructions that the programs below use."""

    threads: int
    words: list[int]
    pc: int = CODE
    mask: int = 1
    stack: list[tuple[int, int]] = field(default_factory=list)
    x: list[list[int]] = field(default_factory=list)
    stored: dict[int, int] = field(default_factory=dict)

    def run(self, limit: int = 200_000) -> dict[int, int]:
        """Run to the end; what was stored, by address."""
        self.x = [[0] * 32 for _ in range(self.threads)]
        for _ in range(limit):
            if not self.mask:
                return self.stored
            self.step(self.words[(self.pc - CODE) // 4])
        raise AssertionError("the program does not end")

    def active(self) -> list[int]:
        """Lanes of the mask."""
        return [t for t in range(self.threads) if self.mask >> t & 1]

    def scalar(self, register: int) -> int:
        """The operand of the highest active lane."""
        return self.x[self.active()[-1]][register]

    def set(self, rd: int, values: dict[int, int]) -> None:
        """Write a register of some lanes."""
        if rd:
            for t, value in values.items():
                self.x[t][rd] = value & MASK

    def step(self, word: int) -> None:
        """One instruction."""
        rd, funct3, rs1, rs2 = word >> 7 & 31, word >> 12 & 7, word >> 15 & 31, word >> 20 & 31
        following = self.pc + 4
        lanes = self.active()
        opcode = word & 0x7F
        if opcode == 0x13:
            value = _signed(word >> 20, 12)
            self.set(rd, {t: self._immediate(funct3, self.x[t][rs1], value) for t in lanes})
        elif opcode == 0x33:
            funct7 = word >> 25
            self.set(rd, {t: self._binary(funct3, funct7, self.x[t][rs1], self.x[t][rs2]) for t in lanes})
        elif opcode == 0x37:
            self.set(rd, dict.fromkeys(lanes, word & 0xFFFFF000))
        elif opcode == 0x73:
            known = {e.Csr.THREAD: {t: t for t in lanes}, e.Csr.LANES: dict.fromkeys(lanes, self.mask)}
            self.set(rd, known[e.Csr(word >> 20)])
        elif opcode == 0x23:
            offset = _signed(word >> 25 << 5 | word >> 7 & 31, 12)
            for t in lanes:
                self.stored[self.x[t][rs1] + offset] = self.x[t][rs2]
        elif opcode == 0x63:
            following = self._branch(word, funct3, rs1, rs2)
        elif opcode == 0x6F:
            following = self.pc + _signed((word >> 21 & 0x3FF) << 1 | (word >> 20 & 1) << 11 | word >> 31 << 20, 21)
        else:
            following = self._thread(word >> 25, funct3, rd, rs1, rs2)
        self.pc = following

    def _immediate(self, funct3: int, a: int, value: int) -> int:
        return {0: a + value, 1: a << (value & 31), 4: a ^ value, 5: a >> (value & 31), 7: a & value}[funct3]

    def _binary(self, funct3: int, funct7: int, a: int, b: int) -> int:
        return a * b if funct7 == 1 else {0: a + b, 3: int(a < b), 4: a ^ b}[funct3]

    def _branch(self, word: int, funct3: int, rs1: int, rs2: int) -> int:
        taken = {(self.x[t][rs1] == self.x[t][rs2]) != bool(funct3) for t in self.active()}
        assert len(taken) == 1, "a branch that divides the lanes needs split"
        offset = (word >> 8 & 0xF) << 1 | (word >> 25 & 0x3F) << 5 | (word >> 7 & 1) << 11 | word >> 31 << 12
        return self.pc + (_signed(offset, 13) if taken.pop() else 4)

    def _thread(self, funct7: int, funct3: int, rd: int, rs1: int, rs2: int) -> int:
        lanes, following = self.active(), self.pc + 4
        if funct7 == 1:
            yes = sum(1 << t for t in lanes if self.x[t][rs1] & 1)
            self.set(rd, dict.fromkeys(lanes, {0: int(yes == self.mask), 1: int(yes != 0), 3: yes}[funct3]))
        elif funct3 == 0:
            self.mask = self.scalar(rs1) & (1 << self.threads) - 1
        elif funct3 == 2:
            yes = sum(1 << t for t in lanes if (self.x[t][rs1] ^ rs2) & 1)
            self.set(rd, dict.fromkeys(lanes, len(self.stack)))
            if yes and yes != self.mask:
                self.stack += [(self.mask, 0), (self.mask & ~yes, following)]
                self.mask = yes
        elif funct3 == 3:
            if self.scalar(rs1) != len(self.stack):
                self.mask, other = self.stack.pop()
                following = other or following
        elif funct3 == 5:
            yes = sum(1 << t for t in lanes if (self.x[t][rs1] ^ rd) & 1)
            self.mask = yes or self.scalar(rs2) & (1 << self.threads) - 1
        return following


@dataclass
class StructuredGenerator:
    """Random programs of nested ifs (split, join), loops (pred) and masked stretches (tmc)."""

    threads: int
    rng: random.Random

    def note(self) -> list[int]:
        """Mix the mask of active lanes, and a number of the place, into the lanes' hash."""
        mix = [e.slli(SCRATCH, HASH, 5), e.add(HASH, HASH, SCRATCH), e.csrr(SCRATCH, e.Csr.LANES)]
        return [*mix, e.add(HASH, HASH, SCRATCH), e.addi(HASH, HASH, self.rng.randrange(2048))]

    def compute(self) -> list[int]:
        """Something on the lanes' values."""
        a, b, c = (self.rng.choice(VALUES) for _ in range(3))
        kind = self.rng.randrange(5)
        if kind == 0:
            return [e.r_type(0x33, a, 0, b, c, 1)]
        if kind == 1:
            return [e.addi(a, b, self.rng.randrange(-2048, 2048))]
        if kind == 2:
            return [e.i_type(0x13, a, 5, b, self.rng.randrange(1, 9)), e.r_type(0x33, a, 4, a, c, 0)]
        if kind == 3:
            return [e.vote(self.rng.choice((0, 1, 3)), SCRATCH, b), e.r_type(0x33, HASH, 4, HASH, SCRATCH, 0)]
        return [e.r_type(0x33, a, 4, b, HASH, 0)]

    def block(self, length: int, nesting: int) -> list[int]:
        """Statements."""
        words = self.note()
        for _ in range(length):
            kind = self.rng.random()
            if nesting < MAX_NESTING and kind < 0.3:
                words += self.conditional(nesting)
            elif nesting < MAX_NESTING and kind < 0.42:
                words += self.loop(nesting)
            elif nesting < MAX_NESTING and kind < 0.5:
                words += self.masked(nesting)
            else:
                words += self.compute()
        return [*words, *self.note()]

    def conditional(self, nesting: int) -> list[int]:
        """An if, with or without an else."""
        condition, token = self.rng.choice(VALUES), REGION + 2 * nesting
        negate = self.rng.random() < 0.3
        then, other = (self.block(self.rng.randrange(3), nesting + 1) for _ in range(2))
        if self.rng.random() < 0.3:
            other = []
        skip = e.branch(0 if not negate else 1, SCRATCH, 0, 4 * (len(then) + 2))
        begin = [e.i_type(0x13, SCRATCH, 7, condition, 1), e.split(token, SCRATCH, negate), skip]
        return [*begin, *then, e.jal(0, 4 * (len(other) + 1)), *other, e.join(token), *self.note()]

    def loop(self, nesting: int) -> list[int]:
        """A loop with another trip count in every lane."""
        count, mask = REGION + 2 * nesting, REGION + 2 * nesting + 1
        body = self.block(self.rng.randrange(3), nesting + 1)
        begin = [e.csrr(mask, e.Csr.LANES), e.i_type(0x13, count, 7, self.rng.choice(VALUES), 3)]
        again = [e.addi(count, count, -1), e.r_type(0x33, SCRATCH, 3, 0, count, 0)]
        # count - 1 > 0, with zero and below as the end: a count of 0 becomes a large number, so it begins at 1.
        body = [*body, *again, e.pred(SCRATCH, mask)]
        return [*begin, e.addi(count, count, 1), *body, e.branch(1, SCRATCH, 0, -4 * len(body)), *self.note()]

    def masked(self, nesting: int) -> list[int]:
        """Some of the lanes alone, the highest always among them, then all of them again."""
        mask, some = REGION + 2 * nesting, REGION + 2 * nesting + 1
        body = self.block(self.rng.randrange(2), nesting + 1)
        # Of a lane's number and the mask: the lanes whose bit is set in a value, or who are the highest.
        choose = [e.csrr(mask, e.Csr.LANES), e.vote(3, some, self.rng.choice(VALUES))]
        zero = [e.branch(1, some, 0, 8), e.addi(some, mask, 0)]
        return [*choose, *zero, e.tmc(some), *body, *self.set_mask(mask), *self.note()]

    def set_mask(self, mask: int) -> list[int]:
        """Wake the lanes in `mask` again."""
        return [e.tmc(mask)]

    def program(self) -> list[int]:
        """All lanes; different values in each; the block; each stores its hash and values, and ends."""
        start = [*e.li(FULL, (1 << self.threads) - 1), e.tmc(FULL), e.csrr(HASH, e.Csr.THREAD), *e.li(OUT, RESULT)]
        start += [e.slli(SCRATCH, HASH, 5), e.add(OUT, OUT, SCRATCH)]
        for value in VALUES:
            start += [*e.li(SCRATCH, self.rng.getrandbits(31)), e.addi(value, HASH, self.rng.randrange(1, 2000))]
            start += [e.r_type(0x33, value, 0, value, SCRATCH, 1), e.i_type(0x13, SCRATCH, 5, value, 9)]
            start += [e.r_type(0x33, value, 4, value, SCRATCH, 0)]
        stores = [e.s_type(0x23, 2, OUT, x, 4 * k) for k, x in enumerate((HASH, *VALUES))]
        return [*start, *self.block(6, 0), *stores, e.tmc(0)]


def structured_program(seed: int, threads: int) -> tuple[ElfProgram, list[int]]:
    """A program of a seed, and its words."""
    words = StructuredGenerator(threads, random.Random(seed)).program()
    code = b"".join(word.to_bytes(4, "little") for word in words)
    return ElfProgram(CODE, (Segment(CODE, code, len(code)),)), words


def expected(words: list[int], threads: int) -> bytes:
    """What the stack semantics leaves in the results' memory."""
    stored = StackWarp(threads, words).run()
    size = 32 * threads
    return b"".join(stored.get(RESULT + at, 0).to_bytes(4, "little") for at in range(0, size, 4))
