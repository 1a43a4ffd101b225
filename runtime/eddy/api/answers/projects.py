# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Projects as answers, with what each is entitled to and used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.projects import Project


class ProjectAnswer(Answer):
    """Tenants that share a part of the board."""

    model_config = with_example(examples.PROJECT)

    id: str = Field(description="Its name.")
    share: float = Field(description="Its weight among projects and tenants without one.")
    members: list[str] = Field(description="Names of its tenants; their weights divide its part.")
    entitled: float = Field(
        description="The part of the board it has now where every tenant has work, 0 to 1; 0 without tenants."
    )
    used: float | None = Field(
        description="Past use of its tenants, decayed, as a part of what the board could have given, 0 to 1; null where"
        " the server counts none (`--usage-half-life-days`)."
    )


class ProjectList(Answer):
    """Projects, by name."""

    model_config = with_example({"projects": [examples.PROJECT], "half_life_days": 7.0, "damaged": []})

    projects: list[ProjectAnswer] = Field(description="All of them.")
    half_life_days: float = Field(description="Wall days after which past use counts half; 0 where it does not count.")
    damaged: list[str] = Field(description="Names of projects whose records cannot be read: add or remove them.")


def project_answers(
    projects: Iterable[Project], weights: Mapping[str, float], used: Mapping[str, float] | None
) -> list[ProjectAnswer]:
    """Projects as answers.

    Args:
        weights: What every tenant is entitled to, relative to the others, were all to have work.
        used: Past use by tenant; None where it does not count.
    """
    whole = sum(weights.values()) or 1.0
    return [
        ProjectAnswer(
            id=each.id,
            share=each.share,
            members=list(each.members),
            entitled=min(sum(weights.get(tenant, 0.0) for tenant in each.members) / whole, 1.0),
            used=None if used is None else min(sum(used.get(tenant, 0.0) for tenant in each.members), 1.0),
        )
        for each in projects
    ]
