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

import heapq
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from eddy.policy.price.thresholds import Fixed, Thresholds
from eddy.policy.price.view import NOBODY, Floats, PriceView, Shares

_LITTLE = 1e-300
_TIE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Purse:
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

    def initial(self, weights: Floats, accelerators: int) -> Purse:
        """Budgets in proportion to the weights (4.1); the first turn is the first agent's."""
        total = self.tokens_per_agent * len(weights)
        return Purse(weights * (total / weights.sum()), 0, self.thresholds.initial(weights, accelerators))

    def decide(self, view: PriceView) -> Shares:
        """One round of Algorithm 1."""
        purse: Purse = view.memory
        if self.urgent:
            view = replace(view, utilities=view.urgent)
        least, learned = self.thresholds.ask(view, purse.budgets)
        owner, budgets, turn = play(view.utilities, view.weights, least, purse.budgets, purse.turn)
        return Shares(np.array(owner), Purse(budgets, turn, learned))


def play(
    utilities: Floats, weights: Floats, least: Floats, budgets: Floats, turn: int
) -> tuple[list[int], Floats, int]:
    """One round: sell, give the tokens back, deal the remainder.

    Returns:
        Owner of each accelerator, tokens after the round, whose turn is next.
    """
    owner, left = sell(utilities, least, budgets, turn)
    paid = len(owner) - owner.count(NOBODY)
    left += weights * (paid / weights.sum())
    return owner, left, deal(utilities, owner, turn)


def sell(utilities: Floats, least: Floats, budgets: Floats, turn: int) -> tuple[list[int], Floats]:
    """The paying part: one accelerator, one token, whoever has most of them first.

    All preferences are ranked in one call, since in numpy calls cost more than comparisons; each agent's list is then
    walked once. Utilities that differ by less than a billionth may count as equal.

    Args:
        utilities: (agents, accelerators).
        least: Threshold of each agent, in the units of `utilities`; (agents,). Nobody pays for what is of no use.
        budgets: Tokens before the round; (agents,).
        turn: Settles ties: the agent with this index goes first, then the next.

    Returns:
        Owner of each accelerator, `NOBODY` where nobody paid; tokens after paying.
    """
    agents, free = utilities.shape
    liked = utilities >= np.maximum(least, _LITTLE)[:, None]
    ranked = np.where(liked, np.arange(free) * _TIE - utilities, 1.0).argsort(axis=1)
    count = np.count_nonzero(liked, axis=1).tolist()
    left = budgets.tolist()
    queue = [(-left[a], (a - turn) % agents, a) for a in range(agents) if count[a] and left[a] > 0]
    heapq.heapify(queue)
    owner = [NOBODY] * free
    lists: list[Iterator[int] | None] = [None] * agents
    while queue and free:
        debt, place, agent = queue[0]
        likes = lists[agent]
        if likes is None:
            likes = lists[agent] = iter(ranked[agent, : count[agent]].tolist())
        for best in likes:
            if owner[best] < 0:
                break
        else:
            heapq.heappop(queue)
            continue
        owner[best] = agent
        free -= 1
        debt += 1.0
        left[agent] = -debt
        if debt < 0:
            heapq.heapreplace(queue, (debt, place, agent))
        else:
            heapq.heappop(queue)
    return owner, np.array(left)


def deal(utilities: Floats, owner: list[int], turn: int) -> int:
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
