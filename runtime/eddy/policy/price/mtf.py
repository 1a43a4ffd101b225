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
from dataclasses import dataclass, field

import numpy as np

from eddy.policy.price.thresholds import Fixed, Thresholds
from eddy.policy.price.view import NOBODY, Floats, PriceView, Shares


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
    """

    thresholds: Thresholds = field(default_factory=Fixed)
    tokens_per_agent: float = 4.0
    name: str = "mtf"

    def initial(self, weights: Floats, accelerators: int) -> Purse:
        """Budgets in proportion to the weights (4.1); the first turn is the first agent's."""
        total = self.tokens_per_agent * len(weights)
        return Purse(weights * (total / weights.sum()), 0, self.thresholds.initial(weights, accelerators))

    def decide(self, view: PriceView) -> Shares:
        """One round of Algorithm 1."""
        purse: Purse = view.memory
        least, learned = self.thresholds.ask(view, purse.budgets)
        owner, budgets = sell(view.utilities, least, purse.budgets, purse.turn)
        paid = len(owner) - owner.count(NOBODY)
        turn = deal(view.utilities, owner, purse.turn)
        budgets += view.weights * (paid / view.weights.sum())
        return Shares(np.array(owner), Purse(budgets, turn, learned))


def sell(utilities: Floats, least: Floats, budgets: Floats, turn: int) -> tuple[list[int], Floats]:
    """The paying part: one accelerator, one token, whoever has most of them first.

    Args:
        utilities: (agents, accelerators).
        least: Threshold of each agent, in the units of `utilities`; (agents,). Nobody pays for what is of no use.
        budgets: Tokens before the round; (agents,).
        turn: Settles ties: the agent with this index goes first, then the next.

    Returns:
        Owner of each accelerator, `NOBODY` where nobody paid; tokens after paying.
    """
    agents, accelerators = utilities.shape
    wanted = np.where((utilities >= least[:, None]) & (utilities > 0), utilities, -1.0)
    owner = [NOBODY] * accelerators
    left = budgets.tolist()
    queue = [(-tokens, (agent - turn) % agents) for agent, tokens in enumerate(left) if tokens > 0]
    heapq.heapify(queue)
    free = accelerators
    while queue and free:
        place = queue[0][1]
        agent = (place + turn) % agents
        likes = wanted[agent]
        best = int(likes.argmax())
        if likes[best] < 0:
            heapq.heappop(queue)
            continue
        owner[best] = agent
        wanted[:, best] = -1.0
        free -= 1
        left[agent] -= 1.0
        if left[agent] > 0:
            heapq.heapreplace(queue, (-left[agent], place))
        else:
            heapq.heappop(queue)
    return owner, np.array(left)


def deal(utilities: Floats, owner: list[int], turn: int) -> int:
    """Deal what nobody paid for, in turns, into `owner`; returns whose turn is next."""
    free = [accelerator for accelerator, agent in enumerate(owner) if agent == NOBODY]
    if not free:
        return turn
    agents = len(utilities)
    rest = utilities[:, free]
    passed = 0
    while passed < agents and free:
        likes = rest[turn]
        best = int(likes.argmax())
        if likes[best] > 0:
            owner[free[best]] = turn
            rest[:, best] = 0.0
            passed = 0
        else:
            passed += 1
        turn = (turn + 1) % agents
    return turn
