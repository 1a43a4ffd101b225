# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which cluster a tenant's next kernel is bound to, when it leaves one, and when it is tried: pure functions.

Shares say how many cores of each cluster a tenant has; these say which of its kernels uses them. A kernel is bound
where its tenant has least to do for its share. It keeps its cluster until it has ended, unless its tenant has no share
there any more. What a kernel does on a kind of cluster it never ran on is measured by a slice on trial: shares follow
what is known, and a guess that is too low would keep its tenant from where it would be measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SLICES_AHEAD = 2
"""Slices a tenant's kernels on a cluster should have left for each core before another kernel is bound to it."""
MIN_PART = 0.05
"""PEs of a cluster by weight below which a kernel goes to one that stands idle instead, however slow."""
STRANDED_EPOCHS = 20.0
"""Epochs a kernel waits for a core of a cluster its tenant has no share of, before it begins again on another."""
TRIAL_PART = 0.01
"""Part of a tenant's core-seconds that its trials may have taken before another begins, whatever it submits."""
SAVED_QUANTA = 8.0
"""Quanta of trials that a tenant may have saved up at most: what it had long ago gives it no core today."""
TELLING_QUANTA = 0.5
"""Quanta that a slice takes which says how fast a kernel is; what a shorter one takes is mostly its start."""
MAX_QUANTA = 2.0
"""Quanta after which a trial ends though no slice was long: work-groups or a time limit can keep every slice short."""


@dataclass(frozen=True, slots=True)
class ClusterOffer:
    """A cluster that a tenant's kernel may be bound to.

    Attributes:
        slot: Its index; settles ties.
        cores: It has so many.
        left: Slices that the tenant's kernels have left there.
        share: Cores the tenant was promised there.
        price: Of a core for a second; 0 where nobody pays.
        alone: Whether nobody else has a kernel bound there.
        wanted: Whether somebody could use its cores now; looked at where the tenant has no share.
        speed: What the tenant's part by weight would get of the kernel there; looked at for its first kernel only.
    """

    slot: int
    cores: int
    left: int
    share: float
    price: float = 0.0
    alone: bool = False
    wanted: bool = False
    speed: float = 0.0


def choose_cluster(offers: Iterable[ClusterOffer], first: bool) -> int | None:
    """The cluster on which a tenant has least to do for its share; one it has no share of, if it stands idle.

    Its first kernel goes where its part by weight would get it furthest: its shares follow it there, because they are
    of clusters its kernels reach. Of a cluster nobody else has work on it has all: a tenant of next to no weight waits
    for none that is busy.

    Args:
        offers: Clusters that hold a module the kernel has, or will.
        first: Whether the tenant has no kernel on any cluster.

    Returns:
        The slot; None where it is to wait.
    """
    found: list[tuple[int, float, float, int]] = []
    for each in offers:
        if each.left >= SLICES_AHEAD * each.cores:
            continue
        if first and (each.share > 0 or each.price > 0):
            # Where there are prices, its money follows it; other policies may keep its shares elsewhere.
            found.append((0, -each.speed, -each.share, each.slot))
        elif each.share > 0:
            found.append((1, (each.left + 1) / (each.cores if each.alone else each.share), 0.0, each.slot))
        elif not each.left and not each.wanted:
            found.append((2, 0.0, 0.0, each.slot))
    return min(found)[3] if found else None


def entitled_cores(part: float, cores: int, idle: bool) -> float:
    """Cores of a cluster that a tenant's first kernel may count on.

    Fewer than `MIN_PART` are nothing to wait for: where a cluster stands idle, it is all of that.

    Args:
        part: The tenant's, of all weights; 0 to 1.
        idle: Whether nobody else has a kernel there.
    """
    mine = part * cores
    return float(cores) if idle and mine < MIN_PART else mine


def is_stranded(share: float, others_want: bool, begun: bool, rested_epochs: float) -> bool:
    """Whether a kernel of which nothing runs should leave its cluster, if its tenant has a share of another.

    Args:
        share: Cores its tenant was promised on its cluster.
        others_want: Whether others could use that cluster's cores.
        begun: Whether it has run there, so that leaving loses what it did.
        rested_epochs: Epochs since it last ran.
    """
    return share <= 0 and others_want and (not begun or rested_epochs >= STRANDED_EPOCHS)


def can_afford_trial(tried_s: float, delivered_s: float) -> bool:
    """Whether a tenant's trials took little of what it had.

    Args:
        tried_s: Core-seconds of its trials, those it saved up beyond `SAVED_QUANTA` counted as had.
        delivered_s: Core-seconds it had in all.
    """
    return tried_s < TRIAL_PART * delivered_s


def add_trial(before_s: float, delivered_s: float, quantum_s: float, took_s: float) -> float:
    """What a tenant's trials have taken after another slice, as `can_afford_trial` takes it, core-seconds."""
    return max(before_s, TRIAL_PART * delivered_s - SAVED_QUANTA * quantum_s) + took_s


def trial_ends(took_s: float, whole_s: float, quantum_s: float) -> bool:
    """Whether a slice that took so long ends the trial, of which all slices took `whole_s` together."""
    return took_s >= TELLING_QUANTA * quantum_s or whole_s >= MAX_QUANTA * quantum_s
