# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The market's compiled kernel: what is shipped is what its source makes, and it says what numpy says."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.market import certify, compiled, equilibrium, solve
from eddy.market.result import complete_result
from unit.market_cases import KINDS, Case, case

TOOLS = Path(__file__).resolve().parents[3] / "tools"
HERE = [name for name in ("linux-x86_64", "linux-x86_64-v3", "linux-aarch64") if compiled._loaded(name) is not None]
"""The objects that run on this machine. One for AVX2 loads anywhere, but is only tried where there is AVX2."""
if compiled.LIBRARY is not None and not compiled.LIBRARY.eddy_wide():
    HERE = [name for name in HERE if not name.endswith("-v3")]

PATH = solve._path


@pytest.fixture(params=HERE)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the objects in turn."""
    monkeypatch.setattr(compiled, "LIBRARY", compiled._loaded(request.param))
    return str(request.param)


def in_numpy(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """The equilibrium without the kernel."""
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "LIBRARY", None)
        return equilibrium(*arguments)


def test_what_is_shipped_is_what_the_source_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    assert importlib.import_module("native_kernels").stale(importlib.import_module("native_kernels").SHIPPED[0]) == []


@pytest.mark.skipif(sys.platform != "linux", reason="objects are shipped for Linux")
def test_this_machine_uses_it() -> None:
    assert compiled.LIBRARY is not None
    assert HERE


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "parallel" not in kind and kind != "ties"])
def test_it_comes_to_the_prices_numpy_comes_to(kernel: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = 0
    for n, m in ((1, 1), (1, 6), (9, 1), (3, 4), (20, 8), (60, 12), (150, 30)):
        market = case(kind, n, m, 3, "amdahl")
        eq, other = equilibrium(*market.arguments), in_numpy(monkeypatch, *market.arguments)
        ways += isinstance(eq.kept, compiled.WarmStart) and not isinstance(other.kept, compiled.WarmStart)
        assert eq.residual < 1e-9
        assert eq.prices == pytest.approx(other.prices, rel=1e-7, abs=1e-15)
        assert np.abs(eq.shares - other.shares).max() < 1e-6 * market.capacity.max()
    assert ways >= (2 if kind in ("picky", "one wish", "far apart") else 7)


@pytest.mark.parametrize("kind", KINDS)
def test_its_path_comes_to_the_utilities_numpy_comes_to(
    kernel: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prices may lie in a range where a cluster is given away in whole PEs; what tenants get is nearly the same."""
    monkeypatch.setattr(solve, "_path", lambda *_: pytest.fail("the kernel did not come to the end"))
    for n, m in ((1, 1), (1, 6), (9, 1), (3, 4), (20, 8), (60, 12), (40, 30)):
        market = case(kind, n, m, 11, "deliverable")
        eq = equilibrium(*market.arguments)
        with monkeypatch.context() as patch:
            patch.setattr(solve, "_path", PATH)
            other = in_numpy(patch, *market.arguments)
        assert eq.residual < 1e-9
        assert eq.utilities == pytest.approx(other.utilities, rel=1e-4)


@pytest.mark.parametrize("utility", ["amdahl", "deliverable"])
def test_certificates_bids_and_utilities_are_those_of_numpy(
    kernel: str, utility: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    for seed in range(6):
        eq = equilibrium(*case("far apart", 17, 7, seed, utility).arguments)
        shares = eq.shares * np.exp(rng.normal(0, 1e-3, eq.shares.shape)) * (rng.random(eq.shares.shape) < 0.95)
        found = complete_result(eq.market, eq.prices, shares, 0)
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "LIBRARY", None)
            wanted = complete_result(eq.market, eq.prices, shares, 0)
        assert found.bids == pytest.approx(wanted.bids, rel=1e-13)
        assert found.utilities == pytest.approx(wanted.utilities, rel=1e-12)
        parts = certify(eq.market, eq.prices, shares, shares * eq.prices)
        for name in ("optimality", "clearing", "budget"):
            assert getattr(found.certificate, name) == pytest.approx(getattr(parts, name), rel=1e-9, abs=1e-13)


