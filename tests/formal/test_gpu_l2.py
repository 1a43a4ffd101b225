# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A second-level cache holds no line that was written since, and none of a context that was forgotten; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof, ProofFailed

pytestmark = pytest.mark.formal

STALE = Proof("gpu_l2_proof", ROOT / "hw/ip/gpu_l2/gpu_l2.f", depth=2, own_assertions=False)
MISTAKES = (
    (
        "NotReadWhileWritten_A",
        Mutation("read while written", "gpu_l2.sv", "read_conflict || write_conflict || full", "read_conflict || full"),
    ),
    (
        "NeitherHeldNorComing_A",
        Mutation("kept though written", "gpu_l2_fills.sv", "(spoil_i && line_q[p] == spoil_line_i)", "1'b0"),
    ),
    (
        "NotReadWhileForgotten_A",
        Mutation("a forgotten context reads", "gpu_l2_walk.sv", "asked_q | now_q | {", "asked_q | {"),
    ),
    (
        "NoneComesBack_A",
        Mutation("kept though forgotten", "gpu_l2_fills.sv", "spoil_all_i || (spoil_i", "(spoil_i"),
    ),
)


def test_nothing_stale_is_held() -> None:
    STALE.prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("claim", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value))
def test_a_stale_line_is_found(claim: str, mistake: Mutation) -> None:
    """A walk, a read and a write take longer than a trace from reset: the claim is no longer inductive."""
    with pytest.raises(ProofFailed, match=claim):
        STALE.prove(mistake)
