# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The second-level cache of a GPU cluster by itself: a small one, so that lines are thrown out; and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

FOLDER = Path(__file__).parent
BENCH = Bench(
    "gpu_l2",
    ROOT / "hw/ip/gpu_l2/gpu_l2.f",
    parameters={"Bytes": 512, "Readers": 4, "Lines": 6, "Each": 4, "Writes": 3},
)

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("gpu_cache")]


def test_random_traffic() -> None:
    BENCH.run("cocotb_gpu_l2", FOLDER)


MISTAKES = [
    Mutation("found before all are gone", "gpu_l2_walk.sv", " | {2**ContextWidth{all_q}};", ";"),
    Mutation("flush waits for no write", "gpu_l2.sv", ".mark_i(flush_i && !flush_busy_o)", ".mark_i(1'b0)"),
    Mutation("any context hits", "gpu_l2.sv", "entry1_q.owner == ax_q.user", "1'b1"),
    Mutation("reads pass writes", "gpu_l2.sv", "|| write_conflict ||", "||"),
    Mutation("hits pass misses", "gpu_l2_fills.sv", "waits_q[start_id_i] != '0;", "1'b0;"),
    Mutation(
        "parked lose ways", "gpu_l2_fills.sv", "if (busy[p] && keep_q[p]", "if (!parked_q[p] && busy[p] && keep_q[p]"
    ),
    Mutation("turns not passed", "gpu_l2_fills.sv", "|| (ends && beat_id_i == reader)", ""),
    Mutation("mixed up", "gpu_l2.sv", "!(state_q == Stream && rsp_i.r.id == ax_q.id)", "1'b1"),
    Mutation("forgotten as a walk begins", "gpu_l2_walk.sv", "        asked_q <= forget_i;", "        asked_q <= '0;"),
    Mutation(
        "flushed as a walk begins",
        "gpu_l2_walk.sv",
        "range_asked_q <= flush_i && !flush_busy_o;",
        "range_asked_q <= 1'b0;",
    ),
]


@pytest.mark.mutant
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_gpu_l2", FOLDER)
