# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Self-checking assembly programs, one for a family of instructions, in the convention of riscv-tests.

A program stores to `tohost`: 1 if every case gave what it must, else twice the number of the first that did not, plus
one. What an instruction must give is computed here from its definition (floating point: by the exact array model), not
by the model of the instruction set. Every program begins as those of riscv-tests do: control registers that a machine
may lack are written behind a trap handler that goes on with the next one, and the end is an `ecall`.

References: RISC-V Instruction Set Manual, volume I (RV32I, M, F, Zicsr), volume II (machine-level CSRs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eddy_sim.gpu import softfloat
from eddy_sim.gpu.softfloat import Op, Rm

MASK = 0xFFFFFFFF

OPTIONAL_CSRS = ("0x744", "0x180", "0x3b0", "0x3a0", "0x304", "0x302", "0x303", "0x305")

PROLOGUE = """
.section .text.init
.globl _start
_start:
  j begin
.align 2
trap_vector:
  csrr t5, mcause
  li t6, 11
  beq t5, t6, write_tohost
  la t5, expected_trap
  lw t5, 0(t5)
  bnez t5, 1f
  ori gp, gp, 1337
  j write_tohost
1: jr t5
write_tohost:
  la t5, tohost
1: sw gp, 0(t5)
  sw zero, 4(t5)
  j 1b
begin:
  csrr a0, mhartid
1: bnez a0, 1b
{optional}
  li gp, 0
  la t0, trap_vector
  csrw mtvec, t0
  csrwi mstatus, 0
  li a0, 0x2000
  csrs mstatus, a0
{fcsr}
  la t0, 1f
  csrw mepc, t0
  mret
1:
"""

EPILOGUE = """
pass:
  fence
  li gp, 1
  li a7, 93
  li a0, 0
  ecall
fail:
  fence
1: beqz gp, 1b
  slli gp, gp, 1
  ori gp, gp, 1
  li a7, 93
  ecall
.data
.align 4
expected_trap: .word 0
{data}
.section .tohost, "aw", @progbits
.align 6
.globl tohost
tohost: .dword 0
.align 6
.globl fromhost
fromhost: .dword 0
"""


def optional_csr(number: str) -> str:
    """A write to a CSR that need not be there."""
    return f"  la t0, 1f\n  csrw mtvec, t0\n  csrwi {number}, 0\n.align 2\n1:"


def source(cases: Sequence[str], data: str = "", fpu: bool = False) -> str:
    """A program of numbered cases; each goes to `fail` where it is not as it must be."""
    optional = "\n".join(optional_csr(number) for number in OPTIONAL_CSRS)
    numbered = "\n".join(f"test_{n}: li gp, {n}\n{text}" for n, text in enumerate(cases, 2))
    begin = PROLOGUE.format(optional=optional, fcsr="  csrwi fcsr, 0" if fpu else "")
    return begin + numbered + EPILOGUE.format(data=data)


def _signed(value: int) -> int:
    return (value & MASK) - (1 << 32 if value & 0x80000000 else 0)


CORNERS = (0, 1, 2, 3, 31, 32, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFFE, 0x12345678, 0xAAAA5555)

BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: int(_signed(a) < _signed(b)),
    "sltu": lambda a, b: int(a < b),
    "xor": lambda a, b: a ^ b,
    "srl": lambda a, b: a >> (b & 31),
    "sra": lambda a, b: _signed(a) >> (b & 31),
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
}
IMMEDIATE = {name + "i": function for name, function in BINARY.items() if name not in ("sub", "sltu")}
IMMEDIATE["sltiu"] = BINARY["sltu"]


def _divide(a: int, b: int) -> int:
    return MASK if b == 0 else int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _divide(a, b)


MULTIPLY: dict[str, Callable[[int, int], int]] = {
    "mul": lambda a, b: a * b,
    "mulh": lambda a, b: _signed(a) * _signed(b) >> 32,
    "mulhsu": lambda a, b: _signed(a) * b >> 32,
    "mulhu": lambda a, b: a * b >> 32,
}
DIVIDE: dict[str, Callable[[int, int], int]] = {
    "div": lambda a, b: _divide(_signed(a), _signed(b)),
    "divu": _divide,
    "rem": lambda a, b: _remainder(_signed(a), _signed(b)),
    "remu": _remainder,
}
BRANCH: dict[str, Callable[[int, int], bool]] = {
    "beq": lambda a, b: a == b,
    "bne": lambda a, b: a != b,
    "blt": lambda a, b: _signed(a) < _signed(b),
    "bge": lambda a, b: _signed(a) >= _signed(b),
    "bltu": lambda a, b: a < b,
    "bgeu": lambda a, b: a >= b,
}


