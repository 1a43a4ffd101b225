# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the streams between slots, and sees that it finds mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("stream_link_bench", HERE / "stream_link_bench.f")
MISTAKES = [
    Mutation(
        "order not looked at", "stream_port.sv", "aw_in_order = aw_q.addr == {send_place_q, 3'd0} &&", "aw_in_order ="
    ),
    Mutation(
        "reader not looked at",
        "stream_port.sv",
        "ar_in_order = ar_q.addr == {receive_place_q, 3'd0} &&",
        "ar_in_order =",
    ),
    Mutation("an end is forgotten", "stream_port.sv", "if (end_i) send_ended_q <= 1'b1;", ""),
    Mutation("no memory after the end", "stream_port.sv", "&& !(send_ended_q && !send_set_i) ", ""),
    Mutation("another's word", "stream_link.sv", "from_word = word[i];", "from_word = word[0];"),
]


@pytest.mark.rtl
def test_stream_link() -> None:
    BENCH.run("cocotb_stream_link", HERE)


@pytest.mark.rtl
@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_stream_link", HERE)
