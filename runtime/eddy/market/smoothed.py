# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Demand of a market whose kinks are rounded off, in decimal numbers of any precision: what `exact` follows.

Where a utility is straight or has a kink, demand jumps. Here it bends over a width epsilon of relative prices instead,
and is smooth in log prices and in log epsilon; with epsilon to 0 it becomes the market's. With r = w f / p, w being
what a unit of utility is worth to a tenant in money:

- one PE of constant slope is bought by the part (1 + L / sqrt(1 + L^2)) / 2, L = (r - 1 / r) / (2 epsilon);
- of (3.2) a tenant buys K h(a), where the market has K max(0, a): h(a) = (a + sqrt(a^2 + 4 g^2)) / 2, g falling with
  epsilon, and a = rho - 1, rho = sqrt(r / F), or sqrt(r F) above one PE. Below rho = 1, a is 1 - 1 / rho, so that
  nothing is spent on what is worth nothing, however small a budget is;
- F is less than 1 by a part of epsilon, so that no slope is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from eddy.market.problem import Market

Row = list[Decimal]
ZERO, ONE, TWO, HALF = Decimal(0), Decimal(1), Decimal(2), Decimal("0.5")
_MAX_TRIES = 400
_BEND = 10
"""Part of epsilon, over the cluster's PEs, by which F is less than 1 at least: one in so many."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """What a tenant buys of a cluster.

    Attributes:
        cluster: Its index.
        pes: PEs.
        rises: Their derivative by log w.
        bends: Their derivative by log epsilon.
    """

    cluster: int
    pes: Decimal
    rises: Decimal
    bends: Decimal


@dataclass(frozen=True, slots=True)
class BudgetExcess:
    """What a tenant spends beyond its budget, with the derivatives of that by log w and log epsilon."""

    over: Decimal
    rises: Decimal
    bends: Decimal


@dataclass(frozen=True, slots=True)
class DemandSample:
    """Demand at some prices and some worths w of money; what it says of a step is in newton_steps.py.

    Attributes:
        price: The prices; (m,).
        capacity: PEs there are; (m,).
        excess: PEs demanded over PEs there are, less 1; (m,).
        over: What tenants spend over their budgets, less 1; (n,).
        bought: Of each tenant.
        spending: Of each tenant.
    """

    price: Row
    capacity: Row
    excess: Row
    over: Row
    bought: list[list[Purchase]]
    spending: list[BudgetExcess]

    @property
    def worst_excess(self) -> Decimal:
        """The largest excess of a cluster or a tenant, either way."""
        return max(max(map(abs, self.excess)), max(map(abs, self.over)))


class SmoothedDemand:
    """Every tenant's demand; to be used in one decimal context.

    Args:
        market: Whose; every cluster of it is wanted.

    Attributes:
        looks: How often it was looked at.
    """

    def __init__(self, market: Market) -> None:
        numbers = zip(market.throughput.tolist(), market.fraction.tolist(), strict=True)
        self.wants = [
            [(c, Decimal(f), Decimal(part)) for c, (f, part) in enumerate(zip(*row, strict=True)) if f > 0]
            for row in numbers
        ]
        self.capacity = [Decimal(each) for each in market.capacity.tolist()]
        budgets = [Decimal(each) for each in market.budgets.tolist()]
        self.budgets = [each / sum(budgets) for each in budgets]
        self.deliverable = market.utility == "deliverable"
        self.looks = 0

    def even(self) -> tuple[Row, Row]:
        """Prices if everybody spent alike on all it wants, and a w that is near what suits them, by tenant."""
        price = [ZERO] * len(self.capacity)
        for row, budget in zip(self.wants, self.budgets, strict=True):
            for c, _, _ in row:
                price[c] += budget / len(row) / self.capacity[c]
        return price, [min(price[c] / f for c, f, _ in row) for row in self.wants]

    def at(self, price: Row, worths: Row, epsilon: Decimal) -> DemandSample:
        """Look at demand."""
        self.looks += 1
        excess, over, every, spending = [-ONE] * len(self.capacity), [], [], []
        for i, w in enumerate(worths):
            bought, spent = self._bought(i, w, price, epsilon)
            for each in bought:
                excess[each.cluster] += each.pes / self.capacity[each.cluster]
            over.append(spent.over / self.budgets[i])
            every.append(bought)
            spending.append(spent)
        return DemandSample(price, self.capacity, excess, over, every, spending)

    def worth(self, i: int, w: Decimal, price: Row, epsilon: Decimal, exact: Decimal) -> Decimal:
        """The w, from this one on, at which a tenant spends its budget to within `exact`, relatively.

        What it spends grows with w: Newton steps between bounds that close in.
        """
        low = high = ZERO
        for count in range(_MAX_TRIES):
            _, spent = self._bought(i, w, price, epsilon)
            if abs(spent.over) < exact * self.budgets[i]:
                break
            low, high = (low, w) if spent.over > 0 else (w, high)
            step = -spent.over / spent.rises
            then = w * (ONE + step) if -HALF < step < TWO else w * (8 if step > 0 else HALF / 4)
            if low and high and (count % 8 == 7 or not low < then < high):
                then = (low * high).sqrt()
            w = then
        return w

    def _bought(self, i: int, w: Decimal, price: Row, epsilon: Decimal) -> tuple[list[Purchase], BudgetExcess]:
        """What a tenant buys and spends."""
        over, spends, fades = -self.budgets[i], ZERO, ZERO
        bought = []
        for c, f, fraction in self.wants[i]:
            p = price[c]
            x, rises, bends = self._piece(w * f / p, fraction, epsilon, self.capacity[c])
            over, spends, fades = over + p * x, spends + p * rises, fades + p * bends
            bought.append(Purchase(c, x, rises, bends))
        return bought, BudgetExcess(over, spends, fades)

    def _piece(
        self, r: Decimal, fraction: Decimal, epsilon: Decimal, capacity: Decimal
    ) -> tuple[Decimal, Decimal, Decimal]:
        """PEs at r = w f / p, and their derivatives by log r and log epsilon; see the module."""
        x = rises = bends = ZERO
        less = fraction * epsilon / (_BEND * max(capacity, ONE))
        fraction -= less
        serial = ONE - fraction
        if self.deliverable:
            level = (r - 1 / r) / (2 * epsilon)
            q = (ONE + level * level).sqrt()
            x = 1 / (2 * q * (q - level)) if level < 0 else ONE - 1 / (2 * q * (q + level))
            steep = 1 / (2 * q * q * q)
            rises, bends = steep * (r + 1 / r) / (2 * epsilon), -steep * level
            rho, k, drift = (r * fraction).sqrt(), ONE / serial, -less / fraction / 2
        else:
            rho, k, drift = (r / fraction).sqrt(), fraction / serial, less / fraction / 2
        a, slope = (rho - 1, rho) if rho >= 1 else (1 - 1 / rho, 1 / rho)
        g, widens = epsilon / (1 + k), -less / (serial * serial)
        q = (a * a + 4 * g * g).sqrt()
        h = 2 * g * g / (q - a) if a < 0 else (a + q) / 2
        turn = h / q * slope
        narrows = g * (ONE - widens / (1 + k))
        return x + k * h, rises + k * turn / 2, bends + widens * h + k * (turn * drift + 2 * g * narrows / q)
