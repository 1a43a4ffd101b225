# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What an epoch adds up, by tenant and cluster, starts from zero with each epoch."""

from __future__ import annotations

import pytest
from eddy.core.counters import CoreCounters
from eddy.hypervisor.cores.core_accounts import CoreAccount
from eddy.hypervisor.cores.epoch_totals import EpochTotals, SliceMeasurement
from eddy.policy.price.view import ClusterView

TENANTS = ("a", "b")
CLUSTERS = (ClusterView(0, "gpu", 4), ClusterView(1, "gpu", 4))


def counters(*lanes: int) -> CoreCounters:
    return CoreCounters(9, 9, 9, lanes)


def test_core_seconds_of_an_epoch_are_those_since_it_began() -> None:
    totals, account = EpochTotals(), CoreAccount(delivered_s={"a": 5.0})
    totals.begin({0: account}, TENANTS, 0.0)
    account.delivered_s.update(a=7.0, b=1.0)
    had = totals.delivered_s({0: account}, TENANTS, CLUSTERS)
    assert had.tolist() == [[2.0, 0.0], [1.0, 0.0]], "the second cluster has no account"
    totals.begin({0: account}, TENANTS, 1.0)
    assert not totals.delivered_s({0: account}, TENANTS, CLUSTERS).any()


def test_work_and_counters_are_of_slices_that_ended_in_the_epoch() -> None:
    totals = EpochTotals()
    totals.begin({}, TENANTS, 0.0)
    totals.add_slice("a", SliceMeasurement(0, "gpu", 2, 0.5, counters=counters(3, 1)), None, work_s=2.0)
    totals.add_slice("a", SliceMeasurement(0, "gpu", 1, 0.5, counters=counters(1, 1)), None, work_s=1.0)
    totals.add_slice("b", SliceMeasurement(1, "gpu", 1, 0.5), None, work_s=4.0)
    assert totals.work_s(TENANTS).tolist() == [3.0, 4.0]
    found = totals.activity("a", 0)
    assert found is not None
    assert found.cycle_thread == ((4, 2),)
    assert totals.activity("b", 1) is None, "nothing was counted"
    totals.begin({}, TENANTS, 1.0)
    assert totals.work_s(TENANTS).tolist() == [0.0, 0.0]
    assert totals.activity("a", 0) is None


def test_what_work_takes_alone_is_told_where_it_is_known_of_most() -> None:
    totals, account = EpochTotals(), CoreAccount()
    totals.begin({0: account}, TENANTS, 0.0)
    totals.add_slice("a", SliceMeasurement(0, "gpu", 10, 2.0), 0.1, work_s=1.0)
    totals.add_slice("b", SliceMeasurement(0, "gpu", 10, 2.0), None, work_s=1.0)
    account.delivered_s.update(a=2.0, b=2.0)
    assert totals.alone_s({0: account}, TENANTS, CLUSTERS, 1.0) == {("a", 0): pytest.approx(1.0)}
