# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An imported kernel's bursts reach memory in parts that cover what they name, and no more; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

PARTS = Proof("kernel_parts_proof", ROOT / "hw" / "ip" / "kernel_port" / "kernel_port.f", depth=2)
MUTATIONS = [
    Mutation("a boundary too far", "kernel_parts.sv", "~4'(addr_q[6:0] >> unit_q)", "4'd15"),
    Mutation("a word too many", "kernel_parts.sv", "total = total - 13'(wide[6:3] & words_mask(size_i));", ""),
    Mutation("locked ones go", "kernel_parts.sv", "burst_i[1] || lock_i ||", "burst_i[1] ||"),
]


def test_every_claim_holds() -> None:
    PARTS.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_is_found(mutation: Mutation) -> None:
    assert PARTS.refute(mutation)
