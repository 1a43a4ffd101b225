# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Functions of the floating-point unit that have a form for gates and one for simulation: both are the same, proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

MOVES = Proof("gpu_fpu_moves_proof", ROOT / "hw" / "ip" / "gpu_fpu" / "gpu_fpu.f", depth=2)
MUTATIONS = [
    (Mutation("lost for gates", "gpu_fpu_move_pkg.sv", "last[0] || lost", "last[0]"), "Right_A"),
    (Mutation("lost in simulation", "gpu_fpu_move_pkg.sv", "(moved << distance) != x", "1'b0"), "Right_A"),
    (
        Mutation("unbounded", "gpu_fpu_move_pkg.sv", "(m.bound == Even && m.exponent[3:0] < distance)", "1'b0"),
        "Left_A",
    ),
    (Mutation("a zero too few", "gpu_fpu_move_pkg.sv", "rest[14:11] == '0", "rest[14:10] == '0"), "Left_A"),
]


def test_both_forms_are_the_same() -> None:
    MOVES.prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("mutation", "claim"), MUTATIONS, ids=lambda value: getattr(value, "name", value))
def test_a_mistake_is_found(mutation: Mutation, claim: str) -> None:
    assert any(name.endswith(claim) for name in MOVES.refute(mutation))
