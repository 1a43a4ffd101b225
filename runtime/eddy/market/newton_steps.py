# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Steps of log prices, log epsilon and log w that change a smoothed market's demand and spending as is asked.

Two kinds of unknowns hang together: to first order the PEs demanded of a cluster change by what its price and its
buyers' w do, and what a tenant spends by its w and the prices it pays. Each kind can be eliminated before the system is
solved, w tenant by tenant or prices cluster by cluster; eliminated is the kind of which there are more.
"""

from __future__ import annotations

from decimal import Decimal

from eddy.market.smoothed import ZERO, DemandSample, Row

Along = tuple[Row, Decimal]
"""A direction, over log prices, log epsilon and log w, and how far to go in it."""


def solve_moves(look: DemandSample, excess: Row, mended: bool = False, along: Along | None = None) -> Row:
    """Changes of log prices (m), log epsilon (1) and log w (n), to first order.

    Args:
        excess: The change of every cluster's excess that is asked for, (m,).
        mended: What tenants spend becomes their budgets; else it stays.
        along: How far to go in a direction; else epsilon stays.
    """
    by = _by_worths if len(look.bought) < len(look.price) else _by_prices
    return by(look, excess, mended, along)


def _by_prices(look: DemandSample, excess: Row, mended: bool, along: Along | None) -> Row:
    """With a system of prices and epsilon, (m + 1)."""
    m, answers, right = len(look.price), [], list(excess)
    rows = [[ZERO] * (m + 1) for _ in range(m)]
    for bought, spent in zip(look.bought, look.spending, strict=True):
        answer = [(each.cluster, look.price[each.cluster] * (each.rises - each.pes) / spent.rises) for each in bought]
        drifts, mends = -spent.bends / spent.rises, -spent.over / spent.rises if mended else ZERO
        answers.append((answer, drifts, mends))
        for each in bought:
            there, row = look.capacity[each.cluster], rows[each.cluster]
            pull = each.rises / there
            right[each.cluster] -= pull * mends
            row[each.cluster] -= pull
            for other, by in answer:
                row[other] += pull * by
            row[m] += each.bends / there + pull * drifts
    if along is None:
        move = [*solve_linear([row[:m] for row in rows], right), ZERO]
    else:
        direction, far = along
        border = direction[: m + 1]
        for (answer, drifts, mends), by_worth in zip(answers, direction[m + 1 :], strict=True):
            for c, by in answer:
                border[c] += by_worth * by
            border[m] += by_worth * drifts
            far -= by_worth * mends
        move = solve_linear([*rows, border], [*right, far])
    grows = [sum((by * move[c] for c, by in answer), drifts * move[m] + mends) for answer, drifts, mends in answers]
    return [*move, *grows]


def _by_worths(look: DemandSample, excess: Row, mended: bool, along: Along | None) -> Row:
    """With a system of w and epsilon, (n + 1)."""
    n, m = len(look.bought), len(look.price)
    total, fades = [ZERO] * m, [ZERO] * m
    for bought in look.bought:
        for each in bought:
            total[each.cluster] += each.rises
            fades[each.cluster] += each.bends
    # A log price changes by `fixed`, by `bends` of the change of log epsilon, and by its part of every buyer's w.
    fixed = [-asked * there / every for asked, there, every in zip(excess, look.capacity, total, strict=True)]
    bends = [fade / every for fade, every in zip(fades, total, strict=True)]
    parts: list[list[tuple[int, Decimal]]] = [[] for _ in range(m)]
    for i, bought in enumerate(look.bought):
        for each in bought:
            parts[each.cluster].append((i, each.rises / total[each.cluster]))

    def eliminated(row: Row, right: Decimal, by_price: list[tuple[int, Decimal]]) -> tuple[Row, Decimal]:
        """The row and its right side without prices, which had these coefficients."""
        for c, by in by_price:
            for i, part in parts[c]:
                row[i] += by * part
            row[n] += by * bends[c]
            right -= by * fixed[c]
        return row, right

    system = []
    for i, (bought, spent) in enumerate(zip(look.bought, look.spending, strict=True)):
        row = [ZERO] * (n + 1)
        row[i], row[n] = spent.rises, spent.bends
        paid = [(each.cluster, look.price[each.cluster] * (each.pes - each.rises)) for each in bought]
        system.append(eliminated(row, -spent.over if mended else ZERO, paid))
    if along is None:
        move = [*solve_linear([row[:n] for row, _ in system], [right for _, right in system]), ZERO]
    else:
        direction, far = along
        system.append(eliminated([*direction[m + 1 :], direction[m]], far, list(enumerate(direction[:m]))))
        move = solve_linear([row for row, _ in system], [right for _, right in system])
    prices = [sum((part * move[i] for i, part in parts[c]), fixed[c] + bends[c] * move[n]) for c in range(m)]
    return [*prices, move[n], *move[:n]]


def solve_linear(matrix: list[Row], right: Row) -> Row:
    """x with matrix x = right, by elimination with row pivots."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        first = rows[k]
        held = [(c, first[c]) for c in range(k + 1, n + 1) if first[c]]
        for row in rows[k + 1 :]:
            if row[k]:
                part = row[k] / first[k]
                for c, by in held:
                    row[c] -= part * by
    found = [ZERO] * n
    for k in reversed(range(n)):
        known = sum((rows[k][c] * found[c] for c in range(k + 1, n)), ZERO)
        found[k] = (rows[k][n] - known) / rows[k][k]
    return found
