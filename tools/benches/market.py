# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How fast the market finds its prices, as ratios in one run: beside proportional response, a plain Newton, and itself.

The plain Newton is what one would write with numpy in an afternoon: at each price vector it sorts every tenant's
breakpoints, takes running sums to find its worth of money, and solves for all log prices, from equal prices on. Its
rules for steps and its end (1e-9) are the same. Proportional response runs to its end, a residual of 1e-6, on a market
of 200 x 20, which takes seconds; on 1000 x 100 it is stopped when it has taken 1,100 times as long as ours, and the
ratio is then a lower bound, unless `--whole` lets it end there too (minutes). The deliverable utility goes another way,
by an interior point, and is measured against proportional response on 200 x 20 and against the same steps in numpy on
1000 x 100. `--whole` also solves markets of 5000 x 500 whose utilities are straight, alike or deliverable (see
`LARGE`), each to a residual of 1e-9. Goals: see `LEAST`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from eddy.market import compiled, equilibrium
from yardstick import PYTHON, factor, measured

from benches import tell

LEAST = {
    "proportional response over newton, 200 x 20": 1000.0,
    "proportional response over newton, 1000 x 100": 1000.0,
    "plain newton over newton, 1000 x 100": 3.5,
    "plain newton over newton, 5000 x 500": 4.0,
    "from scratch over after one arrival, 1000 x 100": 4.0,
    "deliverable: proportional response over ours, 200 x 20": 1000.0,
    "deliverable: in numpy over ours, 1000 x 100": 2.5,
}
SMALL_US = {"amdahl": 300.0, "deliverable": 300.0}
"""20 x 8 from nothing by utility: microseconds of one core of the machine at hand, more where that is slower than the
reference machine."""
MOST = {"residual": 1e-9, **{f"20 x 8 from scratch, {each}, of the time it may take": 1.0 for each in SMALL_US}}


