# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams of imported kernels lose no byte, double none, and write none outside their buffers; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

FILES = ROOT / "hw" / "ip" / "kernel_stream" / "kernel_stream.f"
INWARD = Proof("kernel_unpack_proof", FILES, depth=2)
INWARD_MISTAKES = [
    Mutation("an offer goes", "kernel_unpack.sv", "if (!valid_q || tready_i) valid_q <= send;", "valid_q <= send;"),
    Mutation("a part too early", "kernel_unpack.sv", "(last && 32'(fill_q)", "(32'(fill_q) + 1"),
    Mutation("a word over others", "kernel_unpack.sv", "(32'(rest_fill) * 8 * Unit)", "(32'(fill_q) * 8 * Unit)"),
]


def test_what_goes_to_a_kernel_is_what_memory_holds() -> None:
    INWARD.prove()


@pytest.mark.parametrize("mistake", INWARD_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_toward_the_kernel_is_found(mistake: Mutation) -> None:
    assert INWARD.refute(mistake)
