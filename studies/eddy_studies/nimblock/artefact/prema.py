# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""PREMA as the artefact has it: tokens, thresholds and lengths are those of single tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView, JobView

from eddy_studies.nimblock.artefact.common import first_idle, is_ready, jobs_by_id, threshold_of

Entry = tuple[int, int]
"""Job id, task id."""


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """What waits.

    Attributes:
        admitted: Jobs whose tasks are known.
        pending: Tasks that were not ready when last looked at.
        ready: Tasks that were, and have no slot.
        threshold: What a task's tokens must exceed.
        counted_s: Board time of the last periodic count, or None before the first job.
    """

    admitted: tuple[int, ...] = ()
    pending: tuple[Entry, ...] = ()
    ready: tuple[Entry, ...] = ()
    tokens: Mapping[Entry, float] = field(default_factory=dict)
    threshold: float = 1.0
    counted_s: float | None = None


@dataclass(frozen=True, slots=True)
class ArtefactPrema:
    """The ready task above the threshold with the least estimated work left gets the first idle slot.

    Whenever tokens are counted, the whole age of a task is added again. A task that becomes ready with more tokens than
    the threshold raises it to its own tokens, so that it must wait for the next count itself.

    Attributes:
        alpha: Weight of waiting in the tokens.
        interval_s: Board seconds between periodic counts.
        pipelined: Whether a task is ready before its predecessors have finished the batch.
        name: As `--policy` takes it.
    """

    alpha: float = 1.0
    interval_s: float = 0.396
    pipelined: bool = False
    name: str = "prema"

    def initial(self) -> WaitingTask:
        """Nothing waits."""
        return WaitingTask()

    def decide(self, view: DispatchView) -> Dispatch:
        """One turn: count, admit, find what is ready, give one task a slot."""
        known: WaitingTask = view.memory
        jobs, now_s = jobs_by_id(view), view.now_s
        tokens, pending, ready = dict(known.tokens), list(known.pending), list(known.ready)
        threshold, counted_s, updated = known.threshold, known.counted_s, False
        if counted_s is not None and now_s - counted_s > self.interval_s:
            threshold, counted_s, updated = self._count(tokens, ready, jobs, now_s), now_s, True
        new = [job for job in view.jobs if job.id not in known.admitted]
        for job in new:
            pending += [(job.id, task.id) for task in job.tasks]
            tokens.update({(job.id, task.id): float(job.priority) for task in job.tasks})
        if new and not updated and counted_s is not None:
            threshold, updated = self._count(tokens, ready, jobs, now_s), True
        counted_s = now_s if counted_s is None and new else counted_s
        gone = any(job not in jobs for job in known.admitted)
        pending = [entry for entry in pending if entry[0] in jobs]
        ready = [entry for entry in ready if entry[0] in jobs]
        pending, threshold = self._find_ready(pending, ready, tokens, jobs, threshold)
        if gone and not updated:
            threshold = self._count(tokens, ready, jobs, now_s)
        decisions = () if view.port_busy else self._place(view, ready, tokens, jobs, threshold)
        tokens = {entry: count for entry, count in tokens.items() if entry[0] in jobs}
        memory = WaitingTask(tuple(jobs), tuple(pending), tuple(ready), tokens, threshold, counted_s)
        wake_s = None if counted_s is None or not view.jobs else counted_s + self.interval_s + 1e-6
        return Dispatch(decisions, memory, wake_s)

    def _count(
        self, tokens: dict[Entry, float], ready: list[Entry], jobs: Mapping[int, JobView], now_s: float
    ) -> float:
        """Add every ready task's whole age, in its own lengths, to its tokens; answers the new threshold."""
        for entry in ready:
            job = jobs.get(entry[0])
            if job is not None:
                length_s = max(job.tasks[entry[1]].estimate_s * job.batch, 1e-9)
                tokens[entry] += self.alpha * job.priority * (now_s - job.arrival_s) / length_s
        return threshold_of(tokens[entry] for entry in ready)

    def _find_ready(
        self,
        pending: list[Entry],
        ready: list[Entry],
        tokens: Mapping[Entry, float],
        jobs: Mapping[int, JobView],
        threshold: float,
    ) -> tuple[list[Entry], float]:
        """Move what has become ready; answers what has not, and the threshold."""
        still, raised = [], threshold
        for entry in pending:
            job = jobs[entry[0]]
            if is_ready(job, job.tasks[entry[1]], self.pipelined):
                ready.append(entry)
                raised = tokens[entry] if tokens[entry] > threshold else raised
            else:
                still.append(entry)
        return still, raised

    def _place(
        self,
        view: DispatchView,
        ready: list[Entry],
        tokens: Mapping[Entry, float],
        jobs: Mapping[int, JobView],
        threshold: float,
    ) -> tuple[Configure, ...]:
        above = [entry for entry in ready if tokens[entry] > threshold]
        if not above:
            return ()

        def left_s(entry: Entry) -> float:
            job = jobs[entry[0]]
            return job.tasks[entry[1]].estimate_s * (job.batch - job.tasks[entry[1]].items_done)

        chosen = min(above, key=left_s)
        ready.remove(chosen)
        slot = first_idle(view, jobs[chosen[0]].tasks[chosen[1]])
        if slot is None:
            ready.insert(0, chosen)
            return ()
        return (Configure(chosen[0], chosen[1], slot.index),)
