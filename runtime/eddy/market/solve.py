# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`equilibrium`: check what is asked, set aside what nobody wants, choose a way to the prices, certify the answer.

Prices of a market of unequal clusters, by way of markets whose clusters are more alike.

Newton steps from equal prices may lead nowhere where capacities are orders of magnitude apart: a price that is a little
off sends to the largest cluster all that everybody has, or nothing. With capacities raised to a power from 0 to 1 there
is a path of markets from one of equal clusters to the one that is asked for. Prices are unique on all of it where every
F is below 1, and change with the power without a jump, so each market's are near the last one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from eddy.core.errors import InvalidRequest
from eddy.market import compiled
from eddy.market.compiled import CURVED, Scan, WarmStart
from eddy.market.exact import MAX_ENTRIES, refine_exact
from eddy.market.fairness import sharing_incentive
from eddy.market.interior import finish, follow
from eddy.market.newton import newton, sample
from eddy.market.pieces import Pieces, make_pieces
from eddy.market.problem import Array, Market, array_of, examine_market, name_of, number_of
from eddy.market.reduced_market import narrow_prices
from eddy.market.response import MAX_ROUNDS, run_proportional_response
from eddy.market.result import Equilibrium, complete_result

EXACT = 1e-9
"""How exactly clusters must be given away, and entitlements kept."""


def safe_equilibrium(found: Equilibrium) -> Equilibrium:
    """The answer if it keeps what an equilibrium promises; else its shares made to sum to capacity, if nobody then is
    below its entitlement; else everybody's entitlement at the same prices, which cost exactly the budgets."""
    if _kept(found):
        return found
    market, prices = found.market, found.prices
    if not (np.isfinite(prices).all() and (prices > 0).all()):
        prices = 1 / (market.capacity * len(market.capacity))
    given = np.nan_to_num(found.shares, nan=0.0, posinf=0.0, neginf=0.0).clip(0.0)
    total = given.sum(axis=0)
    scaled = given * np.divide(market.capacity, total, out=np.zeros_like(total), where=total > 0)
    prices = prices / float(prices @ market.capacity)
    nearest = complete_result(market, prices, scaled, found.iterations)
    if _kept(nearest):
        return nearest
    return complete_result(market, prices, market.budgets[:, None] * market.capacity, found.iterations)


def _kept(found: Equilibrium) -> bool:
    """Whether shares sum to capacity and nobody is below its entitlement."""
    off = np.abs(found.shares.sum(axis=0) / found.market.capacity - 1)
    good = np.isfinite(found.residual) and (found.shares >= 0).all() and (off < EXACT).all()
    return bool(good and (sharing_incentive(found) >= 1 - EXACT).all())


Near = Callable[[Market, Array], "Array | None"]
"""Prices of a market, nearly, from prices to begin with; None where the steps lead nowhere."""
_FIRST, _GROWS, _SHRINKS = 0.5, 1.5, 0.5
"""Length of the first step of the power, and what a step that led somewhere, or nowhere, makes of the next."""
_MAX_MARKETS = 40


def approach_prices(market: Market, near: Near) -> Array | None:
    """Prices near those of the market, (m,); None where the path was lost.

    Args:
        market: Every F below 1, `utility` "amdahl", every cluster wanted.
        near: Solves each market on the way, from the last one's prices.
    """
    even = _scale_capacity(market, 0.0)
    prices = near(even, np.full(len(even.capacity), 1 / even.capacity.sum()))
    power, length = 0.0, _FIRST
    for _ in range(_MAX_MARKETS):
        if prices is None or power == 1:
            return prices
        after = min(1.0, power + length)
        there = _scale_capacity(market, after)
        found = near(there, prices / float(prices @ there.capacity))
        if found is None:
            length *= _SHRINKS
            continue
        power, prices, length = after, found, length * _GROWS
    return None


