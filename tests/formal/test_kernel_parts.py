# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An imported kernel's bursts reach memory in parts that cover what they name, and no more; proved."""

from __future__ import annotations

import dataclasses

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

PARTS = Proof("kernel_parts_proof", ROOT / "hw" / "ip" / "kernel_port" / "kernel_port.f", depth=2)
WIDE = dataclasses.replace(PARTS, memory_bits=128)
MUTATIONS = [
    Mutation("a boundary too far", "kernel_parts.sv", "~4'(addr_q[BeatBits+3:0] >> unit_q)", "4'd15"),
    Mutation("a word too many", "kernel_parts.sv", "total = total - 13'(wide[6:BeatBits] & words_mask(size_i));", ""),
    Mutation("locked ones go", "kernel_parts.sv", "burst_i[1] || lock_i ||", "burst_i[1] ||"),
]


@pytest.mark.parametrize("proof", [PARTS, WIDE], ids=["64", "128"])
def test_every_claim_holds(proof: Proof) -> None:
    proof.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_is_found(mutation: Mutation) -> None:
    assert PARTS.refute(mutation)


@pytest.mark.mutant
def test_a_mistake_of_wide_ports_is_found() -> None:
    assert WIDE.refute(Mutation("words of 64 bits", "kernel_parts.sv", "<< (5 - BeatBits)", "<< 2"))