def market(n: int, m: int, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """A random market: parallel fractions, throughputs, weights, capacities."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 17, m).astype(float)
    return rng.uniform(0.5, 0.999, (n, m)), rng.uniform(0.2, 2, (n, m)), rng.uniform(1, 5, n), sizes


LARGE = ("straight", "half straight", "alike", "copies", "few wants", "far apart", "deliverable")


def large(kind: str, n: int, m: int) -> tuple[Any, Any, Any, Any, str]:
    """A market whose utility is linear (F = 1) everywhere or in part, or deliverable: what `market` gives, and the
    utility. "alike" has whole numbers from 1 to 3 for throughputs and weights, "copies" ten tenants of each sort; a
    tenant of "few wants" can use a fifth of the clusters, and in "far apart" throughputs and weights are eight orders
    of magnitude apart, capacities four."""
    rng = np.random.default_rng(LARGE.index(kind))
    fraction, speed, weights, sizes = market(n, m)
    if kind == "deliverable":
        return fraction, speed, weights, sizes, kind
    one = rng.random((n, m)) < 0.5 if kind == "half straight" else np.ones((n, m), dtype=bool)
    fraction = np.where(one, 1.0, fraction)
    if kind == "alike":
        speed, weights = rng.integers(1, 4, (n, m)), rng.integers(1, 4, n)
    if kind == "copies":
        speed, weights = speed[np.arange(n) // 10], np.ones(n)
    if kind == "few wants":
        speed = np.where(rng.random((n, m)) < 0.2, speed, 0.0)
        speed[np.arange(n), rng.integers(0, m, n)] = 1.0
    if kind == "far apart":
        speed, weights, sizes = (10 ** rng.uniform(*span) for span in ((-4, 4, (n, m)), (-4, 4, n), (-0.3, 4, m)))
    return fraction, speed, weights, sizes, "amdahl"


def plain_newton(fraction: Any, speed: Any, weights: Any, capacity: Any) -> Any:
    """Prices by a vectorised Newton with sorted breakpoints."""
    budgets = weights / weights.sum()
    serial, root = 1 - fraction, np.sqrt(fraction * speed)
    price = np.full(len(capacity), 1 / capacity.sum())
    for _ in range(100):
        q = np.sqrt(price)
        breaks = q * np.sqrt(fraction / speed)
        order = np.argsort(breaks, axis=1)
        rise, cost = root * q / serial, price * fraction / serial
        rises = np.cumsum(np.take_along_axis(rise, order, 1), axis=1)
        costs = np.cumsum(np.take_along_axis(cost, order, 1), axis=1)
        level = (budgets[:, None] + costs) / rises
        count = (level > np.take_along_axis(breaks, order, 1)).sum(axis=1)
        t = level[np.arange(len(count)), count - 1]
        on = t[:, None] > breaks
        share = np.where(on, (rise * t[:, None] - cost) / price, 0.0)
        demand = share.sum(axis=0)
        if np.abs(demand / capacity - 1).max() < 1e-9:
            return price
        active = rise * on
        move = (cost * on - 0.5 * t[:, None] * active) / active.sum(axis=1)[:, None]
        slopes = (active.T @ move) / price[:, None]
        slopes[np.diag_indices(len(price))] -= 0.5 * (active * t[:, None]).sum(axis=0) / price
        floor = np.maximum(demand, 0.02 * capacity)
        step = np.linalg.solve(slopes / floor[:, None], np.log(capacity / floor))
        price = price * np.exp(step * min(1.0, 3.0 / np.abs(step).max()))
    raise RuntimeError("the plain Newton did not converge")


def best_s(work: Callable[[], Any], runs: int) -> float:
    """The least processor time of several runs."""
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def response_s(asked: tuple[Any, Any, Any, Any], most_s: float, utility: str = "amdahl") -> tuple[float, bool]:
    """Processor time of proportional response to a residual of 1e-6, and whether it came there; it is stopped after
    `most_s` or more. How many rounds that takes follows from the last try: rounds are quicker at one time than another.
    """
    rounds = 100
    while True:
        begin = time.process_time()
        found = equilibrium(*asked, utility, "proportional_response", 1e-6, most_rounds=rounds)
        took_s = time.process_time() - begin
        if found.residual <= 1e-6 or took_s >= most_s:
            return took_s, found.residual <= 1e-6
        rounds = int(min(1.2 * most_s / took_s * rounds, 1e7)) + 1


def ratios(whole: bool) -> Iterator[tuple[str, float, str]]:
    """The ratios of `LEAST` as they are measured, each with a remark."""
    response, bounded, plainly, largest, warmly, deliverable_response, deliverable_numpy = LEAST
    middle, large, few = market(1000, 100), market(5000, 500), market(200, 20)
    fraction, speed, weights, sizes = middle
    before = equilibrium(fraction[:-1], speed[:-1], weights[:-1], sizes)
    if not np.allclose(plain_newton(*middle), equilibrium(*middle).prices, rtol=1e-7):
        raise RuntimeError("the plain Newton and ours disagree")
    ours = best_s(lambda: equilibrium(*middle), 30)
    warm = best_s(lambda: equilibrium(*middle, start=before), 60)
    yield warmly, ours / warm, f"{ours * 1e3:.2f} ms over {warm * 1e3:.2f} ms"
    plain = best_s(lambda: plain_newton(*middle), 5)
    yield plainly, plain / ours, f"{plain * 1e3:.1f} ms over {ours * 1e3:.2f} ms"
    ours_large = best_s(lambda: equilibrium(*large), 4)
    plain_large = best_s(lambda: plain_newton(*large), 2)
    yield largest, plain_large / ours_large, f"{plain_large:.2f} s over {ours_large:.3f} s"
    ours_few = best_s(lambda: equilibrium(*few), 50)
    slow, reached = response_s(few, 1e9)
    if not reached:
        raise RuntimeError("proportional response did not come to 1e-6")
    yield response, slow / ours_few, f"{slow:.1f} s, to its end, over {ours_few * 1e3:.2f} ms"
    slow, reached = response_s(middle, 1e9 if whole else 1100 * ours)
    end = "to its end" if reached else "not yet at its end: a lower bound"
    yield bounded, slow / ours, f"{slow:.1f} s, {end}, over {ours * 1e3:.2f} ms"
    ours_few = best_s(lambda: equilibrium(*few, "deliverable"), 10)
    slow, reached = response_s(few, 1e9, "deliverable")
    if not reached:
        raise RuntimeError("proportional response did not come to 1e-6")
    yield deliverable_response, slow / ours_few, f"{slow:.1f} s, to its end, over {ours_few * 1e3:.2f} ms"
    ours = best_s(lambda: equilibrium(*middle, "deliverable"), 3)
    library, compiled.LIBRARY = compiled.LIBRARY, None
    plain = best_s(lambda: equilibrium(*middle, "deliverable"), 2)
    compiled.LIBRARY = library
    yield deliverable_numpy, plain / ours, f"{plain:.2f} s over {ours:.3f} s"


OPTIONS: dict[str, dict[str, Any]] = {
    "--whole": {
        "action": "store_true",
        "help": "proportional response to its end on 1000 x 100, and large straight markets, too",
    }
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Ratios, and times of small markets in parts of what this machine is allowed."""
    speed, small = factor(measured())[PYTHON], market(20, 8)
    found: dict[str, Any] = {}
    for utility, goal_us in SMALL_US.items():
        took_us = best_s(lambda: [equilibrium(*small, utility) for _ in range(20)], 20) / 20 * 1e6  # noqa: B023
        found[f"20 x 8 from scratch, {utility}, us"] = took_us
        found[f"20 x 8 from scratch, {utility}, of the time it may take"] = took_us / (goal_us * max(1.0, 1 / speed))
    for kind in LARGE if options.whole else ():
        begin = time.process_time()
        found[f"5000 x 500, {kind}"] = {"residual": equilibrium(*large(kind, 5000, 500)).residual}
        found[f"5000 x 500, {kind}"]["s"] = time.process_time() - begin
    for name, value, remark in ratios(options.whole):
        tell(f"{name}: {value:,.1f} ({remark})")
        found[name] = value
    return found
