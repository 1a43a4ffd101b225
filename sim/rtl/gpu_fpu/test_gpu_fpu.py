# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The floating-point unit against an exact model and the host's unit; its handshake, its latency, and mutations of it.

The same with a million cases of every operation: `python -m eddy_sim.gpu.fpu_check --cases 1000000`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import EddyError
from eddy_sim.gpu import softfloat
from eddy_sim.gpu.fpu_build import FILELIST, Fpu, Host, Pace, build_fpu, build_host
from eddy_sim.gpu.fpu_cases import random_cases
from eddy_sim.gpu.fpu_check import check_operation
from eddy_sim.gpu.softfloat import FloatAnswer, Op, Rm
from eddy_sim.tools.filelist import read_filelist

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_fpu")]

LATENCY = 5
DIVIDE_LATENCY = 20


@lru_cache(maxsize=4)
def fpu(lanes: int) -> Fpu:
    return build_fpu(lanes, optimise=lanes == 4)


@lru_cache(maxsize=1)
def host() -> Host | None:
    built = build_host()
    return built if built.usable() else None


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
def test_answers_are_exact(op: Op) -> None:
    thin = 101 if op <= Op.FNMADD else 1
    outcomes = check_operation(fpu(4), host(), op, 20_000, seed=3, pace=Pace(3, 16, 32), thin=thin)
    assert not [text for outcome in outcomes for text in outcome.mismatches]
    assert sum(outcome.cases for outcome in outcomes) > 20_000


@pytest.mark.parametrize("lanes", [1, 3, 4])
@pytest.mark.parametrize("pace", [Pace(5, 0, 0), Pace(6, 128, 0), Pace(7, 0, 200), Pace(8, 100, 100)], ids=str)
def test_mixed_requests_keep_tags_masks_and_order(lanes: int, pace: Pace) -> None:
    warps = 3000
    rng = np.random.default_rng(pace.seed)
    op = rng.integers(0, len(Op), warps).astype(np.uint8)
    rm = rng.integers(0, len(Rm), warps).astype(np.uint8)
    mask = rng.integers(0, 1 << lanes, warps).astype(np.uint16)
    operands = np.zeros((3, warps, lanes), np.uint32)
    want = FloatAnswer(np.zeros((warps, lanes), np.uint32), np.zeros((warps, lanes), np.uint8))
    for which in Op:
        rows = np.flatnonzero(op == which)
        _, drawn = random_cases(which, len(rows) * lanes, seed=pace.seed)
        modes = np.repeat(rm[rows], lanes)
        answer = softfloat.evaluate(which, modes, *drawn)
        for k in range(3):
            operands[k, rows] = drawn[k].reshape(-1, lanes)
        want.result[rows], want.flags[rows] = answer.result.reshape(-1, lanes), answer.flags.reshape(-1, lanes)
    got, _ = fpu(lanes).run(op, rm, mask, (operands[0], operands[1], operands[2]), pace)
    there = (mask[:, None] >> np.arange(lanes)) & 1 == 1
    wrong = there & ((got.result != want.result) | (got.flags != want.flags))
    assert not wrong.any(), f"first at warp {np.flatnonzero(wrong.any(axis=1))[0]}"


def cycles_of(op: Op, a: int, b: int, warps: int) -> int:
    full = np.full(warps, 15, np.uint16)
    operands = [np.full((warps, 4), x, np.uint32) for x in (a, b, 0)]
    rm = np.zeros(warps, np.uint8)
    return fpu(4).run(np.full(warps, op, np.uint8), rm, full, (operands[0], operands[1], operands[2]))[1]


@pytest.mark.parametrize("op", [Op.FMADD, Op.FADD, Op.FMIN, Op.FCVT_W_S], ids=lambda op: op.name)
def test_one_warp_a_cycle_five_cycles_late(op: Op) -> None:
    assert cycles_of(op, 0x3F800000, 0x40400000, 1) == 1 + LATENCY
    assert cycles_of(op, 0x3F800000, 0x40400000, 1000) == 1000 + LATENCY


@pytest.mark.parametrize(
    ("op", "a", "b", "extra"),
    [
        (Op.FDIV, 0x3F800000, 0x40400000, 0),
        (Op.FSQRT, 0x40400000, 0, 0),
        (Op.FDIV, 0x00000001, 0x40400000, 23),
        (Op.FDIV, 0x00400000, 0x00000001, 23),
        (Op.FSQRT, 0x00400000, 0, 1),
        (Op.FDIV, 0x00000000, 0x00000001, 0),
    ],
)
def test_divisions_take_the_promised_time(op: Op, a: int, b: int, extra: int) -> None:
    assert cycles_of(op, a, b, 1) == 1 + DIVIDE_LATENCY + extra


MUTATIONS = [
    ("gpu_fpu_move_pkg.sv", "moved | frame_t'((moved << distance) != x)", "moved"),
    ("gpu_fpu_move_pkg.sv", "m.bound == Bound || (m.bound == Even && m.exponent[3:0] < distance)", "m.bound == Bound"),
    ("gpu_fpu_move_pkg.sv", "near[51:48] == '0 ? '0 : m.exponent", "m.exponent"),
    ("gpu_fpu_round_pkg.sv", "NearestAway: return half;", "NearestAway: return half && (rest || last);"),
    ("gpu_fpu_round_pkg.sv", "if (n.value[33:9] == {1'b0, {24{1'b1}}})", "if (1'b0)"),
    ("gpu_fpu_prepare_pkg.sv", "(ca.zero || cf.zero || ", "("),
    ("gpu_fpu_prepare_pkg.sv", "!empty && !ahead[9]", "!ahead[9]"),
    ("gpu_fpu_prepare_pkg.sv", "q.digits, rest", "q.digits, 1'b0"),
    ("gpu_fpu_round_pkg.sv", "s.value == '1 ? rm == Rdn", "s.value == '1 ? 1'b0"),
    ("gpu_fpu_round_pkg.sv", "~s.value : s.value + FrameWidth'(1)", "~s.value : s.value"),
    ("gpu_fpu.sv", "accept || inject}", "accept}"),
    ("gpu_fpu.sv", "&valid_q[4:2]", "1'b0"),
]


@pytest.mark.mutant
@pytest.mark.parametrize(("file", "old", "new"), MUTATIONS, ids=[f"{f}-{i}" for i, (f, _, _) in enumerate(MUTATIONS)])
def test_mutations_are_found(file: str, old: str, new: str, tmp_path: Path) -> None:
    sources = []
    for path in read_filelist(FILELIST):
        text = path.read_text(encoding="utf-8")
        if path.name == file:
            assert old in text
            text = text.replace(old, new)
        sources.append(tmp_path / path.name)
        sources[-1].write_text(text, encoding="utf-8")
    mutant = build_fpu(1, sources, optimise=False)
    assert any(differs(mutant, op) for op in (Op.FMADD, Op.FSUB, Op.FMUL, Op.FDIV))


def differs(mutant: Fpu, op: Op) -> bool:
    try:
        outcomes = check_operation(
            mutant, None, op, 4000, seed=5, pace=Pace(5, 16, 64), thin=61 if op == Op.FMADD else 7
        )
    except EddyError:
        return True
    return any(outcome.wrong for outcome in outcomes)
