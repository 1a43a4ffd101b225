# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams from slot to slot: what is sent arrives once, in order, where it belongs, and nobody else is held up."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

FILES = ROOT / "hw" / "ip" / "stream_link" / "stream_link.f"
PROOFS = {
    "port": Proof("stream_port_proof", FILES, depth=2),
    "link": Proof("stream_link_proof", FILES, depth=2, own_assertions=False),
}
MISTAKES = [
    ("port", Mutation("words stay", "stream_port.sv", "if (!rst_ni || !send_connected_i) begin", "if (!rst_ni) begin")),
    (
        "port",
        Mutation("a word twice", "stream_port.sv", "if (word_valid_o && word_ready_i) read_q", "if (1'b0) read_q"),
    ),
    (
        "port",
        Mutation(
            "a word lost", "stream_port.sv", "if (push) write_q <= write_q + ptr_t'(1)", "if (push) write_q <= write_q"
        ),
    ),
    (
        "port",
        Mutation("over the brim", "stream_port.sv", "write_q - read_q != ptr_t'(Depth);", "1'b1;"),
    ),
    (
        "port",
        Mutation(
            "bytes without strobe",
            "stream_port.sv",
            "req_i.w.strb[i] ? req_i.w.data[8*i+:8] : 8'd0",
            "req_i.w.data[8*i+:8]",
        ),
    ),
    (
        "port",
        Mutation(
            "an old burst",
            "stream_port.sv",
            "!send_refused_q && !aw_stale_q && !send_set_i && aw",
            "!send_refused_q && !send_set_i && aw",
        ),
    ),
    (
        "port",
        Mutation(
            "an old read",
            "stream_port.sv",
            "!receive_refused_q && !ar_stale_q && !receive_set_i",
            "!receive_refused_q && !receive_set_i",
        ),
    ),
    ("port", Mutation("waits for nobody", "stream_port.sv", "(r_error || over_q || (receive", "(r_error || (receive")),
    (
        "port",
        Mutation(
            "between memory's answers", "stream_port.sv", "w_step_q == Rest && writes_q == '0", "w_step_q == Rest"
        ),
    ),
    (
        "port",
        Mutation("a stream to memory", "stream_port.sv", "aw_pass = aw_valid_q && !aw_mine_q", "aw_pass = aw_valid_q"),
    ),
    (
        "link",
        Mutation("any key", "stream_link.sv", "receive_key[j] == send_key[k] && !receive_set[j]", "!receive_set[j]"),
    ),
    (
        "link",
        Mutation(
            "connected as it is set", "stream_link.sv", "&& !receive_set[j] && !send_set[k]", "&& !receive_set[j]"
        ),
    ),
    ("link", Mutation("one end is enough", "stream_link.sv", "&& send_to[k] == 4'(j)) begin", ") begin")),
    ("link", Mutation("at once", "stream_link.sv", "joined_q[j] && fits[j]", "fits[j]")),
]


@pytest.mark.parametrize("name", PROOFS)
def test_every_claim_holds(name: str) -> None:
    PROOFS[name].prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value))
def test_a_mistake_is_found(name: str, mistake: Mutation) -> None:
    assert PROOFS[name].refute(mistake)
