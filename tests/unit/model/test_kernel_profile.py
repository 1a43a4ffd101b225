# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Profiles of kernels: cycles by cause add up, bounds are the cluster's, advice follows from facts, gaps are said."""

from __future__ import annotations

import random
import re

import pytest
from eddy.core.counters import CoreCounters
from eddy.core.profiles import ClusterBounds, KernelTotals, LaunchShape
from eddy.model.kernel_profile import CAUSES, cycle_parts, profile

BOUNDS = ClusterBounds(4, 4, 8, 100e6, 64, 3.2e9)
FULL = LaunchShape((1024,), (8,), 1.0, 4)


def counters(issued: tuple[int, ...], **others: int) -> CoreCounters:
    """Of a core that issued so often with 1, 2, ... lanes, and stalled as said; 10 cycles more are start and end."""
    total, others = sum(issued), {"stall_memory": 0, **others}
    stalls = sum(count for name, count in others.items() if name.startswith(("stall", "replay")))
    return CoreCounters(total + stalls + 10, total, total, issued, tuple(others.items()))


def work(counted: CoreCounters | None, shape: LaunchShape | None = FULL) -> KernelTotals:
    """Of one launch."""
    return KernelTotals("k", "gpu_4c4w8t", 1, 0.1, counted, shape)


def test_cycles_by_cause_add_up_and_idle_lanes_are_split_by_what_the_range_leaves_empty() -> None:
    draw = random.Random(5)
    names = ("stall_memory", "stall_barrier", "stall_unit", "stall_fetch", "stall_pipeline", "replays")
    for _ in range(200):
        issued = tuple(draw.randrange(1000) for _ in range(8))
        counted = counters(issued, **{name: draw.randrange(1000) for name in names})
        shape = LaunchShape((9,), (9,), draw.choice([1.0, 0.5, 0.25]), 1)
        parts = cycle_parts(counted, 8, shape)
        assert set(parts) == set(CAUSES) - {"idle-lanes"}
        assert sum(parts.values()) == pytest.approx(counted.cycles)
        assert min(parts.values()) >= 0
        together = cycle_parts(counted, 8, None)
        assert together["idle-lanes"] == pytest.approx(parts["divergence"] + parts["empty-lanes"])
        assert parts["issue"] == pytest.approx(sum(x * n for x, n in enumerate(issued, 1)) / 8)


def test_what_was_not_counted_is_unknown_and_never_zero() -> None:
    of_the_model = CoreCounters(5000, 0, 0, (0,) * 8)
    for counted in (None, of_the_model, CoreCounters(5000, 10, 10, (0,) * 7 + (10,))):
        found = profile(work(counted), BOUNDS)
        assert (found.cycles, found.parts, found.roofline, found.advice) == (None, {}, None, ())
    counted = counters((0,) * 7 + (100,), line_reads=10, line_writes=0)
    found = profile(work(counted), ClusterBounds(4, 4, 8, 100e6, 64))
    assert found.roofline is not None
    assert found.roofline.memory_bound is None
    assert profile(work(counters((0,) * 7 + (100,), line_reads=0)), BOUNDS).roofline.operations_per_byte is None  # type: ignore[union-attr]


def test_the_roofline_is_the_lower_of_what_cores_issue_and_what_memory_gives() -> None:
    assert BOUNDS.memory_bytes_per_cycle == pytest.approx(8.0)
    few = profile(work(counters((0,) * 7 + (80,), line_reads=20, stall_memory=70)), BOUNDS).roofline
    many = profile(work(counters((0,) * 7 + (800,), line_reads=2, stall_memory=70)), BOUNDS).roofline
    assert few is not None
    assert many is not None
    assert few.operations_per_byte == pytest.approx(640 / 1280)
    assert few.bound == pytest.approx(4.0)
    assert few.bound_by == "memory"
    assert few.operations_per_cycle == pytest.approx(640 / 160)
    assert (many.bound, many.bound_by) == (8.0, "issue")


@pytest.mark.parametrize(
    ("counted", "shape", "said"),
    [
        (
            counters((0, 0, 0, 100, 0, 0, 0, 0)),
            LaunchShape((4, 256), (4, 1), 0.5, 4),
            "rows of 4, .*8 lanes: use a flat",
        ),
        (
            counters((0, 0, 0, 100, 0, 0, 0, 0)),
            LaunchShape((1024,), (4,), 0.5, 4),
            "groups of 4 leave .* multiple of 8",
        ),
        (counters((50, 0, 0, 0, 0, 0, 0, 50)), FULL, "different ways"),
        (counters((0,) * 7 + (50,), stall_memory=50, loads=10, data_misses=60), FULL, "60 lines .* by 10 loads"),
        (counters((0,) * 7 + (50,), stall_memory=50), LaunchShape((8,), (8,), 1.0, 1), "1 of a core's 4 warps"),
        (counters((0,) * 7 + (50,), stall_memory=50), FULL, "local memory"),
        (counters((0,) * 7 + (50,), stall_barrier=50), FULL, "barrier"),
        (counters((0,) * 7 + (50,), stall_unit=50), FULL, "reciprocal"),
        (counters((0,) * 7 + (50,), stall_fetch=50), FULL, "instruction cache"),
        (counters((0,) * 7 + (50,), stall_pipeline=50), FULL, "side by side"),
        (counters((0,) * 7 + (50,), replays=50, loads=10, data_hits=27), FULL, "2.7 reads .* neighbouring words"),
        (counters((0,) * 7 + (50,), replays=50, loads=10, data_hits=10), FULL, "slow unit was busy"),
    ],
)
def test_the_largest_loss_is_told_first_with_its_facts(counted: CoreCounters, shape: LaunchShape, said: str) -> None:
    first, *_ = profile(work(counted, shape), BOUNDS).advice
    assert re.search(said, first), first


def test_a_kernel_at_its_bound_is_told_so_and_small_losses_are_not() -> None:
    assert profile(work(counters((0,) * 7 + (5000,), stall_memory=100)), BOUNDS).advice == (
        "It runs at 98% of its bound, what its cores issue.",
    )


def test_launches_add_up() -> None:
    idle = CoreCounters(0, 0, 0, (0,) * 8)
    once = counters((0,) * 7 + (10,), loads=3)
    both = KernelTotals("k", "m", 0, 0.0).add(0.5, (once, idle), FULL).add(0.25, (idle, once), FULL)
    assert (both.launches, both.core_s, both.shape) == (2, 0.75, FULL)
    assert both.counters == once.add_counters(once)
