# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What is expected of all jobs at one moment, for whoever asks; worked out job by job, as they do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from eddy.hypervisor.forecast.cores import CoresPicture
from eddy.hypervisor.forecast.estimator import Estimator, JobEstimate
from eddy.hypervisor.forecast.queue import QueuePicture
from eddy.hypervisor.forecast.simulate import QueueForecast, forecast


@dataclass(frozen=True, slots=True)
class QueueOutlook:
    """Queues and their forecasts.

    Attributes:
        estimator: Says what is told.
        parts: Pictures of queues, with what becomes of each.
        known: Estimates that were asked for before.
        made_s: When the pictures were taken, by a wall clock that only goes forward.
    """

    estimator: Estimator
    parts: tuple[tuple[QueuePicture, QueueForecast], ...]
    known: dict[int, JobEstimate] = field(default_factory=dict)
    made_s: float = field(default_factory=time.monotonic)

    @property
    def age_s(self) -> float:
        """Wall seconds since the pictures were taken."""
        return max(time.monotonic() - self.made_s, 0.0)

    def estimate_of(self, job: int) -> JobEstimate | None:
        """What a job is told; None for one that is in none of the queues, or that waits for slots that are drained:
        nobody can tell when they are given back."""
        found = self.known.get(job)
        if found is None:
            for queue, made in self.parts:
                if job in made.jobs and queue.can_end(queue.view.jobs.job(job)):
                    found = self.known[job] = self.estimator.estimates(queue, made, [job])[job]
        return None if found is None else replace(found, age_s=self.age_s)

    def part(self, job: int) -> tuple[QueuePicture, QueueForecast] | None:
        """The queue a job is in."""
        return next((part for part in self.parts if job in part[1].jobs), None)


def outlook(estimator: Estimator, pictures: Sequence[QueuePicture | CoresPicture]) -> QueueOutlook:
    """Forecast queues; for any thread."""
    seconds = estimator.seconds()
    return QueueOutlook(
        estimator,
        tuple(
            (each.queue, each.forecast()) if isinstance(each, CoresPicture) else (each, forecast(each, seconds))
            for each in pictures
        ),
    )
