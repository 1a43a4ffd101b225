# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Checks the floating-point unit bit for bit, flags included, against an exact model and the host's own unit.

    python -m eddy_sim.gpu.fpu_check --cases 1000000

runs that many random cases of every operation, and every tuple of special values, in all five rounding modes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eddy_sim.gpu import softfloat
from eddy_sim.gpu.fpu_build import Fpu, Host, Pace, build_fpu, build_host
from eddy_sim.gpu.fpu_cases import Operands, random_cases, special_cases
from eddy_sim.gpu.softfloat import Flags, FloatAnswer, Op, Rm


@dataclass(frozen=True)
class CheckOutcome:
    """What a check of one operation found.

    Attributes:
        op: The operation.
        cases: Cases compared with the exact model.
        host_cases: Of these, cases compared with the host's unit as well.
        cycles: Cycles the unit took.
        mismatches: Descriptions of the first cases that differ.
        wrong: How many differ.
    """

    op: Op
    cases: int
    host_cases: int
    cycles: int
    mismatches: tuple[str, ...]
    wrong: int


def compare(
    op: Op, rm: Flags, operands: Operands, got: FloatAnswer, want: FloatAnswer, source: str
) -> tuple[int, list[str]]:
    """How many answers differ, and the first few in words."""
    bad = np.flatnonzero((got.result != want.result) | (got.flags != want.flags))
    texts = []
    for i in bad[:5]:
        inputs = " ".join(f"{int(x[i]):08x}" for x in operands)
        answers = f"got {int(got.result[i]):08x}/{int(got.flags[i]):05b}, want {int(want.result[i]):08x}"
        texts.append(f"{op.name} {Rm(rm[i]).name} {inputs}: {answers}/{int(want.flags[i]):05b} ({source})")
    return len(bad), texts


def check(fpu: Fpu, host: Host | None, op: Op, rm: Flags, operands: Operands, pace: Pace) -> CheckOutcome:
    """Compare the unit with the model, and the model with the host where it can say."""
    want = softfloat.evaluate(op, rm, *operands)
    got, cycles = fpu.run_lanes(op, rm, operands, pace)
    wrong, texts = compare(op, rm, operands, got, want, "exact model")
    known = rm != Rm.RMM
    if host is None or op not in Host.OPERATIONS:
        return CheckOutcome(op, len(rm), 0, cycles, tuple(texts), wrong)
    said = host.evaluate(op, rm, *operands)
    there = FloatAnswer(np.where(known, said.result, want.result), np.where(known, said.flags, want.flags))
    apart, more = compare(op, rm, operands, want, there, "the exact model differs from the host")
    return CheckOutcome(op, len(rm), int(known.sum()), cycles, (*texts, *more), wrong + apart)


def check_operation(
    fpu: Fpu, host: Host | None, op: Op, cases: int, seed: int, pace: Pace, thin: int = 1
) -> tuple[CheckOutcome, ...]:
    """Special cases (of each `thin` one), then random ones, in portions that fit the memory."""
    outcomes = [check(fpu, host, op, *special_cases(op, thin), pace)]
    portion = 1 << 18
    for start in range(0, cases, portion):
        some = random_cases(op, min(portion, cases - start), seed + start)
        outcomes.append(check(fpu, host, op, *some, pace))
    return tuple(outcomes)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m eddy_sim.gpu.fpu_check", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000, help="random cases of every operation")
    parser.add_argument("--op", action="append", choices=[op.name for op in Op], help="only this one (may be repeated)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases")
    parser.add_argument("--lanes", type=int, default=4, help="lanes of the unit")
    parser.add_argument("--stall", type=int, default=32, help="chance in 256 that a cycle takes no answer")
    options = parser.parse_args(arguments)
    fpu, host = build_fpu(options.lanes), build_host()
    asked = [Op[name] for name in options.op] if options.op else list(Op)
    if not host.usable():
        print("the host judges tininess before rounding: compared with the exact model only")
    wrong = 0
    for op in asked:
        begin = time.monotonic()
        pace = Pace(options.seed, 16, options.stall)
        outcomes = check_operation(fpu, host if host.usable() else None, op, options.cases, options.seed, pace)
        cases, hosts = (sum(getattr(o, name) for o in outcomes) for name in ("cases", "host_cases"))
        bad = sum(o.wrong for o in outcomes)
        took = time.monotonic() - begin
        print(f"{op.name:10s} {cases:9d} cases, {hosts:9d} also on the host, {bad} differ, {took:.1f} s", flush=True)
        for text in [text for o in outcomes for text in o.mismatches][:10]:
            print("  " + text)
        wrong += bad
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
