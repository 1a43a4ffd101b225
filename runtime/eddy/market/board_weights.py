# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One market over several boards, each of which shares itself by weights: which weight a tenant has on which board.

A tenant has a weight in the pool. It bids parts of it for cores of the boards it has work on, and its bid is its
weight there; what it bids adds up to its weight in the pool, so a tenant on two boards has no more than one on one.
Bids go by proportional response, as in [000]: what a tenant bids for a board is the part of its cores that it has
there. Where that stands still, cores over weight are equal as far as boards and wants allow: with prices p of a core,
weight over cores is p on every board a tenant has cores of, less only where it wants no more cores.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
ROUNDS = 400
"""Rounds of proportional response. Its error falls as 1 over their number at worst."""
MIN_PART = 1e-3
"""Of its weight that a tenant bids in any case, in equal parts for each board it wants cores of."""


def fill_cores(bids: Floats, wants: Floats, capacity: Floats, others: Floats) -> Floats:
    """Cores each tenant has where every board shares itself by bids, and gives what is not wanted to the others.

    Args:
        bids: (n, m), 0 or more.
        wants: Cores a tenant can use, (n, m); infinite for any number.
        capacity: Cores, (m,).
        others: Bids of those who always want more, (m,).

    Returns:
        Cores, (n, m).
    """
    has = np.zeros_like(bids)
    open_ = (bids > 0) & (wants > 0)
    left = capacity.astype(np.float64)
    while True:
        total = np.where(open_, bids, 0.0).sum(axis=0) + others
        level = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
        has = np.where(open_, bids * level, has)
        full = open_ & (has >= wants)
        if not full.any():
            return has
        has = np.where(full, wants, has)
        open_ = open_ & ~full
        left = np.maximum(capacity - np.where(open_, 0.0, has).sum(axis=0), 0.0)


def split_bids(weights: Floats, wants: Floats, capacity: Floats, others: Floats, rounds: int = ROUNDS) -> Floats:
    """What each tenant bids for each board, which is its weight there.

    Args:
        weights: In the pool, (n,), above 0.
        wants: Cores a tenant can use on a board, (n, m); 0 where it has no work, infinite for any number.
        capacity: Cores of each board, (m,).
        others: Weights on a board of those who are there alone, (m,).
        rounds: Of proportional response.

    Returns:
        Bids, (n, m); rows sum to the weights where a tenant wants something, and are 0 elsewhere.
    """
    here = wants > 0
    boards = here.sum(axis=1, keepdims=True)
    least = MIN_PART * here / np.maximum(boards, 1)
    part = here * capacity
    bids: Floats = weights[:, None] * here / np.maximum(boards, 1.0)
    for _ in range(rounds):
        total = part.sum(axis=1, keepdims=True)
        part = np.divide(part, total, out=here / np.maximum(boards, 1.0), where=total > 0)
        part = least + part * (1.0 - least.sum(axis=1, keepdims=True))
        bids = weights[:, None] * part
        part = fill_cores(bids, wants, capacity, others)
    return bids