def _scale_capacity(market: Market, power: float) -> Market:
    """The market with capacities, over their geometric mean, raised to a power."""
    middle = np.exp(np.log(market.capacity).mean())
    return replace(market, capacity=middle * (market.capacity / middle) ** power)


METHODS = ("newton", "proportional_response")
_EXACT = 1e-11
"""How exactly clusters are cleared by Newton steps, whatever is asked."""
_NEAR = 0.03
"""How exactly a smaller market is solved whose prices are only to be near."""
_ON_THE_WAY = 1e-3
"""How exactly those are solved that lead to a market of unequal clusters."""
_LEANS = (1.0, 1e-4, 1e-8)
"""How sure to be that a piece is empty or full, tried in turn: a capacity a millionth off a whole PE leaves a piece as
near to full as others that are."""
_EXACT_ENOUGH = 1e-12
"""Residual after which no other end of the path is looked at."""
_ROUNDS_FIRST = 3
"""Rounds of proportional response that give Newton's method its first prices."""


@dataclass(frozen=True)
class _How:
    """The way to an answer that was asked for; see `equilibrium`."""

    method: str
    tol: float
    first: Array | None
    epsilon: float | None
    most_rounds: int
    history: bool
    kept: Array | WarmStart | None
    in_digits: bool


def equilibrium(
    parallel_fraction: npt.ArrayLike,
    throughput: npt.ArrayLike,
    weights: npt.ArrayLike,
    capacity: npt.ArrayLike,
    utility: str = "amdahl",
    method: str = "newton",
    tol: float = 1e-9,
    *,
    start: npt.ArrayLike | Equilibrium | None = None,
    epsilon: float | None = None,
    most_rounds: int = MAX_ROUNDS,
    history: bool = False,
    in_digits: bool = True,
) -> Equilibrium:
    """Prices and shares of the Fisher market of [000] 3.4: every tenant's shares are its best at these prices for its
    part of all weights (3.6), and every cluster is given away (3.5).

    Args:
        parallel_fraction: F, (n, m), in (0, 1].
        throughput: f over f_base, (n, m), 0 or more; for every tenant above 0 somewhere.
        weights: (n,), above 0.
        capacity: P, (m,), above 0, in PEs.
        utility: "amdahl" is (3.2); "deliverable" is linear up to one PE and (3.2) above.
        method: "newton", or "proportional_response", which is [000] 3.4.1.
        tol: The residual to reach. Newton's answers are usually exact to rounding.
        start: Prices near the equilibrium (m,), or the equilibrium of a similar market on the same clusters.
        epsilon: Proportional response stops when no price changes by as much, [000]'s criterion, instead of at `tol`.
        most_rounds: Proportional response gives up after so many, with the residual reached.
        history: Keep prices by iteration (proportional response).
        in_digits: Where Newton's method does not reach `tol` in double precision, follow a path in 60 digits, which
            takes up to minutes; in markets of up to 200 tenants, or up to 200 clusters. False: the nearest there is,
            at once.

    Raises:
        InvalidRequest: An argument is refused; the sentence and `details["field"]` name it.

    Clusters that nobody wants have the price 0 and are divided by weight. An answer that is no equilibrium says so by
    its residual; its shares sum to capacity all the same, and nobody is below its entitlement.
    """
    market, seen = examine_market(parallel_fraction, throughput, weights, capacity, utility)
    name_of(method, "method", METHODS)
    tol = number_of(tol, "tol")
    epsilon = None if epsilon is None else number_of(epsilon, "epsilon")
    if not isinstance(most_rounds, (int, np.integer)) or isinstance(most_rounds, bool) or most_rounds < 1:
        raise InvalidRequest(
            f"most_rounds is {most_rounds!r}; it must be a whole number of 1 or more.",
            field="most_rounds",
            allowed="1 or more",
        )
    first = _first_prices(start, len(market.capacity))
    kept = start.kept if isinstance(start, Equilibrium) else None
    how = _How(method, tol, first, epsilon, int(most_rounds), history, kept, in_digits)
    if not seen.wanted.all():
        return _with_unwanted(market, seen, how)
    return _solve(market, seen, how)


