# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The equilibrium by a primal-dual interior point, for utilities with straight pieces.

Where a utility is straight (F = 1, or below one PE in the deliverable one), spending jumps with prices and demand at
the equilibrium's prices is a set. So lengths of pieces become unknowns of their own: worth g(v) - p + s - r = 0 with
v s = mu and (bound - v) r = mu, mu going to 0. Then every piece is known to be empty, full or in between, and Newton
steps on those in between (`finish`) make the answer exact.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from eddy.market.pieces import Move, Pieces, direction
from eddy.market.problem import Array, Mask

MAX_STEPS = 250
_NEAR = 1e-9
"""From here on steps are whole; one that is not has met the end of double precision and is taken back."""
_LAST = 1e-14
"""Complementarity to end at, relative to a tenant's budget."""


@dataclass
class _Point:
    """Where the path stands: all of it inside the bounds."""

    length: Array
    room: Array
    price: Array
    worth: Array
    low: Array
    high: Array
    unit: Array


def _begin(pieces: Pieces, live: Mask) -> _Point:
    """Budgets spread evenly over what a tenant wants, and money worth so little that no piece is worth its price.

    All conditions hold but complementarity, whose products are all alike relative to budgets, however these differ.
    """
    k = live.shape[1]
    wanted = live.any(axis=1)
    bids = wanted * (pieces.budgets / wanted.sum(axis=1))[:, None]
    price = bids.sum(axis=0) / pieces.capacity
    share = bids / price
    if k == 1:
        length = share[:, None, :].copy()
    else:
        part = np.where(live[:, 1], np.minimum(share, 1.0) / 2, share)
        length = np.stack([part, share - part], axis=1)
    room = np.where(np.isfinite(pieces.bound), pieces.bound - length, np.inf)
    price_of = np.where(live, price / np.where(live, pieces.marginal(length), 1.0), np.inf)
    worth = 0.5 * price_of.min(axis=(1, 2))
    unit = np.minimum((pieces.budgets / wanted.sum(axis=1))[:, None, None], price * pieces.bound)
    high = np.where(live & np.isfinite(room), 0.5 * unit / room, 0.0)
    low = np.where(live, price - worth[:, None, None] * pieces.marginal(length) + high, 0.0)
    return _Point(np.where(live, length, 0.0), room, price, worth, low, high, unit)


def _longest(value: Array, change: Array, live: Mask) -> Array:
    """By tenant, the part of the change after which the first value would be 0."""
    falls = (change < 0) & live
    return np.asarray(np.where(falls, value / np.where(falls, -change, 1.0), np.inf).min(axis=(1, 2)))


def _step(pieces: Pieces, at: _Point, live: Mask, bounded: Mask, mu: Array, together: bool) -> float:
    """One step towards complementarity mu; the part of it that was taken."""
    safe = np.where(live, at.length, 1.0)
    room = np.where(bounded, at.room, 1.0)
    marginal = pieces.marginal(at.length)
    wish = mu / safe
    press = np.where(bounded, mu / room, 0.0)
    stiff = (
        at.worth[:, None, None] * pieces.curvature(at.length) + at.low / safe + np.where(bounded, at.high / room, 0.0)
    )
    give = np.where(live, 1 / np.where(live, stiff, 1.0), 0.0)
    gap = at.worth[:, None, None] * marginal - at.price + wish - press
    move = direction(pieces, at.length, at.price, at.worth, give, gap, marginal)
    low = np.where(live, wish - at.low - at.low / safe * move.length, 0.0)
    high = np.where(bounded, press - at.high + at.high / room * move.length, 0.0)
    every = np.ones((len(at.worth), 1, 1), dtype=bool)
    part = np.minimum.reduce(
        [
            _longest(at.length, move.length, live),
            _longest(at.room, -move.length, bounded),
            _longest(at.low, low, live),
            _longest(at.high, high, bounded),
            _longest(at.worth[:, None, None], move.worth[:, None, None], every),
        ]
    )
    part = np.minimum(1.0, 0.99 * part)
    if together:
        part[:] = part.min()
    _take(at, move, low, high, part, float(part @ pieces.budgets))
    return float(part.min())


def _take(at: _Point, move: Move, low: Array, high: Array, part: Array, whole: float) -> None:
    """Go every tenant's part of the step, and prices the mean one. One tenant near a bound then does not hold up all
    others: with one part for all, the number of steps grows with the number of tenants."""
    own = part[:, None, None]
    at.length += own * move.length
    at.room -= own * np.where(np.isfinite(at.room), move.length, 0.0)
    at.low += own * low
    at.high += own * high
    at.worth += part * move.worth
    falls = float((-move.price / at.price).max())
    at.price += min(whole, 0.9 / max(falls, 0.9)) * move.price


