# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No store of a GPU core is lost in its store buffer, and a fence is told of all that have not landed; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

FILES = ROOT / "hw/ip/gpu_cache/gpu_cache.f"
STORES = Proof("gpu_store_buffer_proof", FILES, depth=2, own_assertions=False)
MORE = Proof("gpu_store_buffer_proof", FILES, depth=2, parameters={"Lines": 4, "Gather": 2}, own_assertions=False)
MISTAKES = (
    Mutation("a leaving line takes stores", "gpu_store_buffer.sv", "if (wr_valid_o) open[send_q] = 1'b0;", ""),
    Mutation("a store instead of the other", "gpu_store_buffer.sv", "(joins ? strb_ram[into] : '0) | stored", "stored"),
    Mutation("forgotten as it leaves", "gpu_store_buffer.sv", "sent_q[send_q] <= 1'b1;", "used_q[send_q] <= 1'b0;"),
    Mutation("sent is landed", "gpu_store_buffer.sv", "same[e] = used_q[e]", "same[e] = used_q[e] && !sent_q[e]"),
    Mutation("nothing waits", "gpu_store_buffer.sv", "empty_o = used_q == '0", "empty_o = waiting_q == '0"),
    Mutation("a fence waits for age", "gpu_store_buffer.sv", "(flush_i || leaving_q", "(leaving_q"),
    Mutation("a full ring", "gpu_store_buffer.sv", "joins || !used_q[tail_q]", "1'b1"),
    Mutation("a beat left out", "gpu_store_buffer.sv", "stored[8*b+:8] != '0", "stored[8*b+:4] != '0"),
    Mutation(
        "one word twice",
        "gpu_store_buffer.sv",
        "gpu_lines_pkg::bank_of({wr_beat_i, 1'b1}",
        "gpu_lines_pkg::bank_of({wr_beat_i, 1'b0}",
    ),
)


@pytest.mark.parametrize("proof", [STORES, MORE], ids=["two lines", "four lines"])
def test_no_store_is_lost(proof: Proof) -> None:
    proof.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_store_that_is_lost_is_found(mistake: Mutation) -> None:
    assert STORES.refute(mistake)
