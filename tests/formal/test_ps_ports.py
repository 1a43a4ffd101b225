# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a tenant can say toward the processing system's memory: proved, and shown to be worth something by mistakes."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

PROOF = Proof("ps_hp_proof", ROOT / "hw/ip/ps_hp/ps_hp.f", depth=2, own_assertions=False)
MISTAKES = [
    Mutation("secure", "ps_hp.sv", "Prot = 3'b010", "Prot = 3'b000"),
    Mutation("coherent", "ps_hp.sv", "Cache = 4'b0011", "Cache = 4'b1111"),
]


def test_every_claim_holds() -> None:
    PROOF.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation) -> None:
    assert PROOF.refute(mistake)
