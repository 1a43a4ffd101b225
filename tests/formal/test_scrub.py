# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a reset leaves of an accelerator's wrapper tells nothing, proved; and what its blocks would leave if broken."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

SCRUB = Proof("scrub_proof", ROOT / "hw/ip/hls_wrapper/hls_wrapper.f", depth=3)
MISTAKES = (
    Mutation("interrupts stay", "hls_ctrl.sv", "      isr_q   <= '0;\n", ""),
    Mutation("arguments stay", "hls_ctrl.sv", "      scalars_o  <= '0;\n", ""),
    Mutation("a status stays", "hls_ctrl.sv", "      status_q       <= '0;\n", ""),
    Mutation("half a write stays", "hls_ctrl.sv", "      aw_held_q      <= 1'b0;\n      w_held_q       <= 1'b0;\n", ""),
    Mutation("words stay", "hls_fifo.sv", "if (!rst_ni || clear_i) begin", "if (clear_i) begin"),
)


def test_a_reset_wrapper_tells_nothing() -> None:
    SCRUB.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_wrapper_that_keeps_something_is_refuted(mistake: Mutation) -> None:
    assert SCRUB.refute(mistake)
