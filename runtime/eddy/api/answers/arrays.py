# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Arrays of jobs as they go out over HTTP."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer
from eddy.api.request_bodies.numbers import Whole
from eddy.core.jobs import JobState


class ArrayCounts(Answer):
    """How many of its jobs are in which state."""

    queued: Whole = Field(default=0, description="Jobs that wait for their first slot.")
    placed: Whole = Field(default=0, description="Jobs without a slot at this moment.")
    reconfiguring: Whole = Field(default=0, description="Jobs for which a slot is loaded.")
    running: Whole = Field(default=0, description="Jobs that run.")
    preempted: Whole = Field(default=0, description="Jobs whose slots were taken.")
    draining: Whole = Field(default=0, description="Jobs that are ending.")
    succeeded: Whole = Field(default=0, description="Jobs that have succeeded.")
    failed: Whole = Field(default=0, description="Jobs that have failed.")
    cancelled: Whole = Field(default=0, description="Jobs that were cancelled.")


class Array(Answer):
    """An array of jobs."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [examples.ARRAY]})

    id: int = Field(description="Its id, which no job has.")
    tenant: str = Field(description="Whose it is.")
    size: int = Field(description="Jobs in it.")
    max_running: int | None = Field(description="Most jobs of it at once; null for any number.")
    ended: bool = Field(description="Whether all of them have ended.")
    counts: ArrayCounts = Field(description="How many are in which state.")
    damaged: int = Field(default=0, description="Jobs in it whose state cannot be read; `counts` leaves them out.")
    links: dict[str, str] = Field(description="Addresses: `self`, and `jobs`, which lists them.")


def array_answer(
    tenant: str, number: int, states: dict[JobState, int], max_running: int | None, damaged: int = 0
) -> Array:
    """The array object; `number` is what it is told as, `damaged` how many jobs are in a state that cannot be read."""
    return Array(
        id=number,
        tenant=tenant,
        max_running=max_running,
        size=sum(states.values()) + damaged,
        ended=all(state.is_final for state in states),
        counts=ArrayCounts(**{state.value: jobs for state, jobs in states.items()}),
        damaged=damaged,
        links={"self": f"/v1/arrays/{number}", "jobs": f"/v1/jobs?array={number}&sort=oldest"},
    )
