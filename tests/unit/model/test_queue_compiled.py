# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The compiled loops of `eddy_slowdown`: what is shipped is built from its source, and agrees with numpy."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from eddy.model import eddy_slowdown, queue_compiled
from eddy.model.eddy_slowdown import EddySlowdown, QueueConstants, _NumpyCurves, _Tenant
from eddy.model.progress import ClusterEpoch
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters

TOOLS = Path(__file__).resolve().parents[3] / "tools"
CORES = 16
here = pytest.mark.skipif(queue_compiled.LIBRARY is None, reason="no shipped object runs on this machine")


def test_what_is_shipped_is_what_the_source_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    tool = importlib.import_module("native_kernels")
    assert tool.stale(tool.SHIPPED[2]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="objects are shipped for Linux")
def test_this_machine_uses_it() -> None:
    assert queue_compiled.LIBRARY is not None


def drawn(draw: random.Random) -> list[_Tenant]:
    """Tenants from idle to far beyond what the memory gives; some read nothing from it."""

    def power(low: float, high: float) -> float:
        return float(10 ** draw.uniform(low, high))

    return [
        _Tenant(
            work=power(-1, 3),
            waiting=power(-0.5, 1.5),
            requests=draw.choice((0.0, draw.uniform(0.1, 1.5))),
            idle_cycles=draw.uniform(20, 300),
            supply=power(-1.5, 0),
            instructions=power(0, 3),
        )
        for _ in range(draw.randint(1, 6))
    ]


@here
def test_numpy_comes_to_the_same_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eddy_slowdown, "_STEPS", 45)
    draw, constants, loaded = random.Random(3), QueueConstants(), 0
    for _ in range(200):
        tenants = drawn(draw)
        had = [draw.uniform(0.5, 6) for _ in tenants]
        index, most = draw.randrange(len(tenants)), draw.randint(1, CORES)
        own = tenants[index]
        compiled = queue_compiled.Curves(tenants, had, CORES, constants.wait_cycles)
        alone, seen, curve = compiled.of(index, most, own)
        wanted = _NumpyCurves(tenants, had, CORES, constants).of(index, most, own)
        assert [alone, seen, *curve] == pytest.approx([wanted[0], wanted[1], *wanted[2]], rel=1e-3, abs=1e-12)
        assert curve[0] == 0
        assert curve[most:] == [curve[most]] * (CORES + 1 - most)
        loaded += curve[most] < 0.9 * most * curve[1]
    assert loaded > 20, "the memory bounds many of them"


@here
def test_predictions_do_not_depend_on_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = (
        SharedRunCounters(1e5, 8, 8e5, 800, 300, cache_hits=2000, cache_misses=700, read_cycles=2.5e5),
        None,
        SharedRunCounters(1e5, 4, 1.2e5, 3e4, 1.8e4, cache_misses=2.6e4, memory_stall_cycles=3.8e5, read_cycles=5e6),
        SharedRunCounters(1e5, 4, 4e5, 0, 0, groups=3),
    )
    epoch = ClusterEpoch(ClusterParameters(CORES, 1.0, 100e6, 64), MemoryLaw(0.6, 0.35, 3.2e9), shared)
    compiled = EddySlowdown().predict(epoch)
    monkeypatch.setattr(queue_compiled, "LIBRARY", None)
    for one, other in zip(compiled, EddySlowdown().predict(epoch), strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.progress == pytest.approx(other.progress, rel=1e-3)
            assert np.array(one.by_cores) == pytest.approx(np.array(other.by_cores), rel=2e-3)


@here
def test_it_refuses_more_tenants_than_it_has_room_for() -> None:
    tenant, many = (1.0, 1.0, 1.0, 50.0, 1.0, 1.0), queue_compiled.MAX_TENANTS
    assert queue_compiled.Curves([tenant] * many, [1.0] * many, 8, 29.0).of(0, 8, tenant)[0] > 0
    with pytest.raises(ValueError, match="tenant 0 of 65"):
        queue_compiled.Curves([tenant] * (many + 1), [1.0] * (many + 1), 8, 29.0).of(0, 8, tenant)
