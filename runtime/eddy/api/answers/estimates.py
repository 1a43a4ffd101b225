# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Estimates over HTTP: what a job is told of its start and end, and what a job would be that is not submitted."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.applications import Application
from eddy.core.records import JobRequest
from eddy.hypervisor.forecast.estimator import JobEstimate
from eddy.hypervisor.forecast.trial import JobTrial


class ExpectedTimes(Answer):
    """When a job should start and end. Of others it tells nothing but that: only an operator's place counts them."""

    at_s: float = Field(description="Board time of the estimate.")
    age_s: float = Field(
        default=0.0, description="Wall seconds since it was made; more where the board kept the engine busy meanwhile."
    )
    position: int | None = Field(
        description="Place in its queue, from 1, among your own jobs; for an operator all. Null once started."
    )
    start_p50_s: float | None = Field(description="Board time before which half of such jobs start; null once started.")
    start_p90_s: float | None = Field(description="The same for nine in ten.")
    end_p50_s: float = Field(description="Board time before which half of such jobs end.")
    end_p90_s: float = Field(description="The same for nine in ten.")
    known: bool = Field(description="Whether items of its tasks were seen before; else it rests on what designers say.")


class LoadAhead(Answer):
    """A slot that a task would be given."""

    task: int = Field(description="The task's id.")
    module: str = Field(description="The module it needs.")
    slot: int = Field(description="The slot.")
    at_s: float = Field(description="Board time.")
    load_s: float = Field(description="Seconds the load takes; 0 where the module is there.")


class DryRun(Answer):
    """A submission that would be taken, and what it would cost. Nothing of it is kept."""

    model_config = with_example(examples.DRY_RUN)

    admitted: Literal[True] = Field(description="It would be taken; what would not is answered as a submission is.")
    application: str = Field(description="As submitted; empty for a kernel.")
    batch: int = Field(description="As submitted.")
    pool: str = Field(description="Pool of slots it would run in.")
    slot_seconds: float = Field(description="Seconds of slots it would take, loads among them.")
    core_seconds: float | None = Field(description="Seconds of GPU cores; null where its kernel never ran for you.")
    loads: list[LoadAhead] = Field(description="Slots it would be given, as far as a bounded forecast goes.")
    estimate: ExpectedTimes | None = Field(description="Its start and end; null for a kernel that never ran.")


def estimate_answer(estimate: JobEstimate, everyone: bool) -> ExpectedTimes:
    """An estimate, as it is shown.

    Args:
        everyone: Whether the place counts everyone's jobs, as for an operator; else its tenant's alone.
    """
    start = estimate.start
    return ExpectedTimes(
        at_s=estimate.at_s,
        age_s=round(estimate.age_s, 1),
        position=estimate.position if everyone else estimate.own_position,
        start_p50_s=None if start is None else start.p50_s,
        start_p90_s=None if start is None else start.p90_s,
        end_p50_s=estimate.end.p50_s,
        end_p90_s=estimate.end.p90_s,
        known=estimate.known,
    )


def dry_run_answer(request: JobRequest, trial: JobTrial, application: Application | None, everyone: bool) -> DryRun:
    """What a submission would be; `everyone` as in `estimate_answer`."""
    modules = {} if application is None else {task.id: task.module for task in application.tasks}
    return DryRun(
        admitted=True,
        application=request.application,
        batch=request.batch,
        pool=trial.pool.value,
        slot_seconds=trial.slot_s,
        core_seconds=trial.core_s,
        loads=[
            LoadAhead(task=g.task, module=modules.get(g.task, ""), slot=g.slot, at_s=g.at_s, load_s=g.load_s)
            for g in trial.given
        ],
        estimate=None if trial.estimate is None else estimate_answer(trial.estimate, everyone),
    )