def _expect(register: str, value: int) -> str:
    return f"  li t6, {value & MASK:#x}\n  bne {register}, t6, fail"


def binary(name: str, function: Callable[[int, int], int]) -> Iterator[str]:
    """Three registers: corner values, the destination being a source, x0."""
    for a in CORNERS:
        for b in CORNERS:
            yield f"  li a1, {a:#x}\n  li a2, {b:#x}\n  {name} a3, a1, a2\n" + _expect("a3", function(a, b))
    a, b = 0x89ABCDEF, 5
    yield f"  li a1, {a:#x}\n  li a2, {b}\n  {name} a1, a1, a2\n" + _expect("a1", function(a, b))
    yield f"  li a1, {a:#x}\n  li a2, {b}\n  {name} a2, a1, a2\n" + _expect("a2", function(a, b))
    yield f"  li a1, {a:#x}\n  {name} a1, a1, a1\n" + _expect("a1", function(a, a))
    yield f"  li a1, {a:#x}\n  {name} a2, zero, a1\n" + _expect("a2", function(0, a))
    yield f"  li a1, {a:#x}\n  {name} zero, a1, a1\n" + _expect("zero", 0)


def immediate(name: str, function: Callable[[int, int], int]) -> Iterator[str]:
    """A register and an immediate."""
    shift = name in ("slli", "srli", "srai")
    for a in CORNERS:
        for b in (0, 1, 7, 31) if shift else (0, 1, -1, 2047, -2048, 0x555):
            yield f"  li a1, {a:#x}\n  {name} a2, a1, {b}\n" + _expect("a2", function(a, b & MASK))


def branches() -> Iterator[str]:
    """Taken and not taken, forward and backward."""
    for name, function in BRANCH.items():
        for a in CORNERS[::2]:
            for b in CORNERS[1::2] + CORNERS[:3]:
                after = "1: j fail\n2:" if function(a, b) else "j 2f\n1: j fail\n2:"
                target = "2f" if function(a, b) else "1f"
                yield f"  li a1, {a:#x}\n  li a2, {b:#x}\n  {name} a1, a2, {target}\n  {after}"
        yield (
            f"  li a1, 0\n  li a2, 3\n  li a3, 0\n1: addi a3, a3, 2\n  addi a1, a1, 1\n  bne a1, a2, 1b # {name}\n"
            + (_expect("a3", 6))
        )


def jumps() -> Iterator[str]:
    """Links, targets, and the low bit of a jump through a register."""
    yield "  li a1, 0\n  jal a1, 2f\n1: j fail\n2: la a2, 1b\n  bne a1, a2, fail"
    yield "  la a1, 2f\n  jalr a2, 0(a1)\n1: j fail\n2: la a3, 1b\n  bne a2, a3, fail"
    yield "  la a1, 2f\n  jalr a1, 1(a1)\n1: j fail\n2: la a3, 1b\n  bne a1, a3, fail"
    yield "  la a1, 1f\n  addi a1, a1, -64\n  jr 64(a1)\n  j fail\n1:"
    yield "  jal ra, 1f\n  j 2f\n1: li a1, 5\n  ret\n2:\n" + _expect("a1", 5)
    yield "  lui a1, 0xfffff\n" + _expect("a1", 0xFFFFF000)
    yield "1: auipc a1, 0x12345\n  la a2, 1b\n  li a3, 0x12345000\n  add a2, a2, a3\n  bne a1, a2, fail"
    yield "  lui zero, 0x12345\n" + _expect("zero", 0)


DATA_WORDS = (0x00FF80F7, 0x8000FF7F, 0x12345678, 0xFFFFFFFF)