def changed(market: Case, rows: np.ndarray[Any, Any], times: float = 1.0) -> Case:
    """The market with these tenants, throughputs multiplied."""
    fraction, speed = market.fraction[rows], times * market.throughput[rows]
    return Case(fraction, speed, market.weights[rows], market.capacity)


def test_a_start_serves_after_arrivals_departures_changes_and_a_new_order(kernel: str) -> None:
    whole = case("plain", 90, 12, 1, "amdahl")
    rng = np.random.default_rng(5)
    everyone = np.arange(90)
    before = equilibrium(*changed(whole, everyone[:80]).arguments)
    other = case("plain", 90, 12, 2, "amdahl")
    learned = Case(whole.fraction.copy(), whole.throughput, whole.weights, whole.capacity)
    learned.fraction[[3, 40]] = other.fraction[[3, 40]]
    for market in (
        changed(whole, everyone[:81]),
        changed(whole, np.delete(everyone, [0, 17, 18, 50])),
        changed(whole, rng.permutation(90)),
        changed(whole, everyone[:5]),
        changed(whole, everyone, 7.0),
        learned,
        Case(other.fraction, other.throughput, other.weights, other.capacity),
    ):
        cold = equilibrium(*market.arguments)
        warm = equilibrium(*market.arguments, start=before)
        assert warm.residual < 1e-9
        assert warm.prices == pytest.approx(cold.prices, rel=1e-8)


def test_one_arrival_takes_fewer_passes(kernel: str) -> None:
    market = case("plain", 400, 40, 1, "amdahl")
    before = equilibrium(*changed(market, np.arange(399)).arguments)
    cold, warm = equilibrium(*market.arguments), equilibrium(*market.arguments, start=before)
    assert warm.iterations < cold.iterations


def test_arrays_that_were_written_to_since_do_not_mislead(kernel: str) -> None:
    market = case("plain", 60, 10, 1, "amdahl")
    before = equilibrium(*market.arguments)
    market.fraction[7] = 0.51
    market.throughput[30:] *= np.linspace(0.5, 2, 10)
    warm = equilibrium(*market.arguments, start=before)
    assert warm.residual < 1e-9
    assert warm.prices == pytest.approx(equilibrium(*market.arguments).prices, rel=1e-8)


def test_lists_that_do_not_belong_show_in_the_certificate(kernel: str) -> None:
    """As if two rows had the same mark: tenant 0's list serves for a tenant that wants other things."""
    market = case("plain", 30, 10, 1, "amdahl")
    before = equilibrium(*market.arguments)
    assert isinstance(before.kept, compiled.WarmStart)
    market.throughput[0] = market.throughput[0][::-1]
    seen = compiled.scan(market.fraction, market.throughput)
    assert seen is not None
    assert seen.marks is not None
    n, m = market.fraction.shape
    marks_at = m + 4 * n
    before.kept.room[marks_at : marks_at + n].view(np.uint64)[0] = seen.marks[0]
    warm = equilibrium(*market.arguments, start=before)
    assert warm.residual < 1e-9
    assert not isinstance(warm.kept, compiled.WarmStart)


def test_a_look_accepts_what_numpy_accepts_and_nothing_else(kernel: str) -> None:
    good = [5e-324, 1e-300, 0.3, 1 - 2**-53, 1.0]
    for value in good:
        seen = compiled.scan(np.array([[value, 0.5]]), np.ones((1, 2)))
        assert seen is not None
        assert seen.straight == (value > compiled.CURVED)
    above = float(np.nextafter(1, 2))
    for value in (0.0, -0.0, -0.3, -5e-324, above, 2.0, float("inf"), float("-inf"), float("nan"), -float("nan")):
        assert compiled.scan(np.array([[0.5, value]]), np.ones((1, 2))) is None
    for value in (0.0, 5e-324, 1.0, 1e100):
        seen = compiled.scan(np.full((1, 2), 0.5), np.array([[1.0, value]]))
        assert seen is not None
        assert seen.wanted.tolist() == [True, value > 0]
    for value in (-5e-324, -1.0, float(np.nextafter(1e100, 1e300)), float("inf"), float("nan")):
        assert compiled.scan(np.full((1, 2), 0.5), np.array([[1.0, value]])) is None
    assert compiled.scan(np.full((2, 2), 0.5), np.array([[1.0, 1], [0, 0]])) is None
