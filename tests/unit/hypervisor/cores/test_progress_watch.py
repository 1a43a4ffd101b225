# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Counters by epoch: what tenants did between two readings, and the predictions that are kept of it."""

from __future__ import annotations

import math

import pytest
from eddy.core.counters import ContextCounters, SharingCounters
from eddy.hypervisor.cores.progress_watch import ProgressWatch, select_present
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.policy.price.view import ClusterMachine, ClusterView

MACHINE = ClusterMachine(ClusterParameters(4, 1.0, 100e6, 64), MemoryLaw(0.5, 0.4, 400e6))
HERE = (ClusterView(0, "gpu", 4),)


class Totals:
    """A board's totals, which grow as it is told."""

    def __init__(self) -> None:
        self.at_s, self.held, self.reads = 0.0, dict[str, ContextCounters](), 0

    def add(self, seconds: float, **counted: ContextCounters) -> None:
        self.at_s += seconds
        for name, more in counted.items():
            self.held[name] = self.held.get(name, ContextCounters()).add_counters(more)

    def read(self, slot: int) -> SharingCounters:
        self.reads += 1
        return SharingCounters(slot, self.at_s, 100e6, tuple(sorted(self.held.items())))


def busy(cores: float, requests: int, cycles: int = 100_000) -> ContextCounters:
    core_cycles = int(cores * cycles)
    return ContextCounters(
        core_cycles // 2, core_cycles, core_cycles // 4, requests, 64 * requests, requests // 2, 7, 3
    )


def test_an_epoch_is_the_difference_of_two_readings() -> None:
    totals, watch = Totals(), ProgressWatch({"gpu": MACHINE})
    watch.read = totals.read
    totals.add(1.0, ada=busy(4, 999))
    watch.begin([0])
    totals.add(1e-3, ada=busy(1.5, 100), grace=busy(2, 4000))
    ended = watch.end(("ada", "edsger", "grace"), HERE, {"ada": 2})
    assert ended is not None
    (ada,), (edsger,), (grace,) = ended.sharing
    assert edsger is None, "it ran nothing"
    assert ada is not None
    assert grace is not None
    assert (ada.cores, ada.cycles) == pytest.approx((1.5, 100_000))
    assert ada.groups == 2
    assert (ada.requests, ada.row_hits, ada.cache_hits, ada.cache_misses) == (100, 50, 7, 3)
    assert ada.memory_stall_cycles == 37_500
    assert ended.traffic_bytes[:, 0].tolist() == [6400, 0, 256_000]
    assert ended.progress[0, 0] == pytest.approx(0.75), "1.5 of the 2 cores that its groups can use"
    assert math.isnan(ended.progress[1, 0])
    # 256 kB in a millisecond of the 400 MB/s x (0.5 x 0.5 + 0.4) that its hit rate can get.
    assert ended.progress[2, 0] == pytest.approx(256e6 / (400e6 * 0.65))


def test_the_end_of_one_epoch_is_the_start_of_the_next() -> None:
    totals, watch = Totals(), ProgressWatch({"gpu": MACHINE})
    watch.read = totals.read
    for _ in range(3):
        watch.begin([0])
        totals.add(1e-3, ada=busy(1, 10))
        ended = watch.end(("ada",), HERE)
        assert ended is not None
        assert ended.traffic_bytes.sum() == 640
    assert totals.reads == 4
    watch.forget()
    watch.begin([0])
    assert totals.reads == 5, "after a pause the first reading is a fresh one"


def test_without_a_calibration_nothing_is_read() -> None:
    totals, watch = Totals(), ProgressWatch()
    watch.read = totals.read
    watch.begin([0])
    assert watch.end(("ada",), HERE) is None
    assert (totals.reads, watch.on) == (0, False)


def test_what_was_counted_follows_tenants_to_the_next_epoch() -> None:
    totals, watch = Totals(), ProgressWatch({"gpu": MACHINE})
    watch.read = totals.read
    watch.begin([0])
    totals.add(1e-3, ada=busy(1, 10), grace=busy(2, 10))
    ended = watch.end(("ada", "grace"), HERE)
    rows = select_present(ended, (("ada", "grace"), HERE), ["grace", "zoe"], (*HERE, ClusterView(1, "gpu", 4)))
    assert rows[0][0] is not None
    assert rows[0][0].cores == pytest.approx(2.0)
    assert rows[0][1] is None
    assert rows[1] == (None, None)
    assert select_present(None, ((), ()), ["ada"], HERE) == ()