def loads_stores() -> Iterator[str]:
    """Every size, offset and sign; stores leave their neighbours alone; what was stored is loaded at once."""
    image = b"".join(word.to_bytes(4, "little") for word in DATA_WORDS)
    for name, size in (("lb", 1), ("lbu", 1), ("lh", 2), ("lhu", 2), ("lw", 4)):
        for offset in range(0, 16, size):
            value = int.from_bytes(image[offset : offset + size], "little", signed=not name.endswith("u"))
            yield f"  la a1, words\n  {name} a2, {offset}(a1)\n" + _expect("a2", value)
            yield f"  la a1, words+16\n  {name} a2, {offset - 16}(a1)\n" + _expect("a2", value)
    for name, size in (("sb", 1), ("sh", 2), ("sw", 4)):
        for offset in range(0, 8, size):
            want = bytearray(b"\xa5" * 12)
            want[offset : offset + size] = (0x87654321).to_bytes(4, "little")[:size]
            words = [int.from_bytes(want[k : k + 4], "little") for k in (0, 4, 8)]
            fill = "  li a2, 0xa5a5a5a5\n" + "".join(f"  sw a2, {k}(a1)\n" for k in (0, 4, 8))
            check = "\n".join(
                f"  lw a3, {k}(a1)\n" + _expect("a3", word) for k, word in zip((0, 4, 8), words, strict=True)
            )
            yield f"  la a1, scratch\n{fill}  li a2, 0x87654321\n  {name} a2, {offset}(a1)\n{check}"
    yield (
        "  la a1, scratch\n  li a2, 0\n1: sw a2, 0(a1)\n  lw a3, 0(a1)\n  bne a2, a3, fail\n"
        "  addi a2, a2, 1\n  addi a1, a1, 4\n  li a4, 48\n  bne a2, a4, 1b"
    )


SELF_MODIFYING = """  la a1, 1f
  la a2, 2f
  lw a3, 0(a2)
  li a4, 0
1: addi a4, a4, 1
  beqz a3, 3f
  sw a3, 0(a1)
  fence.i
  li a3, 0
  j 1b
2: addi a4, a4, 100
3:
"""


def traps() -> Iterator[str]:
    """Cause, mepc and mtval of every trap; the handler can be told where to go on."""

    def expect(cause: int, value: str, before: str, instruction: str) -> str:
        return (
            f"  la t0, expected_trap\n  la t1, 2f\n  sw t1, 0(t0)\n{before}1: {instruction}\n  j fail\n.align 2\n"
            f"2: csrr a1, mcause\n  li a2, {cause}\n  bne a1, a2, fail\n  csrr a1, mepc\n  la a2, 1b\n"
            f"  bne a1, a2, fail\n  csrr a1, mtval\n{value}  bne a1, a2, fail\n"
            "  la a1, 3f\n  csrw mepc, a1\n  mret\n3:"
        )

    word = "  la a2, 1b\n  lw a2, 0(a2)\n"
    for instruction in (".word 0", ".word 0xffffffff", "csrr a0, 0x123", "csrw mhartid, a0", "csrw 0xfd0, a0"):
        yield expect(2, word, "", instruction)
    yield expect(3, "  li a2, 0\n", "", "ebreak")
    for k in (1, 2, 3):
        yield expect(4, f"  la a2, scratch+{k}\n", "  la a0, scratch\n", f"lw a3, {k}(a0)")
        yield expect(6, f"  la a2, scratch+{k}\n", "  la a0, scratch\n", f"sw a3, {k}(a0)")
    for name, cause in (("lh", 4), ("lhu", 4), ("sh", 6)):
        yield expect(cause, "  la a2, scratch+3\n", "  la a0, scratch\n", f"{name} a3, 3(a0)")
    yield expect(0, "  la a2, 1b+6\n", "  la a0, 1f+6\n", "jr 0(a0)")
    yield expect(0, "  la a2, 1b+6\n", "", ".word 0x0060006f")
    yield "  li a1, 7\n  beq zero, a1, 1f+2\n1:"
    yield "  la t0, expected_trap\n  sw zero, 0(t0)"


