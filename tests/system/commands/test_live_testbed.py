# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[002]'s testbed on processes: bytes and jobs go where they were placed, and no sooner than ports allow."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from eddy.model.placement.instance import Instance
from eddy.policy.place import METHODS
from eddy_studies.makespan.workload import BatchShape, batch

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))

from benches.makespan import BatchRun, rates_kept, summary
from live_testbed.arrivals import Batch, Expected
from live_testbed.hosts import running
from live_testbed.responder import Responder
from live_testbed.rtl_boards import INGRESS_BPS, LearnedTimes, items_of, with_rtl
from live_testbed.scales import Scales, content

SMALL = BatchShape(requesters=3, responders=2, jobs=9)


def test_a_batch_runs_as_it_was_placed() -> None:
    both, computing = batch(SMALL, "joint", 1), Instance(np.array([[0.1, 0.2], [0.2, 0.1], [0.1, 0.1]]))
    with running(SMALL.requesters, SMALL.responders) as hosts:
        for instance in (both, computing):
            for method in ("default", "sjf"):
                placement = METHODS[method](instance)
                live = hosts.run(instance, placement, Scales(wall_s=0.5, bits=0.004))
                assert live.wrong == []
                assert len(live.end_s) == instance.jobs
                own = instance.time_s[np.arange(instance.jobs), placement.host]
                # What a job cannot do faster: be sent through its requester's port (less a burst), then compute.
                sent = np.zeros(instance.jobs)
                if instance.size_bits is not None:
                    assert instance.egress_bps is not None
                    sent = instance.size_bits / instance.egress_bps[instance.requester] - 0.05
                assert (np.array(live.end_s) >= own + np.maximum(sent, 0) - 1e-6).all()
                assert live.makespan_s > 0.97 * placement.lower_bound_s - 0.05


@pytest.mark.rtl
@pytest.mark.xdist_group("board-rtl")
def test_simulated_boards_do_real_work_beside_models() -> None:
    """Two of them: times are learned, jobs go there as planned, and what the hardware wrote is what it should."""
    instance, scales, learned = batch(SMALL, "joint", 1), Scales(wall_s=0.5, bits=0.004), LearnedTimes()
    with running(SMALL.requesters, SMALL.responders, rtl=2) as hosts:
        learned.take(hosts.learn(2, scales))
        items, column = items_of(instance), instance.accelerators
        both = with_rtl(instance, 2, items, learned.item_s, scales)
        placement = METHODS["default"](both)
        on_rtl = placement.host.copy()
        on_rtl[:2] = column, column + 1  # whatever the policy says on a slow machine, each has something
        live = hosts.run(both, dataclasses.replace(placement, host=on_rtl), scales, items)
    assert live.wrong == []
    first = SMALL.responders
    ran = {h: len(live.items_s[h]) for h in (first, first + 1)}
    given = {h: sum(items[i] for i in range(both.jobs) if both.host_of[on_rtl[i]] == h) for h in (first, first + 1)}
    assert ran == given
    assert min(ran.values()) > 0
    assert not any(live.items_s[h] for h in range(first) if h in live.items_s)


def test_what_simulated_boards_take_is_the_mean_of_what_they_took() -> None:
    instance, scales, learned = batch(SMALL, "joint", 1), Scales(5.0, 0.008), LearnedTimes()
    learned.take({4: [1.0, 2.0], 5: [3.0], 0: []})
    assert learned.item_s == pytest.approx(2.0)
    items = items_of(instance)
    assert instance.size_bits is not None
    assert np.argsort(items, kind="stable").tolist()[-1] == int(instance.size_bits.argmax())
    assert min(items) >= 1
    both = with_rtl(instance, 2, items, learned.item_s, scales)
    assert (both.time_s[:, : instance.accelerators] == instance.time_s).all()
    assert both.time_s[:, -2:] == pytest.approx(np.array([[0.4 * n, 0.4 * n] for n in items]))
    assert both.host_of.tolist() == [*instance.host_of, SMALL.responders, SMALL.responders + 1]
    assert both.ingress_bps is not None
    assert both.ingress_bps.tolist()[-2:] == [INGRESS_BPS] * 2


def test_what_is_wrong_is_found() -> None:
    it = Responder(Batch({7: Expected(9, 0, 0.0)}, 1e9, Scales(1.0, 1.0)))
    it.arrivals.arrived(7, content(7, 9) == content(8, 9))
    assert not it.arrivals.went[7].right
    assert len(content(7, 9)) == 9


def test_rates_are_those_of_whole_transfers_and_of_long_ones_alone() -> None:
    instance = batch(SMALL, "joint", 1)
    placement = METHODS["default"](instance)
    spans = []
    for job in range(instance.jobs):
        mine = [rate for rate in placement.rates if rate.job == job]
        spans.append((min(rate.from_s for rate in mine), max(rate.to_s for rate in mine)))
    arrived = [from_s + 1.25 * (to_s - from_s) for from_s, to_s in spans]
    kept, bits = rates_kept(instance, placement, arrived, Scales(1.0, 1.0))
    long = [job for job, (from_s, to_s) in enumerate(spans) if to_s - from_s >= 0.5]
    assert 0 < len(long) < instance.jobs
    assert kept == pytest.approx((0.8,) * len(long))
    assert len(bits) == len(long)


def test_the_summary_compares_with_each_rival_seed_by_seed() -> None:
    def ran(what: str, scheme: str, planned_s: float, live_s: float) -> BatchRun:
        return BatchRun(what, scheme, planned_s, live_s, 1.0, (1.0, 0.9), (3.0, 1.0), ())

    runs = [ran("seed 0", "default", 1.0, 1.2), ran("seed 0", "sjf", 2.0, 2.0), ran("seed 0", "ljf", 1.0, 1.0)]
    alone = summary(runs)["with_rtl"]
    assert isinstance(alone, dict)
    assert (alone["seeds"], alone["improvement"]) == (0, {})
    others = [
        ran("rtl seed 0", "default", 1.0, 1.0),
        ran("rtl seed 0", "sjf", 4.0, 4.0),
        ran("rtl seed 0", "ljf", 1.0, 2.0),
    ]
    with_rtl = summary([*runs, *others])["with_rtl"]
    assert isinstance(with_rtl, dict)
    assert (with_rtl["seeds"], with_rtl["improvement"]["sjf"]["live"]) == (1, 0.75)
    found = summary(runs)
    improvement = found["improvement"]
    assert isinstance(improvement, dict)
    assert improvement["sjf"] == {"live": 0.4, "planned": 0.5, "published": 0.3625}
    assert improvement["ljf"]["live"] == pytest.approx(-0.2)
    assert found["within_10_percent"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["bits_within_2_percent"] == pytest.approx(0.75)
