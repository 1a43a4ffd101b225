# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No store of a GPU core is lost in its store buffer, and a fence is told of all that have not landed; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof, ProofFailed

pytestmark = pytest.mark.formal

FILES = ROOT / "hw/ip/gpu_cache/gpu_cache.f"
STORES = Proof("gpu_store_buffer_proof", FILES, depth=2, own_assertions=False)
MORE = Proof("gpu_store_buffer_proof", FILES, depth=2, parameters={"Gather": 2}, own_assertions=False)
SENT = "gpu_stores_sent.sv"
MISTAKES = (
    Mutation("a bucket knows its last line alone", SENT, "(last.many || last.mark != mark_of(line_i))", "last.many"),
    Mutation(
        "a bucket forgets that there are more",
        SENT,
        "(last.many || last.mark != mark_of(line_i))",
        "last.mark != mark_of(line_i)",
    ),
    Mutation(
        "all of a bucket is answered at once",
        SENT,
        "return !behind_oldest",
        "return number == oldest_q && !behind_oldest",
    ),
    Mutation("beats of one store alone", "gpu_store_buffer.sv", "(joins ? beats_ram[into] : '0) |", "'0 |"),
    Mutation("a leaving line takes stores", "gpu_store_buffer.sv", "if (leaves_q) open[send_q] = 1'b0;", ""),
    Mutation("a store instead of the other", "gpu_store_buffer.sv", "(joins ? strb_ram[into] : '0) | stored", "stored"),
    Mutation("forgotten as it leaves", "gpu_store_buffer.sv", ".send_i(send)", ".send_i(1'b0)"),
    Mutation("sent is landed", "gpu_store_buffer.sv", "conflict_o = waits_o || told", "conflict_o = waits_o"),
    Mutation("nothing waits", "gpu_store_buffer.sv", "waiting_q == '0 && none_sent", "waiting_q == '0"),
    Mutation("a fence waits for age", "gpu_store_buffer.sv", "(flush_i || io_q", "(io_q"),
    Mutation("a full ring", "gpu_store_buffer.sv", "joins || waiting_q != '1", "1'b1"),
    Mutation("a beat left out", "gpu_store_buffer.sv", "stored[8*b+:8] != '0", "stored[8*b+:4] != '0"),
    Mutation(
        "one word twice",
        "gpu_store_buffer.sv",
        "gpu_lines_pkg::bank_of({wr_beat_i, 1'b1}",
        "gpu_lines_pkg::bank_of({wr_beat_i, 1'b0}",
    ),
)


@pytest.mark.parametrize("proof", [STORES, MORE], ids=["one gathers", "two gather"])
def test_no_store_is_lost(proof: Proof) -> None:
    proof.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_store_that_is_lost_is_found(mistake: Mutation) -> None:
    assert STORES.refute(mistake)


@pytest.mark.mutant
def test_more_lines_than_fit_are_found() -> None:
    """To fill memory's queue takes longer than a trace from reset: the claim is no longer inductive."""
    with pytest.raises(ProofFailed, match="RoomForWhatLeaves_A"):
        STORES.prove(Mutation("no end", SENT, "!count_q[IndexWidth] && count_q[IndexWidth-1:0] != '1", "1'b1"))
