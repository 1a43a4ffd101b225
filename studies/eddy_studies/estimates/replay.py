# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Mixes replayed one after the other, as one hypervisor would live through them: what jobs were told, and what came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eddy.core.slots import Pool
from eddy.hypervisor.forecast.estimator import Estimator, Expectation, JobEstimate
from eddy.hypervisor.forecast.queue import as_if_joined, picture_queue
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.virtual import run_virtual

from eddy_studies.estimates.mixes import Mix
from eddy_studies.judge.sequences import workload
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, board_of, jobs_of, latencies_of

CURVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Levels of a reliability diagram."""
SETTING = BoardSetting(blocking=False, reuse=True)
"""As the live hypervisor uses a board."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One job: what it was told when it arrived, in seconds from then, and what came.

    Attributes:
        mix: Which sequence it was in.
        policy: Under which policy.
        start_s, end_s: When it really started and ended.
        start_p50_s, start_p90_s, end_p50_s, end_p90_s: What it was told.
        start_curve_s, end_curve_s: The quantiles it could have been told at the levels of `CURVE`.
    """

    mix: str
    policy: str
    start_s: float
    end_s: float
    start_p50_s: float
    start_p90_s: float
    end_p50_s: float
    end_p90_s: float
    start_curve_s: tuple[float, ...] = ()
    end_curve_s: tuple[float, ...] = ()


def replay(mixes: Sequence[Mix], estimator: Estimator, say: Callable[[str], None] = lambda _: None) -> list[Outcome]:
    """Run mixes to their ends; each job is estimated the moment it arrives, with what was known by then.

    Args:
        mixes: In this order.
        estimator: Learns from one to the next.
        say: Told what is being done.
    """
    found: list[Outcome] = []
    for number, mix in enumerate(mixes):
        if number % 20 == 0:
            say(f"{number} of {len(mixes)} sequences")
        found += _one(mix, estimator)
    return found


def _one(mix: Mix, estimator: Estimator) -> list[Outcome]:
    teller = _Teller(estimator)
    specs = jobs_of(workload(), mix.events)
    board = board_of(workload(), SETTING, mix.noisy(latencies_of(workload(), SETTING)))
    policy, load_s = make_player(mix.policy).policy, dict(enumerate(workload().load_s))
    result = run_virtual(board, policy, specs, load_s=load_s, residency=SETTING.residency, watch=teller)
    outcomes = []
    for number, record in sorted(result.jobs.items()):
        assert record.started_s is not None
        assert record.ended_s is not None
        estimate, at_s = teller.told[number], teller.told[number].at_s
        start = estimate.start or Expectation(at_s, at_s)
        outcomes.append(
            Outcome(
                mix.name,
                mix.policy,
                start_s=record.started_s - at_s,
                end_s=record.ended_s - at_s,
                start_p50_s=start.p50_s - at_s,
                start_p90_s=start.p90_s - at_s,
                end_p50_s=estimate.end.p50_s - at_s,
                end_p90_s=estimate.end.p90_s - at_s,
                start_curve_s=teller.curves[number][0],
                end_curve_s=teller.curves[number][1],
            )
        )
    return outcomes


class _Teller:
    """Tells jobs what is expected of them before anything is decided about them; see `virtual.StepWatch`."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator, self.told = estimator, dict[int, JobEstimate]()
        self.curves: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {}

    def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
        """Jobs arrive: each is told what it would be on its own beside those that are there."""
        new = [message.job for message in inputs if isinstance(message, m.Arrive)]
        if not new:
            return
        queue = picture_queue(machine, Pool.PIPELINE, now_s)
        for spec in new:
            queue = queue.with_job(as_if_joined(machine, spec))
        made = self.estimator.forecast(queue)
        self.estimator.watch(queue, made)
        self.told.update(self.estimator.estimates(queue, made, [spec.id for spec in new]))
        for spec in new:
            self.curves[spec.id] = (
                self.estimator.curve_s(queue, made, spec.id, "start", CURVE),
                self.estimator.curve_s(queue, made, spec.id, "end", CURVE),
            )

    def after(self, machine: Machine, outcome: m.StepResult) -> None:
        """Learn from what came."""
        self.estimator.observe_step(outcome.log, machine)