def csrs() -> Iterator[str]:
    """Writes, sets and clears give the old value; constants are what they are."""
    yield "  li a1, 0x12345678\n  csrw mscratch, a1\n  csrr a2, mscratch\n  bne a1, a2, fail"
    yield "  li a1, 0x0f0\n  csrrs a2, mscratch, a1\n" + _expect("a2", 0x12345678)
    yield (
        "  csrrc a2, mscratch, a1\n" + _expect("a2", 0x123456F8) + "\n  csrr a2, mscratch\n" + _expect("a2", 0x12345608)
    )
    yield "  csrrwi a2, mscratch, 21\n" + _expect("a2", 0x12345608)
    yield "  csrrsi a2, mscratch, 10\n" + _expect("a2", 21) + "\n  csrrci a2, mscratch, 1\n" + _expect("a2", 31)
    yield "  csrr a2, mscratch\n" + _expect("a2", 30)
    yield "  csrr a1, minstret\n  nop\n  nop\n  csrr a2, minstret\n  sub a2, a2, a1\n" + _expect("a2", 3)
    yield "  csrr a1, mcycle\n  nop\n  csrr a2, mcycle\n  bgeu a1, a2, fail"
    yield "  csrr a1, mcycleh\n" + _expect("a1", 0)
    for number in ("0xcc0", "0xcc1", "0xcc2", "0xf14"):
        yield f"  csrr a1, {number}\n" + _expect("a1", 0)
    yield "  csrr a1, 0xcc4\n" + _expect("a1", 1)
    yield "  csrr a1, 0xcc3\n" + _expect("a1", 1)
    yield "  csrr a1, 0xfc3\n" + _expect("a1", 0xFFFF0000)


RANDOM_FLOATS = 12
FLOATS = (
    *(0, 0x80000000, 0x3F800000, 0xC0490FDB, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 1, 0x807FFFFF, 0x7F7FFFFF),
    *(0x00800000, 0x4F000000, 0xCF000001, 0x4F7FFFFF, 0x3F000000, 0xBFC00000),
)


