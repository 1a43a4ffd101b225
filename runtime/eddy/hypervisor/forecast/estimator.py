# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs are told of their start and end: forecasts of the queues, with quantiles that earlier ones calibrate.

The estimator follows what happens to the machine. Of a job it keeps the first forecast that had it among those that
wait, and the first after it had begun; when it starts, or ends, that is one score more. Whoever wants to know asks for
a forecast of a queue as it is now (`queue_of`), which is computed from values alone, in any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.forecast.fabric import Seconds
from eddy.hypervisor.forecast.queue import QueuePicture
from eddy.hypervisor.forecast.simulate import QueueForecast, forecast
from eddy.hypervisor.machine.machine import Machine
from eddy.model.estimates.calibration import LEVELS, Calibration, Circumstances, What
from eddy.model.estimates.durations import Durations
from eddy.model.latency.learned import Item
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.outlook import modules_and_estimates

KERNELS = "kernel:"
"""Begins the name of what a kernel job runs."""
SURE = 0.5
"""Spread of an application's items, as the logarithm has it, below which they count as known."""
WAITING: tuple[What, ...] = ("start", "end")
BEGUN: tuple[What, ...] = ("rest",)
"""What is told to jobs that wait, and to those that have begun."""
_STARTS = (JobEventKind.CONFIGURE, JobEventKind.LAUNCH)
"""What a job starts with: a slot, or a core."""
_MAX_PENDING = 200
_TOLD, _NEW = 4000, 256
"""Forecasts that are kept at once, until their jobs start or end; and that are added by one forecast of a queue."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """When something happens, in board time: as likely before `p50_s` as after it, and before `p90_s` nine times in
    ten."""

    p50_s: float
    p90_s: float


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """What a job is told.

    Attributes:
        at_s: Board time at which it was estimated.
        position: Place in its queue, from 1; None once it has started.
        own_position: The same among the jobs of its tenant alone.
        start: When it starts; None once it has.
        end: When it ends.
        known: Whether items of its tasks were seen before.
        age_s: Wall seconds since it was estimated.
    """

    at_s: float
    position: int | None
    own_position: int | None
    start: Expectation | None
    end: Expectation
    known: bool
    age_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _Told:
    """A forecast that is to be judged: when it was made, what it was."""

    at_s: float
    circumstances: Circumstances
    expected_s: float
    quantiles_s: Mapping[float, float]


class Estimator:
    """Learns from what happens, in the thread that steps the machine, and estimates, in any.

    Args:
        calibration: What was learned of forecasts.
        durations: What was learned of items.
    """

    def __init__(self, calibration: Calibration, durations: Durations | None = None) -> None:
        self.calibration, self._durations = calibration, durations or Durations()
        self._pending: list[Item] = []
        """Items that ended, to be learned from when somebody asks, or they are many."""
        self._told: dict[tuple[int, What], _Told] = {}
        self._begun: set[int] = set()
        self._items = 0
        self._lock = threading.Lock()
        """Others ask what the calibration says while it learns."""

    @property
    def lessons(self) -> int:
        """How much was learned: scores and items, counted since it was made."""
        return self.calibration.seen + self._items

    @property
    def pending(self) -> int:
        """Forecasts that wait to be judged."""
        return len(self._told)

    # Learning -----------------------------------------------------------------------------------------------------

    def observe_step(self, log: Iterable[JobEvent], machine: Machine) -> None:
        """Take in what a step of the machine logged."""
        items: list[Item] = []
        for event in log:
            if event.what is JobEventKind.ITEM_DONE:
                items += self._item(event, machine)
            elif event.what in _STARTS and event.job not in self._begun:
                self._begun.add(event.job)
                self._learn_error(event.job, "start", event.at_s)
            elif event.state is not None and event.state.is_final:
                self._ended(event.job, event.at_s, event.state)
        if items:
            self._items += len(items)
            with self._lock:
                self._pending += items
                if len(self._pending) >= _MAX_PENDING:
                    self._observe()

    @property
    def durations(self) -> Durations:
        """What was learned of items; for any thread."""
        with self._lock:
            self._observe()
            return self._durations

    def _observe(self) -> None:
        if self._pending:
            self._durations = self._durations.observe(self._pending)
            self._pending = []

    def _item(self, event: JobEvent, machine: Machine) -> list[Item]:
        job = machine.job(event.job)
        if event.task is None or event.started_s is None or job.spec.spread is not None:
            return []
        task = job.spec.application.tasks[event.task]
        took_s = event.at_s - event.started_s
        return [
            Item(
                _learned_as(job.spec.application.label, job.spec.tenant),
                event.task,
                task.module,
                task.estimate_s,
                took_s,
            )
        ]

    def _ended(self, job: int, at_s: float, state: JobState) -> None:
        """Only what a job did to its end counts: what failed or was cancelled ended for a reason of its own."""
        for what in (*WAITING, *BEGUN):
            if state is JobState.SUCCEEDED and what != "start":
                self._learn_error(job, what, at_s)
            self._told.pop((job, what), None)
        self._begun.discard(job)

    def _learn_error(self, job: int, what: What, at_s: float) -> None:
        told = self._told.pop((job, what), None)
        if told is not None:
            actual_s = max(at_s - told.at_s, 0.0)
            with self._lock:
                self.calibration.learn(told.circumstances, told.expected_s, actual_s, told.quantiles_s)

    # Estimating ---------------------------------------------------------------------------------------------------

    def seconds(self) -> Seconds:
        """What an item of each of a job's tasks takes, as far as is known now; for any thread."""
        durations = self.durations
        return lambda job: durations.predict(_learned_as(job.application, job.tenant), modules_and_estimates(job))

    def forecast(self, queue: QueuePicture, **bounds: int) -> QueueForecast:
        """What becomes of a queue; for any thread."""
        return forecast(queue, self.seconds(), **bounds)

    def estimates(
        self, queue: QueuePicture, made: QueueForecast, only: Iterable[int] | None = None
    ) -> dict[int, JobEstimate]:
        """What the jobs of a queue are told.

        Args:
            queue: As it was when the forecast was made.
            only: Which jobs; None for all.
        """
        places = {number: place for place, number in enumerate(made.order, start=1)}
        wanted = made.jobs if only is None else [number for number in only if number in made.jobs]
        found = {}
        for number in wanted:
            job = queue.view.jobs.job(number)
            place, known = places.get(number), self._known(queue, job)
            start = None if place is None else self._range(queue, made, job, "start")
            end = self._range(queue, made, job, "rest" if start is None else "end")
            if start is not None:
                end = Expectation(max(end.p50_s, start.p50_s), max(end.p90_s, start.p90_s))
            found[number] = JobEstimate(made.now_s, place, made.own.get(number), start, end, known)
        return found

    def curve_s(
        self, queue: QueuePicture, made: QueueForecast, number: int, what: What, levels: Iterable[float]
    ) -> tuple[float, ...]:
        """Quantiles of a job's start or end, in seconds from the forecast, at any levels."""
        job = queue.view.jobs.job(number)
        told = self._tell(queue, made, job, what)
        with self._lock:
            return tuple(self.calibration.quantile_s(told.circumstances, told.expected_s, level) for level in levels)

    def watch(self, queue: QueuePicture, made: QueueForecast) -> None:
        """Have a forecast judged by what comes of its jobs, where they have none that is to be."""
        most = min(len(self._told) + _NEW, _TOLD)
        for number in made.jobs:
            job = queue.view.jobs.get(number)
            if job is None or len(self._told) >= most:
                continue
            waits = number not in self._begun and not job.shape.has_begun
            for what in WAITING if waits else BEGUN:
                if (number, what) not in self._told:
                    self._told[number, what] = self._tell(queue, made, job, what)

    def _tell(self, queue: QueuePicture, made: QueueForecast, job: JobView, what: What) -> _Told:
        expected = made.jobs[job.id]
        expected_s = max((expected.start_s if what == "start" else expected.end_s) - made.now_s, 0.0)
        circumstances = Circumstances.of(
            *(what, queue.policy.name, job.priority, expected_s, self.calibration.unit_s),
            *(len(made.jobs), len(queue.view.slots), self._known(queue, job)),
        )
        with self._lock:
            told = {level: self.calibration.quantile_s(circumstances, expected_s, level) for level in LEVELS}
        return _Told(made.now_s, circumstances, expected_s, told)

    def _range(self, queue: QueuePicture, made: QueueForecast, job: JobView, what: What) -> Expectation:
        told = self._tell(queue, made, job, what)
        p50_s, p90_s = (told.quantiles_s[level] for level in LEVELS)
        return Expectation(made.now_s + p50_s, made.now_s + max(p50_s, p90_s))

    def _known(self, queue: QueuePicture, job: JobView) -> bool:
        if queue.known is not None:
            return job.id in queue.known
        return self.durations.spread(_learned_as(job.application, job.tenant), len(job.tasks)) < SURE

    # Keeping ------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """What `restore` takes."""
        return {"calibration": self.calibration.to_json(), "durations": self.durations.to_json()}

    @classmethod
    def restore(cls, unit_s: float, kept: Mapping[str, Any]) -> Estimator:
        """With what was learned when `to_json` was asked."""
        return cls(Calibration.restore(unit_s, kept["calibration"]), Durations.restore(kept["durations"]))


def _learned_as(application: str, tenant: str) -> str:
    """Under which name durations are learned. Applications are the same for all; a kernel is its tenant's own: nobody
    learns from another's how long it takes."""
    return f"{tenant} {application}" if application.startswith(KERNELS) else application


def load_unit_s(machine: Machine) -> float:
    """What a load of a slot takes, on average: the unit in which forecasts are wrong. Positive."""
    pipeline = machine.state.pools[Pool.PIPELINE].slots
    found = [slot.load_s for slot in machine.slots.values() if slot.index in pipeline or not pipeline]
    return max(sum(found) / len(found) if found else 0.0, 1e-6)
