# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams of imported kernels lose no byte, double none, and write none outside their buffers; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

FILES = ROOT / "hw" / "ip" / "kernel_stream" / "kernel_stream.f"
INWARD = Proof("kernel_unpack_proof", FILES, depth=2)
PACKED = Proof("kernel_pack_proof", FILES, depth=2)
WHOLE_WORDS = Proof("kernel_pack_proof", FILES, depth=2, parameters={"Bytes": 8})
"""With beats of a word, a mistake shows in fewer cycles."""
OUTWARD = Proof("kernel_stream_out_proof", FILES, depth=2)
INWARD_MISTAKES = [
    Mutation("an offer goes", "kernel_unpack.sv", "if (!valid_q || tready_i) valid_q <= send;", "valid_q <= send;"),
    Mutation("a part too early", "kernel_unpack.sv", "(last_q && 10'(fill_q)", "(10'(fill_q) + 1"),
    Mutation("a last beat too early", "kernel_unpack.sv", "left_q <= 32'(2 * Bytes)", "left_q <= 32'(3 * Bytes)"),
    Mutation("a word over others", "kernel_unpack.sv", "(32'(rest_fill) * 8 * Unit)", "(32'(fill_q) * 8 * Unit)"),
]


def test_what_goes_to_a_kernel_is_what_memory_holds() -> None:
    INWARD.prove()


@pytest.mark.parametrize("mistake", INWARD_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_toward_the_kernel_is_found(mistake: Mutation) -> None:
    assert INWARD.refute(mistake)


PACKED_MISTAKES = [
    Mutation("a byte beyond", "kernel_pack.sv", "fits ? amount_q : amount_t'(room_q)", "amount_q"),
    Mutation("a word twice", "kernel_pack.sv", "rest = held_q >> 64;", "rest = held_q;"),
    Mutation("a strobe beyond", "kernel_pack.sv", "strb_o = ~(8'hFF << moved_q[2:0]);", "strb_o = '1;"),
]
OUTWARD_MISTAKES = [
    Mutation(
        "a burst too far", "kernel_stream_out.sv", "{at_q, 3'd0}, len: 8'(burst) - 8'd1", "{at_q, 3'd0}, len: 8'(burst)"
    ),
    Mutation(
        "a burst cut short",
        "kernel_stream_out.sv",
        "open_q != 4'(MaxOpen) && (fill_q",
        "open_q != 4'(MaxOpen) && (5'd1 + fill_q",
    ),
]


def test_what_a_kernel_sends_is_what_words_hold() -> None:
    PACKED.prove()


@pytest.mark.parametrize("mistake", PACKED_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_in_words_is_found(mistake: Mutation) -> None:
    assert WHOLE_WORDS.refute(mistake)


def test_words_lie_in_the_buffer_alone() -> None:
    OUTWARD.prove()


@pytest.mark.parametrize("mistake", OUTWARD_MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_in_bursts_is_found(mistake: Mutation) -> None:
    assert OUTWARD.refute(mistake)