def _first_prices(start: npt.ArrayLike | Equilibrium | None, clusters: int) -> Array | None:
    """The prices to start at, with those that are 0 made small."""
    if start is None:
        return None
    prices = start.prices if isinstance(start, Equilibrium) else array_of(start, "start")
    good = prices.shape == (clusters,) and bool((prices >= 0).all()) and 0 < float(prices.max()) < np.inf
    if not good:
        raise InvalidRequest(
            f"start must be {clusters} prices of 0 or more, one a cluster, not all 0.",
            field="start",
            allowed=f"shape ({clusters},), 0 or more, finite",
        )
    return np.maximum(prices, 1e-6 * prices.max())


def _solve(market: Market, seen: Scan, how: _How) -> Equilibrium:
    """The equilibrium of a market in which every cluster is wanted."""
    if how.method == "proportional_response":
        return run_proportional_response(market, how.tol, how.first, how.epsilon, how.most_rounds, how.history)
    if market.utility == "amdahl" and not seen.straight:
        inverse = how.kept if isinstance(how.kept, np.ndarray) else None
        first = None if how.first is None else np.sqrt(how.first)
        # The markets on the way to this one take a while in numpy, and hardly any time in C.
        ways: list[Callable[[], Equilibrium | None]] = [
            lambda: _solve_compiled(market, seen, how),
            lambda: _by_steps(market, seen, how),
            lambda: _by_prices(market, how.tol, first, inverse),
        ]
        for way in ways if seen.marks is not None else (ways[2], ways[1]):
            found = way()
            if found is not None and found.residual <= how.tol:
                return found
    found = _by_path(market, how.tol)
    if found.residual <= how.tol:
        return found
    if how.in_digits:
        whole = market.fraction.size <= MAX_ENTRIES
        better = _end_of_path(
            market, refine_exact(market) if whole else narrow_prices(market, found.prices, found.shares)
        )
        found = min([found, *([] if better is None else [better])], key=lambda each: each.residual)
    return safe_equilibrium(found)


def _compiled(market: Market, seen: Scan, how: _How) -> Equilibrium | None:
    """By the compiled Newton, where there is one; from equal prices it takes a third more steps than from better ones,
    which is less than better ones cost."""
    if seen.marks is None:
        return None
    q = np.full(len(market.capacity), market.capacity.sum() ** -0.5) if how.first is None else np.sqrt(how.first)
    kept = how.kept if isinstance(how.kept, WarmStart) else None
    numbers = market.fraction, market.throughput, market.budgets, market.capacity
    found = compiled.newton(*numbers, q, min(how.tol, _EXACT), seen.marks, kept)
    if found is None:
        return None
    q, shares, passes, then = found
    prices = q * q
    return complete_result(market, prices / (prices @ market.capacity), shares, passes, kept=then)


def _solve_compiled(market: Market, seen: Scan, how: _How) -> Equilibrium | None:
    """By the compiled Newton, and on from there in numpy where budgets are too small for its sums."""
    found = _compiled(market, seen, how)
    if found is None or found.residual <= how.tol:
        return found
    return _by_prices(market, how.tol, np.sqrt(found.prices), None)


def _by_steps(market: Market, seen: Scan, how: _How) -> Equilibrium | None:
    """By way of markets whose capacities are less far apart."""

    def near(between: Market, prices: Array) -> Array | None:
        q = np.sqrt(prices)
        if seen.marks is not None:
            numbers = between.fraction, between.throughput, between.budgets, between.capacity
            quick = compiled.newton(*numbers, q, _ON_THE_WAY, seen.marks, None)
            return None if quick is None else quick[0] ** 2
        with np.errstate(all="ignore"):
            found = newton(between, q, _ON_THE_WAY)
        return None if found is None else found[0] ** 2

    prices = approach_prices(market, near)
    if prices is None:
        return None
    if seen.marks is None:
        return _by_prices(market, how.tol, np.sqrt(prices), None)
    return _solve_compiled(market, seen, replace(how, first=prices, kept=None))


