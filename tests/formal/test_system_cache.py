# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The promises of the shared cache, proved on the smallest one, and shown to be worth something by breaking it."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

FILES = ROOT / "hw" / "ip" / "system_cache" / "system_cache.f"
GROUPS = ("inside", "coming", "flush", "watched", "reads", "writes", "held")
PROOFS = {
    name: Proof("system_cache_proof", FILES, depth=2, parameters={"Claims": claims})
    for claims, name in enumerate(GROUPS)
}
MUTATIONS = [
    ("coming", Mutation("writes ignored", "system_cache.sv", "blocked = written || flushed", "blocked = flushed")),
    ("flush", Mutation("fetches ignored", "cache_fetches.sv", "(flush_i && line_q", "(1'b0 && line_q")),
]


@pytest.mark.parametrize("name", PROOFS)
def test_every_claim_holds(name: str) -> None:
    PROOFS[name].prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("name", "mutation"), MUTATIONS, ids=lambda value: getattr(value, "name", value))
def test_a_mistake_is_found(name: str, mutation: Mutation) -> None:
    assert PROOFS[name].refute(mutation)
