# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What crosses between two clocks, with both clocks at once: proved, and shown to be worth something by mistakes."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

FIFO = ROOT / "hw/ip/async_fifo/async_fifo.f"
LEVEL = Proof("sync_bit_proof", FIFO, depth=3)
RESETS = Proof("reset_pair_proof", ROOT / "hw/ip/axi_cdc/axi_cdc.f", depth=3, clocks=2)


def fifo(depth: int) -> Proof:
    """The proof of a FIFO that holds so many words."""
    return Proof("async_fifo_proof", FIFO, depth=3, parameters={"Depth": depth}, clocks=2)


WRITING, READING = "write_up_q && write_gray_q != (read_gray_sync_q ^ LapMask)", "read_gray_q != write_gray_sync_q"
ANSWERED = "!acknowledge && (clear_i || wanted_q)"
WANTED = "acknowledge && (clear_i || wanted_q)"
MISTAKES = [
    (fifo(2), Mutation("overwritten", "async_fifo.sv", WRITING, "write_up_q")),
    (fifo(2), Mutation("made up", "async_fifo.sv", f"valid_o = {READING}", "valid_o = 1'b1")),
    (fifo(2), Mutation("written unasked", "async_fifo.sv", "if (valid_i && ready_o) mem_q", "if (valid_i) mem_q")),
    (fifo(2), Mutation("read twice", "async_fifo.sv", "read_q <= read_next;", "read_q <= read_q;")),
    (fifo(2), Mutation("before reset ends", "async_fifo.sv", "write_up_q <= 1'b0;", "write_up_q <= 1'b1;")),
    (fifo(2), Mutation("one flop to write", "async_fifo.sv", "sync_q <= read_gray_meta_q;", "sync_q <= read_gray_q;")),
    (fifo(2), Mutation("one flop to read", "async_fifo.sv", "sync_q <= write_gray_meta_q;", "sync_q <= write_gray_q;")),
    (LEVEL, Mutation("one flop", "sync_bit.sv", "assign q_o = sync_q[1];", "assign q_o = sync_q[0];")),
    (LEVEL, Mutation("none", "sync_bit.sv", "assign q_o = sync_q[1];", "assign q_o = d_i;")),
    (RESETS, Mutation("not waited for", "reset_pair.sv", "clear_i || !acknowledge", "clear_i")),
    (RESETS, Mutation("left early", "reset_pair.sv", "request_q || acknowledge", "request_q")),
    (RESETS, Mutation("lost within a reset", "reset_pair.sv", f"wanted_q <= {WANTED}", "wanted_q <= 1'b0")),
    (RESETS, Mutation("asked again", "reset_pair.sv", f"request_q <= {ANSWERED}", "request_q <= clear_i || wanted_q")),
]


# The engine's FIFOs: orders and reports, and beats; and one between.
@pytest.mark.parametrize("proof", [fifo(1), fifo(4), fifo(16), LEVEL, RESETS], ids=lambda proof: proof.top)
def test_every_claim_holds(proof: Proof) -> None:
    proof.prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("proof", "mistake"), MISTAKES, ids=[mistake.name for _, mistake in MISTAKES])
def test_a_mistake_is_found(proof: Proof, mistake: Mutation) -> None:
    assert proof.refute(mistake)
