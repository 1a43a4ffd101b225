# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who gets which core: floor(x) or ceil(x) at any moment, the promise over time, and nothing for those who lie."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, field

import pytest
from eddy.policy.price.turns import Claim, charge_lags, next_tenant, shares_in_force
from hypothesis import given, settings
from hypothesis import strategies as st

CLAIMS = st.lists(
    st.tuples(st.floats(0, 8), st.floats(0.1, 8), st.integers(0, 4), st.integers(0, 4), st.floats(-1, 1)),
    min_size=1,
    max_size=6,
).map(lambda rows: [Claim(f"t{i}", *row) for i, row in enumerate(rows)])


@given(CLAIMS, st.integers(1, 16))
@settings(max_examples=300)
def test_shares_in_force_use_every_core_that_can_be_used(claims: list[Claim], cores: int) -> None:
    shares = shares_in_force(claims, cores)
    assert all(0 <= shares[c.tenant] <= c.most + 1e-9 for c in claims)
    assert sum(shares.values()) == pytest.approx(min(cores, sum(c.most for c in claims)))
    # Two who can use more than they have are given in proportion to their shares.
    short = [c for c in claims if c.share > 0 and shares[c.tenant] < c.most - 1e-6]
    for a in short:
        for b in short:
            assert shares[a.tenant] * b.share == pytest.approx(shares[b.tenant] * a.share, rel=1e-6)
    if short:
        assert all(shares[c.tenant] < 1e-6 for c in claims if c.share <= 0)


@given(CLAIMS, st.integers(1, 16))
def test_a_core_goes_to_somebody_who_wants_it_whenever_anybody_does(claims: list[Claim], cores: int) -> None:
    chosen = next_tenant(claims, cores)
    wanting = {c.tenant for c in claims if c.wants > 0}
    assert chosen in wanting if wanting else chosen is None


@given(CLAIMS, st.floats(0, 1))
def test_time_is_neither_made_nor_lost(claims: list[Claim], seconds: float) -> None:
    lags = {c.tenant: c.lag_s for c in claims}
    after = charge_lags(lags, shares_in_force(claims, 4), claims[0].tenant, seconds)
    assert sum(after.values()) == pytest.approx(sum(lags.values()), abs=1e-9)


@dataclass
class Run:
    """A cluster in virtual time, on which every tenant's slices take what a function says."""

    cores: int
    shares: dict[str, float]
    took: dict[str, object]
    absent: dict[str, tuple[float, float]] = field(default_factory=dict)
    lags: dict[str, float] = field(default_factory=dict)
    had: dict[str, float] = field(default_factory=dict)
    idle_s: float = 0.0
    now_s: float = 0.0
    seen: dict[str, set[int]] = field(default_factory=dict)

    def claims(self, running: list[tuple[float, float, str]]) -> list[Claim]:
        claims = []
        for tenant, share in self.shares.items():
            mine = [start for _, start, name in running if name == tenant]
            away = self.absent.get(tenant, (math.inf, math.inf))
            wants = 0 if away[0] <= self.now_s < away[1] else self.cores
            lag = self.lags.get(tenant, 0.0) - sum(self.now_s - start for start in mine)
            claims.append(Claim(tenant, share, share, len(mine), wants, lag))
        total_s = sum(self.now_s - start for _, start, _ in running)
        shares = shares_in_force(claims, self.cores)
        whole = sum(shares.values()) or 1.0
        return [
            Claim(c.tenant, c.share, c.weight, c.running, c.wants, c.lag_s + total_s * shares[c.tenant] / whole)
            for c in claims
        ]

    def until(self, end_s: float) -> None:
        running: list[tuple[float, float, str]] = []
        while self.now_s < end_s:
            while len(running) < self.cores:
                chosen = next_tenant(self.claims(running), self.cores)
                if chosen is None:
                    break
                heapq.heappush(running, (self.now_s + float(self.took[chosen]()), self.now_s, chosen))  # type: ignore[operator]
            if not any(away[0] <= self.now_s for away in self.absent.values()):
                for tenant in self.shares:
                    count = sum(name == tenant for _, _, name in running)
                    self.seen.setdefault(tenant, set()).add(count)
            ends_s, started_s, tenant = heapq.heappop(running)
            self.now_s = ends_s
            self.had[tenant] = self.had.get(tenant, 0.0) + ends_s - started_s
            shares = shares_in_force(self.claims(running), self.cores)
            self.lags = charge_lags(self.lags, shares, tenant, ends_s - started_s)


@pytest.mark.parametrize("seed", range(4))
def test_the_promise_is_kept_and_cores_are_floor_or_ceil_at_any_moment(seed: int) -> None:
    draw = random.Random(seed)
    cores = draw.choice([1, 2, 4])
    parts = [draw.uniform(0.2, 2.0) for _ in range(draw.randint(2, 4))]
    shares = {f"t{i}": cores * part / sum(parts) for i, part in enumerate(parts)}
    longest = {tenant: draw.uniform(0.2e-3, 1e-3) for tenant in shares}
    run = Run(cores, shares, {t: (lambda t=t: draw.uniform(0.3, 1.0) * longest[t]) for t in shares})
    run.until(1.0)
    for tenant, share in shares.items():
        # Two slices at most: over ten seconds, 0.2 % of the smallest share.
        assert run.had[tenant] == pytest.approx(share * run.now_s, abs=2 * longest[tenant])
        assert run.seen[tenant] <= {math.floor(share), math.ceil(share)}


def test_a_tenant_whose_kernels_spin_gets_no_more_than_its_promise() -> None:
    shares = {"honest": 1.5, "spins": 1.5, "also": 1.0}
    took = {"honest": lambda: 10e-3, "spins": lambda: 0.9, "also": lambda: 5e-3}
    run = Run(4, shares, took)  # type: ignore[arg-type]
    run.until(60.0)
    assert run.had["spins"] <= 1.5 * 60 + 2 * 0.9
    assert run.had["honest"] >= 1.5 * 60 - 2 * 0.9
    assert run.had["also"] == pytest.approx(60, rel=0.05)


def test_time_left_idle_goes_to_the_others_in_proportion_and_is_not_owed() -> None:
    shares = {"a": 2.0, "b": 1.0, "away": 1.0}
    run = Run(4, shares, {t: (lambda: 1e-3) for t in shares}, absent={"away": (0.0, 0.6)})
    run.until(0.6)
    assert run.had["a"] == pytest.approx(1.6, abs=0.004)
    assert run.had["b"] == pytest.approx(0.8, abs=0.004)
    before = dict(run.had)
    run.until(1.2)
    assert run.had["away"] == pytest.approx(0.6, abs=0.004)
    assert run.had["a"] - before["a"] == pytest.approx(1.2, abs=0.004)


def test_who_leaves_in_debt_finds_it_when_it_comes_back() -> None:
    lags = charge_lags({}, {"a": 1.0, "b": 1.0}, "a", 0.5)
    assert lags == {"a": pytest.approx(-0.25), "b": pytest.approx(0.25)}
    alone = charge_lags(lags, {"b": 2.0}, "b", 3.0)
    assert alone == lags
