# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The model of the GPU's instruction set: against definitions, an array model of floating point, a stack of masks."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from eddy_sim.gpu import isa_model, softfloat
from eddy_sim.gpu.assemble import program
from eddy_sim.gpu.conformance import families
from eddy_sim.gpu.elf import ElfInvalid, parse_elf, read_elf
from eddy_sim.gpu.fpu_cases import random_cases, special_cases
from eddy_sim.gpu.isa_model import Config, IsaModel, Stop, run_program
from eddy_sim.gpu.random_programs import DATA, SHARED, Options, random_program
from eddy_sim.gpu.softfloat import Op
from eddy_sim.gpu.stack_model import RESULT, expected, structured_program

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_isa")]

SOURCES = lru_cache(maxsize=1)(families)


@pytest.mark.parametrize("family", list(SOURCES()))
def test_every_family_gives_what_its_definition_says(family: str) -> None:
    outcome, _ = run_program(program(SOURCES()[family]))
    assert (outcome.stop, outcome.exit_code) == (Stop.TOHOST, 0), f"test {outcome.exit_code}"


def test_a_wrong_case_is_named() -> None:
    source = SOURCES()["ui_add"].replace("add a3, a1, a2", "sub a3, a1, a2")
    outcome, _ = run_program(program(source))
    assert outcome.stop is Stop.TOHOST
    assert outcome.exit_code == 3, "the second case, 0 + 1, is the first that differs from 0 - 1"


@pytest.mark.parametrize("op", [op for op in Op if not Op.FSGNJ <= op <= Op.FSGNJX], ids=lambda op: op.name)
def test_floating_point_agrees_with_the_array_model(op: Op) -> None:
    for rm, operands in (random_cases(op, 50_000, seed=9), special_cases(op, 61 if op <= Op.FNMADD else 1)):
        want = softfloat.evaluate(op, rm, *operands)
        arrays = [np.ascontiguousarray(x) for x in (rm, *operands)]
        result, flags = np.zeros(len(rm), np.uint32), np.zeros(len(rm), np.uint8)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, result, flags)]
        isa_model.library().isa_float(int(op), ctypes.c_uint64(len(rm)), *pointers)
        assert np.array_equal(result, want.result)
        assert np.array_equal(flags, want.flags)


@pytest.mark.parametrize("threads", [1, 2, 4, 8, 16])
def test_structured_programs_agree_with_a_stack_of_masks(threads: int) -> None:
    for seed in range(60):
        elf, words = structured_program(seed, threads)
        outcome, model = run_program(elf, Config(threads=threads))
        assert outcome.stop is Stop.IDLE
        assert model.read(RESULT, 32 * threads) == expected(words, threads), f"seed {seed}"


def final_memory(seed: int, choice: bool, order: int) -> bytes:
    elf = random_program(seed, Options(groups=False, length=250))
    outcome, model = run_program(elf, Config(random_choice=choice, seed=order, starve_bound=10))
    assert outcome.stop is Stop.IDLE
    return model.read(DATA, 0x2000) + model.read(SHARED, 0x2000)


@pytest.mark.parametrize("seed", range(12))
def test_which_lanes_go_first_is_no_matter_of_correctness(seed: int) -> None:
    orderly = final_memory(seed, choice=False, order=1)
    assert all(final_memory(seed, choice=True, order=order) == orderly for order in (1, 2, 3))


def test_a_barrier_nobody_reaches_ends_the_core() -> None:
    text = ".section .text.init\n.globl _start\n_start: li a0, 1\n li a1, 2\n .insn r 0x0b, 4, 0, x0, a0, a1\n"
    outcome, _ = run_program(program(text))
    assert outcome.stop is Stop.IDLE
    assert [(fault.cause, fault.pc, fault.value) for fault in outcome.faults] == [(24, 0x80000008, 1)]


def test_a_trap_without_handler_stops_the_core_and_says_why() -> None:
    outcome, _ = run_program(program(".section .text.init\n.globl _start\n_start: nop\n .word 0\n"))
    (fault,) = outcome.faults
    assert (fault.cause, fault.pc, fault.value) == (2, 0x80000004, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"hello", "cut off"),
        (lambda data: b"\x7fELG" + data[4:], "not an ELF file"),
        (lambda data: data[:18] + b"\x3e\0" + data[20:], "32-bit RISC-V"),
        (lambda data: data[:4096], "cut off"),
    ],
)
def test_what_is_no_program_is_refused(change: object, says: str, tmp_path: Path) -> None:
    assert callable(change)
    path = tmp_path / "program.elf"
    elf = program(SOURCES()["csr"])
    assert elf.tohost == elf.symbols["tohost"]
    from eddy_sim.gpu.assemble import assemble

    path.write_bytes(change(assemble(SOURCES()["csr"]).read_bytes()))
    with pytest.raises(ElfInvalid, match=says):
        read_elf(path)
    with pytest.raises(ElfInvalid):
        parse_elf(b"")
    with pytest.raises(ElfInvalid, match="cannot read"):
        read_elf(tmp_path / "none.elf")


def test_a_model_is_its_own() -> None:
    first, second = IsaModel(), IsaModel()
    first.write(0x1000, b"abc")
    assert second.read(0x1000, 3) == bytes(3)
