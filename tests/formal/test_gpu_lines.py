# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lines of a GPU's caches: compared in gates as in a simulation, and every word in a place of its own; proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

LINES = Proof("gpu_lines_proof", ROOT / "hw/ip/gpu_cache/gpu_cache.f", depth=1, own_assertions=False)
MISTAKES = (
    Mutation("bits left out", "gpu_lines_pkg.sv", "apart[3*g+:3]", "apart[3*g+:2]"),
    Mutation("a carry lost", "gpu_lines_pkg.sv", "{Groups{1'b1}}}", "{Groups{1'b1}} << 1}"),
    Mutation("two words in one place", "gpu_lines_pkg.sv", "word[0] ^ word[3]", "word[0] & word[3]"),
    Mutation("words four apart meet", "gpu_lines_pkg.sv", "word[1:0] ^ word[3:2]", "word[1:0]"),
    Mutation("parts taken for each other", "gpu_lines_pkg.sv", "word >> $clog2(banks)", "word >> (1 + $clog2(banks))"),
)


def test_gates_and_simulation_tell_the_same() -> None:
    LINES.prove()


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_comparison_that_lies_is_refuted(mistake: Mutation) -> None:
    assert LINES.refute(mistake)
