"""Runs the bench of the shared cache, small and at the size of a board."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench

HERE = Path(__file__).parent
SIZES = {
    "small": {"CacheBytes": 1024, "Ways": 2, "Fetches": 4, "MaxWrites": 4, "MaxBeats": 16},
    "board": {"CacheBytes": 32768, "Ways": 4, "Fetches": 8, "MaxWrites": 16, "MaxBeats": 64},
}


@pytest.mark.rtl
@pytest.mark.parametrize("size", SIZES)
def test_system_cache(size: str) -> None:
    bench = Bench(
        "system_cache_bench",
        ROOT / "hw/ip/system_cache/system_cache.f",
        sources=(HERE / "system_cache_bench.sv",),
        parameters=SIZES[size],
    )
    bench.run("cocotb_system_cache", HERE)
