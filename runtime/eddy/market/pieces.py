# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Utilities as sums of pieces, and the linear system that moves shares, prices and the worth of money together.

A piece of tenant i on cluster c has a length v from 0 to a bound (which may be infinite) and a marginal utility
g(v) = scale / (bend v + base)^2. (3.2) is one piece, with bend 1 - F and base F; where F = 1 its slope is constant. The
deliverable utility is two: one PE of constant slope, and the part of (3.2) above it. Arrays have the shape (n, k, m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.market.problem import Array, Market


@dataclass(frozen=True)
class Pieces:
    """The pieces of every tenant on every cluster, (n, k, m), and what is to be spent and shared."""

    scale: Array
    bend: Array
    base: Array
    bound: Array
    budgets: Array
    capacity: Array

    def marginal(self, length: Array) -> Array:
        """Marginal utility of every piece at these lengths."""
        return np.asarray(self.scale / (self.bend * length + self.base) ** 2)

    def curvature(self, length: Array) -> Array:
        """How fast the marginal utility falls, at least 0."""
        return np.asarray(2 * self.bend * self.scale / (self.bend * length + self.base) ** 3)


def make_pieces(market: Market) -> Pieces:
    """The pieces of a market, throughputs relative to each tenant's largest."""
    fraction = market.fraction[:, None, :]
    speed = (market.throughput / market.throughput.max(axis=1, keepdims=True))[:, None, :]
    endless = np.full_like(fraction, np.inf)
    if market.utility == "amdahl":
        found = (speed * fraction, 1 - fraction, fraction, endless)
        return Pieces(*found, market.budgets, market.capacity)
    one = np.ones_like(fraction)
    straight = fraction == 1
    scale = np.concatenate([speed, np.where(straight, 0.0, speed * fraction)], axis=1)
    bend = np.concatenate([0 * one, 1 - fraction], axis=1)
    bound = np.concatenate([np.where(straight, np.inf, 1.0), endless], axis=1)
    return Pieces(scale, bend, np.concatenate([one, one], axis=1), bound, market.budgets, market.capacity)


@dataclass(frozen=True)
class Move:
    """Changes of lengths (n, k, m), prices (m,) and worth of money (n,)."""

    length: Array
    price: Array
    worth: Array


def direction(
    pieces: Pieces, length: Array, price: Array, worth: Array, give: Array, gap: Array, marginal: Array
) -> Move:
    """Newton's step for budgets, clearing and worth * g - price + (what `gap` stands for) = 0.

    Args:
        length: v, where the step starts.
        price: p there.
        worth: 1 / marginal utility of money, by tenant.
        give: How much a piece's length answers a gap between worth * g and price; 0 for pieces that stay put.
        marginal: g(v).

    Every piece's change is give (g dworth - dprice + gap). That leaves one unknown a tenant, which its budget gives,
    and the prices, which clearing gives: a diagonal less a product of two (n, m) matrices.
    """
    pull = give * marginal
    drive = give * gap
    spent = (length.sum(axis=1) @ price) - pieces.budgets
    slope = pull.sum(axis=1) @ price
    slope = np.where(slope > 0, slope, 1.0)
    held = give.sum(axis=1)
    tenant = (length.sum(axis=1) - held * price) / slope[:, None]
    first = (-spent - drive.sum(axis=1) @ price) / slope
    pulled = pull.sum(axis=1)
    matrix = pulled.T @ tenant
    matrix.flat[:: len(price) + 1] += held.sum(axis=0)
    short = pieces.capacity - length.sum(axis=(0, 1)) - drive.sum(axis=(0, 1)) - pulled.T @ first
    change = -solve_prices(matrix * price * price[:, None], short * price, price)
    rise = first - tenant @ change
    moved = give * (marginal * rise[:, None, None] - change + gap)
    return Move(moved, change, rise)


def solve_prices(matrix: Array, right: Array, price: Array) -> Array:
    """Changes of prices from the system in relative ones."""
    try:
        relative = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        relative = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return np.asarray(relative * price)
