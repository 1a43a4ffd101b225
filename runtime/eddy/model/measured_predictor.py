# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress of kernels that were seen alone before: measured, not predicted.

Work is counted in work-groups, because the instructions of a kernel grow with its cores (each core has some of its own
to start with). Where all work of an epoch is of kernels whose speed alone is remembered, what it takes alone over what
it took is normalised progress ([001] equation 1), whatever a model says. The model still gives the shape of the curve:
how progress changes with cores. Who was never alone is left to the model as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from eddy.model.progress import ClusterEpoch, ProgressCurve, ProgressPredictor, linear_curve
from eddy.model.slowdown import SharedRunCounters


@dataclass(frozen=True, slots=True)
class MeasuredPredictor:
    """A predictor that measures where it can.

    Attributes:
        model: For kernels that were never alone, and for the shape of curves.
    """

    model: ProgressPredictor

    @property
    def name(self) -> str:
        """The model's: without a memory it is the model."""
        return self.model.name

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        """As the model does, through what was measured."""
        found = zip(epoch.tenants, self.model.predict(epoch), strict=True)
        return tuple(_scale_curve(sharing, curve, epoch.machine.cores) for sharing, curve in found)


def measure_progress(sharing: SharedRunCounters) -> float | None:
    """Normalised progress by work-groups, in [0, 1]; None where some of the work was never seen alone."""
    if not (0 < sharing.alone_cycles < math.inf and 0 < sharing.cycles < math.inf):
        return None
    return min(sharing.alone_cycles / sharing.cycles, 1.0)


def _scale_curve(sharing: SharedRunCounters | None, curve: ProgressCurve | None, cores: int) -> ProgressCurve | None:
    progress = None if sharing is None else measure_progress(sharing)
    if progress is None or sharing is None or sharing.cores <= 0:
        return curve
    there = 0.0 if curve is None else curve.at(sharing.cores)
    if curve is None or there <= 0:
        return linear_curve(progress, sharing.cores, cores)
    factor = progress / there
    by_cores = [reached if (reached := each * factor) < 1.0 else 1.0 for each in curve.by_cores]
    return ProgressCurve(progress, tuple(by_cores), curve.memory_bound)
