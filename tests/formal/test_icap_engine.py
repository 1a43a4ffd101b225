# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the configuration engine reads and writes: proved, and shown to be worth something by mistakes."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

ENGINE = ROOT / "hw/ip/icap_engine/icap_engine.f"
READER = Proof("icap_reader_proof", ENGINE, depth=2, own_assertions=False)
PORT = Proof("icap_port_proof", ENGINE, depth=3, own_assertions=False)
ROOM = "reserved_q + (ask ? count_t'(length) : '0) - count_t'(free)"
MISTAKES = [
    (READER, Mutation("last page missed", "icap_reader.sv", "page <= last_page_i", "page <= last_page_i + 28'd1")),
    (READER, Mutation("no room", "icap_reader.sv", ROOM, "reserved_q")),
    (READER, Mutation("told twice", "icap_reader.sv", "|| (beat_valid_o && beat_ready_i && held_q == '0)", "")),
    (READER, Mutation("request withdrawn", "icap_reader.sv", "if (ar_ready_i) ar_valid_q", "if (stop_i) ar_valid_q")),
    (PORT, Mutation("a word too many", "icap_port.sv", "state_q == Write && more_q", "state_q == Write")),
    (PORT, Mutation("abort without a word", "icap_port.sv", "rdwrb_q <= abort_q != '0", "rdwrb_q <= 1'b1")),
    (PORT, Mutation("not heard", "icap_port.sv", "if (stop_i) state_q <= Close;", "if (1'b0) state_q <= Close;")),
    (PORT, Mutation("left open unsaid", "icap_port.sv", "open_q <= 1'b1;", "open_q <= 1'b0;")),
    (PORT, Mutation("bits as they are", "icap_port.sv", "word[8*b+7-k]", "word[8*b+k]")),
]


@pytest.mark.parametrize("proof", [READER, PORT], ids=lambda proof: proof.top)
def test_every_claim_holds(proof: Proof) -> None:
    proof.prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("proof", "mistake"), MISTAKES, ids=[mistake.name for _, mistake in MISTAKES])
def test_a_mistake_is_found(proof: Proof, mistake: Mutation) -> None:
    assert proof.refute(mistake)
