# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A fence of a GPU core waits for its stores and forgets what was read before; proved of the data cache."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof, ProofFailed

pytestmark = pytest.mark.formal

FENCES = Proof("gpu_dcache_proof", ROOT / "hw/ip/gpu_cache/gpu_cache.f", depth=2, own_assertions=False)
CACHE = "gpu_dcache.sv"
FORGETS = "(clear_i || end_fence || amo_finish_drop) begin"
MISTAKES = (
    Mutation(
        "a fence waits for no line", CACHE, "!valid_q && !parked_any && !fills_any && sb_empty", "!valid_q && sb_empty"
    ),
    Mutation("a fence waits for no store", CACHE, "!fills_any && sb_empty && rsp_free", "!fills_any && rsp_free"),
    Mutation("asked for too early", CACHE, "&& !coming && !sb_waits && room", "&& !coming && room"),
    Mutation("asked for before it landed", "gpu_stores_sent.sv", "held_q <= told_o", "held_q <= 1'b0"),
    Mutation("stored while it comes", CACHE, "(sb_ready && !coming &&", "(sb_ready &&"),
    Mutation("two lines come one way", CACHE, "if (taken[way]) way = !way;", ""),
)


def test_a_fence_means_what_it_says() -> None:
    FENCES.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_fence_that_lies_is_found(mistake: Mutation) -> None:
    assert FENCES.refute(mistake)


@pytest.mark.mutant
@pytest.mark.parametrize("forgets", ["(clear_i) begin", "(end_fence) begin"])
def test_a_line_from_before_is_found(forgets: str) -> None:
    """A load, its line and a fence take longer than a trace from reset: the claim is no longer inductive."""
    with pytest.raises(ProofFailed, match="HereWasAsked_A"):
        FENCES.prove(Mutation("forgets nothing", CACHE, FORGETS, forgets))


@pytest.mark.mutant
def test_a_line_that_is_held_for_one_answer_is_found() -> None:
    """Two stores, their answers and a load take longer than a trace from reset, too."""
    with pytest.raises(ProofFailed, match="HeldUntilItLands_A"):
        FENCES.prove(Mutation("one answer", "gpu_stores_sent.sv", "(oldest_q == limit_q) held_q", "(done_i) held_q"))