def follow(pieces: Pieces, together: bool = False) -> tuple[_Point, int]:
    """Follow the path to its end; the point there, and the steps it took.

    `together`: all tenants go the same part of a step. Takes many more steps, and is the safer way.
    """
    live = pieces.scale > 0
    bounded = live & np.isfinite(pieces.bound)
    at = _begin(pieces, live)
    size = live.sum() + bounded.sum()
    aim = 0.3
    steps = 0
    while steps < (2 * MAX_STEPS if together else MAX_STEPS):
        room = np.where(bounded, at.room, 0.0)
        mean = float(((at.length * at.low + room * at.high) / at.unit).sum() / size)
        if mean < _LAST:
            break
        before = deepcopy(at) if mean < _NEAR else None
        part = _step(pieces, at, live, bounded, aim * mean * at.unit, together)
        if before is not None and part < 0.1:
            return before, steps
        aim = 0.02 if part > 0.9 else (0.3 if part > 0.5 else 0.7)
        steps += 1
    return at, steps


_SOFT = 1e-8
"""How much, relatively, a straight piece is taken to bend in `finish`: keeps the system regular, costs a step or
two."""
_TIE = 1e-12
"""How much better than its price an empty piece must be to be taken up in `finish`."""
_FINISH_STEPS = 12


def finish(pieces: Pieces, at: _Point, lean: float = 1.0) -> tuple[Array, Array]:
    """Lengths and prices, exact: empty pieces empty, full ones full, Newton steps on the others.

    A step is exact but for straight pieces, which are taken to bend a little. It is then one of the proximal point
    method, whose errors shrink by about the bend each time.

    `lean`: below 1, that much clearer it must be that a piece is empty or full.
    """
    live = pieces.scale > 0
    bounded = live & np.isfinite(pieces.bound)
    budgets = pieces.budgets[:, None, None]
    whole = np.maximum(at.price / budgets, 1 / pieces.capacity)
    filled = bounded & (np.where(bounded, at.room, 0.0) * whole < lean * at.high / at.price)
    empty = live & (at.length * whole < lean * at.low / at.price)
    between = live & ~filled & ~empty
    length = np.where(filled, pieces.bound, np.where(between, at.length, 0.0))
    price, worth = at.price.copy(), at.worth.copy()
    best = (np.inf, length, price)
    for _ in range(_FINISH_STEPS):
        marginal = pieces.marginal(length)
        value = worth[:, None, None] * marginal
        gap = value - price
        soft = _SOFT * price * price / np.maximum(price * length, budgets)
        stiff = np.maximum(worth[:, None, None] * pieces.curvature(length), soft)
        give = np.where(between, 1 / np.where(between, stiff, 1.0), 0.0)
        off = max(
            float(np.abs(np.where(between, gap, 0.0) / price).max()),
            float(np.abs(length.sum(axis=(0, 1)) / pieces.capacity - 1).max()),
            float(np.abs((length.sum(axis=1) @ price) / pieces.budgets - 1).max()),
        )
        if off < best[0]:
            best = (off, length, price)
        if off < 1e-14:
            break
        move = direction(pieces, length, price, worth, give, gap, marginal)
        scale = min(
            1.0, 0.5 / max(float((-move.price / price).max()), 0.5), 0.5 / max(float((-move.worth / worth).max()), 0.5)
        )
        length = length + scale * move.length
        price, worth = price + scale * move.price, worth + scale * move.worth
        between, length = _reclassified(pieces, between, length, price, worth)
    return best[1].sum(axis=1), best[2]


def _reclassified(pieces: Pieces, between: Mask, length: Array, price: Array, worth: Array) -> tuple[Mask, Array]:
    """Which pieces are neither empty nor full after a step, and all lengths within their bounds."""
    value = worth[:, None, None] * pieces.marginal(length) / price
    over, under = length > pieces.bound, length < 0
    full = length >= pieces.bound
    wakes = (pieces.scale > 0) & ~between & np.where(full, value < 1 - _TIE, (length <= 0) & (value > 1 + _TIE))
    kept = (between & ~over & ~under) | wakes
    length = np.clip(length, 0.0, pieces.bound)
    return kept | _needed(pieces, kept, length, value), length


def _needed(pieces: Pieces, between: Mask, length: Array, value: Array) -> Mask:
    """Pieces that must move because nothing else of their cluster does, and more or less of it is taken than there is:
    its full ones, or the empty ones that are worth most."""
    excess = length.sum(axis=(0, 1)) / pieces.capacity - 1
    stuck = ~between.any(axis=(0, 1)) & (np.abs(excess) > _TIE)
    if not stuck.any():
        return np.zeros_like(between)
    open_above = (pieces.scale > 0) & (length < pieces.bound)
    worth = np.where(open_above, value, 0.0)
    best = open_above & (worth >= worth.max(axis=(0, 1)) * (1 - _SOFT))
    return np.asarray(stuck & np.where(excess > 0, (length > 0) & (length >= pieces.bound), best))
