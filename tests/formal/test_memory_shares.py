# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What bounds a slot's use of memory, proved: the token bucket, turns at the crossbar; what goes in parts ends."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Z3, Mutation, Proof, ProofFailed

pytestmark = pytest.mark.formal

IP = ROOT / "hw" / "ip"
PROOFS = {
    "owed-split": Proof("owed_split_proof", IP / "burst_split" / "burst_split.f", depth=2, own_assertions=False),
    "bucket": Proof("regulator_proof", IP / "regulator" / "regulator.f", depth=2, solver=Z3),
    "wide bucket": Proof("regulator_proof", IP / "regulator" / "regulator.f", depth=2, solver=Z3, memory_bits=128),
    "turns of three": Proof("fair_turns_proof", IP / "mem_xbar" / "mem_xbar.f", depth=2, parameters={"NumSlots": 3}),
    "turns of ten": Proof("fair_turns_proof", IP / "mem_xbar" / "mem_xbar.f", depth=2, parameters={"NumSlots": 10}),
}
MUTATIONS = [
    ("owed-split", Mutation("answered early", "burst_split.sv", "rsp_i.b_valid && b_last", "rsp_i.b_valid")),
    (
        "bucket",
        Mutation(
            "narrow beats are cheap",
            "regulator.sv",
            "-= (beats_t'(ax.len) + beats_t'(1))",
            "-= (beats_t'(ax.len) + beats_t'(1)) >> (3'd3 - ax.size)",
        ),
    ),
    (
        "wide bucket",
        Mutation(
            "a beat has 8 bytes",
            "regulator.sv",
            "beats_held = tokens_q[TokenWidth-1:FractionBits+BeatBits];",
            "beats_held = beats_t'(tokens_q[TokenWidth-1:FractionBits+3]);",
        ),
    ),
    ("bucket", Mutation("reads are free", "regulator.sv", "if (admit && enable_i)", "if (admit && enable_i && write)")),
    ("turns of three", Mutation("all cost the same", "fair_turns.sv", "credit_t'({1'b0, cost})", "credit_t'(1)")),
]


@pytest.mark.parametrize("name", PROOFS)
def test_every_claim_holds(name: str) -> None:
    PROOFS[name].prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("name", "mutation"), MUTATIONS, ids=lambda value: getattr(value, "name", value))
def test_a_mistake_is_found(name: str, mutation: Mutation) -> None:
    assert PROOFS[name].refute(mutation)


def test_assumptions_that_contradict_each_other_show_nothing() -> None:
    impossible = Mutation(
        "reset for ever", "fair_turns_proof.sv", "rst_ni == started_q", "rst_ni == started_q && !rst_ni"
    )
    with pytest.raises(ProofFailed, match="Assumptions are unsatisfiable"):
        PROOFS["turns of three"].prove(impossible)
