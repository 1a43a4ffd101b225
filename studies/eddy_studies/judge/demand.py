# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What events ask for, whatever the schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import look_ahead

from eddy_studies.nimblock.workload import Arrival, EventSequence


@dataclass(frozen=True, slots=True)
class EventDemand:
    """What an event asks for, whatever the schedule.

    Attributes:
        arrival_s: When it comes.
        work_s: Seconds of slots its items take, loads not counted.
        path_s: Seconds from its first item to its last, each task in a slot of its own from the beginning.
        after_s: Seconds at least from the mean time at which it is worked on to its end; see `_after_s`.
    """

    arrival_s: float
    work_s: float
    path_s: float
    after_s: float = 0.0


def needs(workload: EventSequence, events: Sequence[Arrival]) -> list[EventDemand]:
    """What the events of a sequence ask for, with the latencies that were measured."""
    return [
        EventDemand(
            event.arrival_s,
            workload.apps[event.app].service_s(event.batch),
            _path_s(workload, event),
            _after_s(workload, event),
        )
        for event in events
    ]


def _path_s(workload: EventSequence, event: Arrival) -> float:
    app = workload.apps[event.app]
    graph = app.application
    tasks = tuple(
        TaskView(task.id, task.module, task.estimate_s, 0, None, graph.predecessors(task.id)) for task in graph.tasks
    )
    job = JobView(0, event.app, "", event.batch, event.priority, 0.0, None, 1, tasks)
    return look_ahead(job, app.measured_s, 0.0, True).path_s


def _after_s(workload: EventSequence, event: Arrival) -> float:
    """How long a job ends after the mean time at which it is worked on, at least.

    A task with w seconds of items has one slot at a time, so it ends w / 2 or more after the mean time of its own work;
    then every task of the longest way to the end has an item left. Both together are averaged over tasks, by work, as
    the mean time of the job's work is that of its tasks'.
    """
    app = workload.apps[event.app]
    tasks = app.application.tasks
    tails_s = dict.fromkeys((task.id for task in tasks), 0.0)
    for task in reversed(tasks):
        for before in app.application.predecessors(task.id):
            tails_s[before] = max(tails_s[before], app.measured_s[task.id] + tails_s[task.id])
    work_s = {task.id: event.batch * app.measured_s[task.id] for task in tasks}
    return sum(own_s * (own_s / 2 + tails_s[task]) for task, own_s in work_s.items()) / sum(work_s.values())
