# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[003]'s rounds as shares of an epoch.

A policy that shares by rounds gives each accelerator to one agent a round. Here an accelerator is a core, an agent is a
tenant, and an epoch is so many rounds: the policy plays them all at the start of the epoch, from where it stopped, and
a tenant's share of a cluster is the part of the rounds in which it held each core. So tokens, turns and passes
are the policy's own, and cores change hands as finely as they do under any other policy.

What a tenant would get done in a round is its throughput on the core, over that on its best one. Its work waits until
it is served, so `urgent` is the same as `utilities`; what a tenant with little work leaves goes to the others at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.policy.price.rounds import NOBODY, Floats, RoundPolicy, RoundView
from eddy.policy.price.view import PriceDecision, PriceView, Traits, zero_prices


@dataclass(frozen=True, slots=True, eq=False)
class RoundState:
    """What is remembered.

    Attributes:
        of: The tenants, their weights and the cores it was played for; with others, the policy starts over.
        rounds: Played so far.
    """

    of: tuple[Any, ...] = ()
    rounds: int = 0
    memory: Any = None


@dataclass(frozen=True, slots=True)
class RoundShares:
    """Plays the rounds of an epoch.

    Attributes:
        policy: Who gets what in a round.
        rounds: Rounds of an epoch: shares are multiples of one over them.
    """

    policy: RoundPolicy
    rounds: int = 60
    traits: Traits = field(default_factory=Traits)

    @property
    def name(self) -> str:
        """The policy's."""
        return self.policy.name

    def initial(self) -> RoundState:
        """Nothing was played."""
        return RoundState()

    def decide(self, view: PriceView) -> PriceDecision:
        """Play an epoch's rounds; shares are the parts of them, of every core of a cluster."""
        clusters = view.present.clusters
        cluster_of = np.repeat(np.arange(len(clusters)), [cluster.cores for cluster in clusters])
        of = (view.tenants, tuple(view.weights), tuple(clusters))
        played: RoundState = view.memory
        if played.of != of:
            played = RoundState(of, 0, self.policy.initial(view.weights, len(cluster_of)))
        held = np.zeros((len(view.tenants), len(cluster_of)))
        memory, columns = played.memory, np.arange(len(cluster_of))
        offers = _offers(view)[:, cluster_of]
        for number in range(self.rounds):
            owned = self.policy.decide(RoundView(played.rounds + number, view.weights, offers, offers, memory))
            memory, used = owned.memory, owned.owner != NOBODY
            held[owned.owner[used], columns[used]] += 1
        shares = np.zeros((len(view.tenants), len(clusters)))
        np.add.at(shares.T, cluster_of, held.T / self.rounds)
        return PriceDecision(shares, zero_prices(view), "", RoundState(of, played.rounds + self.rounds, memory))


def _offers(view: PriceView) -> Floats:
    """What each tenant would get done in a round on a core of each cluster, in rounds of its fastest; (n, m)."""
    throughput = view.present.throughput
    best = throughput.max(axis=1, keepdims=True)
    return np.asarray(np.where(best > 0, throughput / np.where(best > 0, best, 1.0), 0.0))
