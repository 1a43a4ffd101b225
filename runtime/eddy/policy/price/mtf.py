# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Most token first ([003] 4.1, Algorithm 1): accelerators go to whoever has most tokens and wants one enough to pay.

What the document leaves open is decided here:

- *Who is first among equal budgets*: the agent whose turn in the round robin comes sooner. Turns move on, so nobody is
  favoured for good.
- *Which of equally good accelerators*: the one of lowest index.
- *A positive budget* suffices to pay one token, so a budget may fall below zero by less than a token.
- *`DistributeTokens`*: what was paid in a round comes back in proportion to the weights, in fractions, as in (4.1): the
  number of tokens in circulation never changes.
- *The remainder* is dealt in turns, one accelerator a turn, each agent taking what it likes best of what is left. An
  agent with no use for anything left is passed over.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from eddy.policy.price.rounds import NOBODY, Floats, Ints, Owners, RoundView
from eddy.policy.price.thresholds import Fixed, Thresholds, highest

_LITTLE = 1e-300
_LAST = (math.inf, 0)
_AT_ONCE = 16
"""Agents whose preferences are ranked in one call: calls cost more than comparisons, and few agents come to pay."""
_ROWS = np.arange(_AT_ONCE + 1)


@dataclass(frozen=True, slots=True, eq=False)
class TokenBalances:
    """What is remembered from round to round.

    Attributes:
        budgets: Tokens of each agent; (agents,).
        turn: Agent whose turn it is to be dealt a remaining accelerator.
        thresholds: The thresholds' own memory.
    """

    budgets: Floats
    turn: int
    thresholds: object = None


@dataclass(frozen=True, slots=True)
class MostTokenFirst:
    """Algorithm 1 with thresholds that are given or learned.

    Attributes:
        thresholds: What each agent is asked: from which utility on would you pay?
        tokens_per_agent: Tokens in circulation, divided by the agents (the document's T is open).
        urgent: Whether agents rank accelerators by their urgent work instead of all the work they could do: what can
            wait is left to wait, and tokens are kept for what cannot.
    """

    thresholds: Thresholds = field(default_factory=Fixed)
    tokens_per_agent: float = 80.0
    urgent: bool = False
    name: str = "mtf"

    def initial(self, weights: Floats, accelerators: int) -> TokenBalances:
        """Budgets in proportion to the weights (4.1); the first turn is the first agent's."""
        total = self.tokens_per_agent * len(weights)
        return TokenBalances(weights * (total / weights.sum()), 0, self.thresholds.initial(weights, accelerators))

    def decide(self, view: RoundView) -> Owners:
        """One round of Algorithm 1."""
        purse: TokenBalances = view.memory
        if self.urgent:
            view = replace(view, utilities=view.urgent)
        best = highest(view.utilities)
        least, learned = self.thresholds.compute_thresholds(view, purse.budgets, best)
        owner, budgets, turn = play_round(view.utilities, view.weights, least, purse.budgets, purse.turn, best)
        return Owners(owner, TokenBalances(budgets, turn, learned))


def play_round(
    utilities: Floats, weights: Floats, least: Floats, budgets: Floats, turn: int, best: Floats | None = None
) -> tuple[Ints, Floats, int]:
    """One round: sell, give the tokens back, deal the remainder.

    Args:
        utilities: (agents, accelerators).
        least: Threshold of each agent.
        budgets: Tokens before the round; (agents,).
        turn: Whose turn it is.
        best: `highest(utilities)`, where it is known already.

    Returns:
        Owner of each accelerator, tokens after the round, whose turn is next.
    """
    owner = sell_round(utilities, least, budgets, turn, best)
    free = owner.count(NOBODY)
    held = np.array(owner)
    left = budgets - np.bincount(held[held >= 0] if free else held, minlength=len(budgets))
    left += weights * ((len(owner) - free) / weights.sum())
    if free:
        turn = deal_remainder(utilities, owner, turn)
        held = np.array(owner)
    return held, left, turn


def sell_round(utilities: Floats, least: Floats, budgets: Floats, turn: int, best: Floats | None = None) -> list[int]:
    """The paying part: one accelerator, one token, whoever has most of them first.

    Whoever paid has one token less, and comes again behind all who have more. So those who paid line up in the order
    in which they did; this line and that of those who have not paid yet are merged, and nothing is sorted again.

    Args:
        utilities: (agents, accelerators).
        least: Threshold of each agent, in the units of `utilities`; (agents,). Nobody pays for what is of no use.
        budgets: Tokens before the round; (agents,).
        turn: Settles ties: the agent with this index goes first, then the next.
        best: `highest(utilities)`, where it is known already.

    Returns:
        Owner of each accelerator, `NOBODY` where nobody paid; each has cost its owner one token.
    """
    least = np.maximum(least, _LITTLE)
    keen = ((highest(utilities) if best is None else best) >= least).nonzero()[0]
    if turn:
        soonest = keen.searchsorted(turn)
        keen = np.concatenate((keen[soonest:], keen[:soonest]))
    debts = -budgets.take(keen)
    order = debts.argsort(kind="stable")
    names = keen.tolist()
    fresh = [*zip(debts.take(order).tolist(), order.tolist()), _LAST]  # noqa: B905 (its check costs microseconds)
    again: deque[tuple[float, int, Iterator[int]]] = deque()
    free = utilities.shape[1]
    owner = [NOBODY] * free
    ranked: list[int] = []
    ends: list[int] = []
    started = 0
    while free:
        if again and again[0] < fresh[started]:
            debt, place, likes = again.popleft()
        else:
            debt, place = fresh[started]
            if debt >= 0:
                break
            batch = started % _AT_ONCE
            if not batch:
                asked = keen.take(order[started : started + _AT_ONCE])
                ranked, ends = _ranked(utilities.take(asked, axis=0), least.take(asked))
            likes = iter(ranked[ends[batch] : ends[batch + 1]])
            started += 1
        for liked in likes:
            if owner[liked] < 0:
                break
        else:
            continue
        owner[liked] = names[place]
        free -= 1
        debt += 1.0
        if debt < 0:
            again.append((debt, place, likes))
    return owner


def _ranked(utilities: Floats, least: Floats) -> tuple[list[int], list[int]]:
    """What each of some agents likes, best first, all in one list; where in it each agent's part begins, and its end.

    Of equally good accelerators, the lowest index goes first.
    """
    likes = utilities >= least[:, None]
    agent, liked = likes.nonzero()
    ranked = liked.take(np.lexsort((-utilities[likes], agent)))
    return ranked.tolist(), agent.searchsorted(_ROWS).tolist()


def deal_remainder(utilities: Floats, owner: list[int], turn: int) -> int:
    """Deal what nobody paid for, in turns, into `owner`; returns whose turn is next."""
    free = [accelerator for accelerator, agent in enumerate(owner) if agent == NOBODY]
    if not free:
        return turn
    rest = utilities[:, free]
    best_of = rest.argmax(axis=1)
    favourites = best_of.tolist()
    keen = np.flatnonzero(rest[np.arange(len(rest)), best_of] > 0).tolist()
    soonest = bisect_left(keen, turn)
    line = keen[soonest:] + keen[:soonest]
    left = len(free)
    while line and left:
        again = []
        for agent in line:
            best = favourites[agent]
            if owner[free[best]] != NOBODY:
                likes = rest[agent]
                best = int(likes.argmax())
                if likes[best] <= 0:
                    continue
                favourites[agent] = best
            owner[free[best]] = agent
            rest[:, best] = 0.0
            turn = agent + 1
            left -= 1
            if not left:
                break
            again.append(agent)
        line = again
    return turn % len(utilities)