def float_cases(op: Op, text: str, operands: int, integer: str = "") -> Iterator[str]:
    """Results and flags of an operation in every rounding mode it has.

    Args:
        op: As the exact model knows it.
        text: The instruction; `{rm}` where it takes a mode. It leaves its result in fa0, or in a0.
        operands: How many floating-point operands it has.
        integer: Register of an integer operand, if it has one.
    """
    rng = np.random.default_rng(int(op) + 1)
    modes = list(Rm) if "{rm}" in text else [Rm.RNE]
    for mode in modes:
        values = rng.choice(np.array(FLOATS, np.uint32), (RANDOM_FLOATS, 3))
        values[RANDOM_FLOATS // 2 :] = rng.integers(0, 1 << 32, values[RANDOM_FLOATS // 2 :].shape, np.uint32)
        answer = softfloat.evaluate(
            op, np.full(RANDOM_FLOATS, mode, np.uint8), *(values[:, k].copy() for k in range(3))
        )
        for k in range(RANDOM_FLOATS):
            load = "".join(f"  li a1, {int(values[k, j]):#x}\n  fmv.w.x fa{j + 1}, a1\n" for j in range(operands))
            if integer:
                load = f"  li {integer}, {int(values[k, 0]):#x}\n"
            result = "" if text.split()[1].startswith("a0") else "  fmv.x.w a0, fa0\n"
            instruction = text.format(rm=mode.name.lower())
            check = _expect("a0", int(answer.result[k])) + "\n  csrr a1, fflags\n" + _expect("a1", int(answer.flags[k]))
            yield f"  fsflags zero\n{load}  {instruction}\n{result}{check}"
            if mode == Rm.RUP:
                dynamic = text.format(rm="dyn")
                yield f"  fsrmi {int(mode)}\n  fsflags zero\n{load}  {dynamic}\n{result}  fsrmi 0\n{check}"


FLOAT_FAMILIES: dict[str, tuple[tuple[Op, str, int, str], ...]] = {
    "uf_add": ((Op.FADD, "fadd.s fa0, fa1, fa2, {rm}", 2, ""), (Op.FSUB, "fsub.s fa0, fa1, fa2, {rm}", 2, "")),
    "uf_mul": ((Op.FMUL, "fmul.s fa0, fa1, fa2, {rm}", 2, ""),),
    "uf_div": ((Op.FDIV, "fdiv.s fa0, fa1, fa2, {rm}", 2, ""), (Op.FSQRT, "fsqrt.s fa0, fa1, {rm}", 1, "")),
    "uf_fma": (
        (Op.FMADD, "fmadd.s fa0, fa1, fa2, fa3, {rm}", 3, ""),
        (Op.FMSUB, "fmsub.s fa0, fa1, fa2, fa3, {rm}", 3, ""),
        (Op.FNMADD, "fnmadd.s fa0, fa1, fa2, fa3, {rm}", 3, ""),
        (Op.FNMSUB, "fnmsub.s fa0, fa1, fa2, fa3, {rm}", 3, ""),
    ),
    "uf_compare": (
        (Op.FEQ, "feq.s a0, fa1, fa2", 2, ""),
        (Op.FLT, "flt.s a0, fa1, fa2", 2, ""),
        (Op.FLE, "fle.s a0, fa1, fa2", 2, ""),
        (Op.FMIN, "fmin.s fa0, fa1, fa2", 2, ""),
        (Op.FMAX, "fmax.s fa0, fa1, fa2", 2, ""),
        (Op.FCLASS, "fclass.s a0, fa1", 1, ""),
        (Op.FSGNJ, "fsgnj.s fa0, fa1, fa2", 2, ""),
        (Op.FSGNJN, "fsgnjn.s fa0, fa1, fa2", 2, ""),
        (Op.FSGNJX, "fsgnjx.s fa0, fa1, fa2", 2, ""),
    ),
    "uf_convert": (
        (Op.FCVT_W_S, "fcvt.w.s a0, fa1, {rm}", 1, ""),
        (Op.FCVT_WU_S, "fcvt.wu.s a0, fa1, {rm}", 1, ""),
        (Op.FCVT_S_W, "fcvt.s.w fa0, a2, {rm}", 0, "a2"),
        (Op.FCVT_S_WU, "fcvt.s.wu fa0, a2, {rm}", 0, "a2"),
    ),
}


def float_memory() -> Iterator[str]:
    """flw, fsw, moves, and the two parts of fcsr."""
    for k, word in enumerate(DATA_WORDS):
        yield f"  la a1, words\n  flw fa0, {4 * k}(a1)\n  fmv.x.w a0, fa0\n" + _expect("a0", word)
        yield f"  la a1, scratch\n  fsw fa0, {4 * k}(a1)\n  lw a0, {4 * k}(a1)\n" + _expect("a0", word)
    yield "  li a1, 0xff\n  csrw fcsr, a1\n  frflags a0\n" + _expect("a0", 31) + "\n  frrm a0\n" + _expect("a0", 7)
    yield "  fsrmi 2\n  csrr a0, fcsr\n" + _expect("a0", 0x5F) + "\n  csrwi fcsr, 0"


FLOAT_REGISTERS = "".join(f"  li a1, {0x100 + k}\n  fmv.w.x f{k}, a1\n" for k in range(32)) + "".join(
    f"  fmv.x.w a1, f{k}\n{_expect('a1', 0x100 + k)}\n" for k in range(32)
)
REGISTERS = "".join(f"  li x{k}, {0x100 + k}\n" for k in range(4, 31)) + "".join(
    f"  li x31, {0x100 + k}\n  bne x{k}, x31, fail\n" for k in range(4, 31)
)
DATA = "words: .word " + ", ".join(hex(word) for word in DATA_WORDS) + "\n.align 6\nscratch: .space 256\n"


def families() -> dict[str, str]:
    """Name of every program to its source."""
    programs = {f"ui_{name}": list(binary(name, f)) for name, f in BINARY.items()}
    programs["ui_immediate"] = [case for name, f in IMMEDIATE.items() for case in immediate(name, f)]
    programs["ui_branch"] = list(branches())
    programs["ui_jump"] = list(jumps())
    programs["ui_memory"] = [*loads_stores(), SELF_MODIFYING + _expect("a4", 101), REGISTERS]
    programs |= {f"um_{name}": list(binary(name, f)) for name, f in (MULTIPLY | DIVIDE).items()}
    programs["csr"] = list(csrs())
    programs["trap"] = list(traps())
    sources = {name: source(cases, DATA) for name, cases in programs.items()}
    for name, operations in FLOAT_FAMILIES.items():
        sources[name] = source([case for op in operations for case in float_cases(*op)], DATA, fpu=True)
    sources["uf_memory"] = source([*float_memory(), FLOAT_REGISTERS], DATA, fpu=True)
    return sources
