# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Projects above tenants, and what tenants are entitled to beside others: weights, shares and past use as one number.

A tree of two levels: projects, and tenants without one, share the board; the tenants of a project share its part. At
each level a weight is reduced by past use as in Slurm's fair share, `2 ** -(used / entitled)` ("Multifactor Priority
Plugin", Slurm's manual; the decay of use is Kay and Lauder's, "A fair share scheduler", 1988): who had just what it was
entitled to has half its weight, as has everybody else then, and who had nothing all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

MIN_LEFT = 1 / 16
"""Part of its weight that is left to whoever used most: nobody waits until what it used is forgotten."""

WeightsOf = Callable[[Collection[str]], Mapping[str, float]]
"""What tenants are entitled to that have work now, relative to each other."""


def equal_weights(tenants: Collection[str]) -> Mapping[str, float]:
    """Everybody the same."""
    return dict.fromkeys(tenants, 1.0)


@dataclass(frozen=True, slots=True)
class Project:
    """Tenants that share a part of the board.

    Attributes:
        share: Its weight among projects and tenants without one.
        members: Names of its tenants, sorted.
    """

    id: str
    share: float = 1.0
    members: tuple[str, ...] = ()


def effective_weights(
    own: Mapping[str, float], project_of: Mapping[str, Project], used: Mapping[str, float]
) -> dict[str, float]:
    """What tenants are entitled to, relative to each other.

    What a member of a project cannot use is its fellows', and what a project cannot use the others': only tenants that
    have work now are asked about. Weights sum to what the tenants' own do, and are these where there is neither a
    project nor past use.

    Args:
        own: The weight of each tenant that has work.
        project_of: The project of a tenant; nothing of one that has none.
        used: Past use of each tenant, decayed, as a part of what the board could give; empty where it does not count.
    """
    if not own or (not used and not any(tenant in project_of for tenant in own)):
        return dict(own)
    groups: dict[tuple[bool, str], dict[str, float]] = {}
    projects = dict[tuple[bool, str], Project]()
    for tenant, weight in own.items():
        project = project_of.get(tenant)
        group = (False, tenant) if project is None else (True, project.id)
        if project is not None:
            projects[group] = project
        groups.setdefault(group, {})[tenant] = weight
    shares = {group: projects[group].share if group in projects else own[group[1]] for group in groups}
    all_shares, found = sum(shares.values()), dict[str, float]()
    for group, members in groups.items():
        part, inside = shares[group] / all_shares, sum(members.values())
        everyone = projects[group].members if group in projects else (group[1],)
        weight = shares[group] * _left(sum(used.get(each, 0.0) for each in everyone), part)
        of_members = {
            tenant: each * _left(used.get(tenant, 0.0), part * each / inside) for tenant, each in members.items()
        }
        found.update({tenant: weight * each / sum(of_members.values()) for tenant, each in of_members.items()})
    scale = sum(own.values()) / sum(found.values())
    return {tenant: found[tenant] * scale for tenant in own}


def _left(used: float, entitled: float) -> float:
    """Part of a weight that past use leaves; both are parts of the board."""
    return max(math.pow(2.0, -used / entitled), MIN_LEFT)
