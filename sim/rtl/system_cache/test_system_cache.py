# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the shared cache, small and at the size of a board, and shows that it finds mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
SIZES = {
    "small": {"CacheBytes": 1024, "Ways": 2, "Fetches": 4, "MaxWrites": 4, "MaxBeats": 16},
    "board": {"CacheBytes": 32768, "Ways": 4, "Fetches": 8, "MaxWrites": 16, "MaxBeats": 64},
}
JOINED = "if (r_valid_i && r_index_i == same_index) resp_q[i][r_word_o] <= r_resp_i;"
MISTAKES = [
    Mutation("an error as a read joins", "cache_fetches.sv", JOINED, ""),
    Mutation("a word as a read joins", "cache_fetches.sv", "| (r_index_i == same_index ? arrived : '0);", ";"),
]


def bench(size: str) -> Bench:
    return Bench(
        "system_cache_bench",
        ROOT / "hw/ip/system_cache/system_cache.f",
        sources=(HERE / "system_cache_bench.sv",),
        parameters=SIZES[size],
    )


@pytest.mark.rtl
@pytest.mark.parametrize("size", SIZES)
def test_system_cache(size: str) -> None:
    bench(size).run("cocotb_system_cache", HERE)


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        bench("small").broken(mistake, tmp_path).run(
            "cocotb_system_cache", HERE, ["an_error_reaches_who_joins_the_fetch"]
        )
