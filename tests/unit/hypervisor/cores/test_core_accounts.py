# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The account of a cluster's cores: nobody is owed time it could not use, and every debt is worked off;
what an epoch adds up starts from zero."""

from __future__ import annotations

import random

import pytest
from eddy.core.counters import CoreCounters
from eddy.hypervisor.cores.core_accounts import CoreAccount, Slice
from eddy.hypervisor.cores.epoch_totals import EpochTotals, SliceMeasurement
from eddy.policy.price.turns import Claim, charge_lags, due_core_s, next_tenant, settle_lags
from eddy.policy.price.view import ClusterView
from hypothesis import given
from hypothesis import strategies as st

QUANTUM_S = 1e-3
LAGS = st.dictionaries(st.sampled_from("abcd"), st.floats(-5, 5), min_size=1)


def account(cores: int, **shares: float) -> CoreAccount:
    return CoreAccount([None] * cores, shares)


def run(it: CoreAccount, tenant: str, core: int, started_s: float, took_s: float, **wants: int) -> None:
    """A slice from start to end; who wants cores at its end."""
    it.start(Slice(1, tenant, core, 0, "x", 0, 1, started_s))
    it.update_claimants(started_s + took_s, {tenant, *wants})
    it.finish_slice(core, took_s, wants, {})


def test_small_kernels_save_nothing_up() -> None:
    it, now_s = account(1, hoards=0.5, works=0.5), 0.0
    for _ in range(100):
        it.update_claimants(now_s, {"works"})
        it.start(Slice(1, "works", 0, 0, "x", 0, 1, now_s))
        it.update_claimants(now_s + 0.02, {"works", "hoards"})
        now_s += 0.05
        it.finish_slice(0, 0.05, {"works": 1, "hoards": 1}, {})
        run(it, "hoards", 0, now_s, 45e-6, works=1)
        now_s += 45e-6
        it.update_claimants(now_s, {"works"})
        assert it.lags["hoards"] <= 45e-6 + 1e-12
        assert sum(it.lags.values()) == pytest.approx(0.0, abs=1e-9)


def test_nobody_is_due_time_before_it_came() -> None:
    it = account(1, late=0.5, works=0.5)
    it.update_claimants(0.0, {"works"})
    it.start(Slice(1, "works", 0, 0, "x", 0, 1, 0.0))
    it.update_claimants(0.9, {"works", "late"})
    assert {c.tenant: c.lag_s for c in it.claims(0.9, {"late": 1}, {})} == {"late": 0.0, "works": 0.0}
    assert {c.tenant: c.lag_s for c in it.claims(1.0, {"late": 1}, {})} == pytest.approx({"late": 0.05, "works": -0.05})
    it.finish_slice(0, 1.0, {"works": 1, "late": 1}, {})
    assert it.lags == pytest.approx({"late": 0.05, "works": -0.05})


def test_who_stays_keeps_what_it_is_owed() -> None:
    it = account(1, a=0.5, b=0.5)
    it.update_claimants(0.0, {"a", "b"})
    run(it, "b", 0, 0.0, 1.0, a=1, b=1)
    it.update_claimants(1.0, {"a", "b"})
    assert it.lags == pytest.approx({"a": 0.5, "b": -0.5})
    it.update_claimants(1.0, {"b"})
    assert it.lags == pytest.approx({"a": 0.0, "b": 0.0}), "it left without having run"


def test_who_leaves_with_a_debt_keeps_it() -> None:
    it = account(1, a=0.5, b=0.5)
    it.update_claimants(0.0, {"a", "b"})
    run(it, "b", 0, 0.0, 1.0, a=1)
    it.update_claimants(1.0, {"a"})
    assert it.lags == pytest.approx({"a": 0.5, "b": -0.5})


@given(LAGS, st.sampled_from("abcd"), st.floats(0, 3))
def test_what_is_not_owed_any_more_nobody_owes(lags: dict[str, float], tenant: str, used_s: float) -> None:
    mean = sum(lags.values()) / len(lags)
    balanced = {name: lag - mean for name, lag in lags.items()}
    after = settle_lags(balanced, tenant, used_s)
    assert sum(after.values()) == pytest.approx(0.0, abs=1e-6)
    assert after.get(tenant, 0.0) <= max(used_s, 0.0) + 1e-6 or tenant not in balanced
    for name, lag in balanced.items():
        assert abs(after[name]) <= abs(lag) + 1e-9, "no debt grows, and no other credit"
        assert name == tenant or lag < 0 or after[name] == lag


def test_parts_of_a_slice() -> None:
    assert due_core_s({"a": 1.0, "b": 3.0}, 8.0, {"b": 2.0}) == {"a": 2.0, "b": 1.5}
    assert due_core_s({}, 8.0, {}) == {}
    assert charge_lags({}, {"a": 1.0, "b": 1.0}, "a", 8.0, {"b": 2.0}) == pytest.approx({"a": -1.0, "b": 1.0})


@pytest.mark.parametrize("slice_s", [1e-3, 0.05])
def test_a_debt_is_worked_off_where_shares_are_whole_cores(slice_s: float) -> None:
    """Two cores, a share of one each, both with work for two: who is owed 0.1 s has both cores until it had them."""
    chance, had, now_s = random.Random(3), {"a": 0.0, "b": 0.0}, 0.0
    it = account(2, a=1.0, b=1.0)
    it.lags = {"a": 0.1, "b": -0.1}
    took = {"a": QUANTUM_S, "b": slice_s}
    ends: dict[int, float] = {}
    while now_s < 2.0:
        for core in it.free:
            it.update_claimants(now_s, {"a", "b"})
            claims = it.claims(now_s, {"a": 2, "b": 2}, {})
            chosen = next_tenant(claims, 2, 4 * QUANTUM_S)
            assert chosen is not None
            it.start(Slice(1, chosen, core, 0, "x", 0, 1, now_s))
            ends[core] = now_s + took[chosen] * chance.uniform(0.5, 1.0)
        core = min(ends, key=lambda each: ends[each])
        ended, now_s = it.cores[core], ends.pop(core)
        assert ended is not None
        had[ended.tenant] += now_s - ended.started_s
        it.finish_slice(core, now_s - ended.started_s, {"a": 2, "b": 2}, {})
    assert had["a"] - had["b"] == pytest.approx(0.2, abs=8 * QUANTUM_S + 2 * slice_s)
    assert Claim("a", 1.0, 1.0, 1, 1, it.lags["a"]).lag_s < 4 * QUANTUM_S + 2 * slice_s


def test_a_lag_within_the_slack_moves_no_core() -> None:
    claims = [Claim("a", 1.0, 1.0, 1, 1, 3.9e-3), Claim("b", 1.0, 1.0, 0, 1, -3.9e-3)]
    assert next_tenant(claims, 2, 4e-3) == "b"
    assert next_tenant([Claim("a", 1.0, 1.0, 1, 1, 5e-3), Claim("b", 1.0, 1.0, 0, 1, -5e-3)], 2, 4e-3) == "a"


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