def _by_prices(market: Market, tol: float, first: Array | None, inverse: Array | None) -> Equilibrium | None:
    """By Newton steps on log prices, from a smaller market's prices where there is one."""
    if first is None:
        smaller = sample(market)
        near = None
        if smaller is not None:
            with np.errstate(all="ignore"):
                near = newton(smaller, _first_guess(smaller), _NEAR)
        first, inverse = _first_guess(market) if near is None else near[0], None if near is None else near[3]
    with np.errstate(all="ignore"):
        found = newton(market, first, min(tol, _EXACT), inverse)
    if found is None:
        return None
    q, shares, passes, inverse = found
    prices = q * q
    return complete_result(market, prices / (prices @ market.capacity), shares, passes, kept=inverse)


def _first_guess(market: Market) -> Array:
    """Root prices after a few rounds of proportional response."""
    return np.asarray(np.sqrt(run_proportional_response(market, 0.0, most_rounds=_ROUNDS_FIRST).prices))


def _by_path(market: Market, tol: float) -> Equilibrium:
    """By the interior point, the quick way first; where that does not end at the equilibrium, the safe way. In C where
    it runs, and if that does not end there either, in numpy."""
    pieces, found = make_pieces(market), []
    for way in (_compiled_path, _path) if compiled.LIBRARY is not None else (_path,):
        for together in (False, True):
            end = _end_of_path(market, way(pieces, together))
            if end is not None:
                found.append(end)
                if end.residual <= tol:
                    return end
    return min(found, key=lambda each: each.residual)


_Point = tuple[Array, Array]
"""Shares and prices."""


def _path(pieces: Pieces, together: bool) -> Iterator[tuple[_Point, int]]:
    """The exact points at the end of the path, surest first, and last its own; with the steps it took."""
    at, steps = follow(pieces, together)
    for lean in _LEANS:
        yield finish(pieces, at, lean), steps
    yield (at.length.sum(axis=1), at.price), steps


def _compiled_path(pieces: Pieces, together: bool) -> Iterator[tuple[_Point, int]]:
    """The same in C."""
    kept = pieces.scale, pieces.bend, pieces.base, pieces.bound, pieces.budgets, pieces.capacity
    path = compiled.Path(*kept)
    followed = path.follow(together)
    if followed is None:
        return
    shares, prices, steps = followed
    for lean in _LEANS:
        exact = path.finish(lean)
        if exact is not None:
            yield exact, steps
    yield (shares, prices), steps


def _end_of_path(market: Market, points: Iterator[tuple[_Point, int]]) -> Equilibrium | None:
    """The best of the points, taken as soon as it is exact."""
    best = None
    with np.errstate(all="ignore"):
        for (shares, prices), steps in points:
            found = complete_result(market, prices, shares, steps)
            if best is None or found.residual <= best.residual:
                best = found
            if best.residual <= _EXACT_ENOUGH:
                break
    return best


def _with_unwanted(market: Market, seen: Scan, how: _How) -> Equilibrium:
    """Solve for the clusters that somebody wants; the others cost nothing and are divided by weight."""
    wanted = seen.wanted
    part = replace(
        market,
        fraction=np.ascontiguousarray(market.fraction[:, wanted]),
        throughput=np.ascontiguousarray(market.throughput[:, wanted]),
        capacity=market.capacity[wanted],
    )
    first = None if how.first is None else how.first[wanted]
    inside = replace(seen, wanted=wanted[wanted], straight=bool(part.fraction.max() > CURVED))
    inner = _solve(part, inside, replace(how, first=first, kept=None))
    shares = market.budgets[:, None] * market.capacity
    shares[:, wanted] = inner.shares
    prices = np.zeros(len(market.capacity))
    prices[wanted] = inner.prices
    return complete_result(market, prices, shares, inner.iterations, inner.history)
