# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the trial is judged on, and how sure each figure is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from eddy_studies.judge.trial import Array, Trial

RESAMPLES = 1000
"""Of the bootstrap, over sequences: events of one sequence depend on each other."""
LEVEL = 95.0
"""Per cent of resamples an interval holds."""
SCALES = np.arange(1.0, 20.01, 0.25)
"""Deadline scaling factors D_s ([004] 3.2.3)."""
HIGH = 9
"""The priority deadlines are judged for."""

Figure = Callable[[Trial], float]


@dataclass(frozen=True, slots=True)
class Value:
    """A figure with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def relative(trial: Trial, name: str) -> Array:
    """Responses over those without sharing ([004] 3.2.1)."""
    ratio: Array = trial.response_s[name] / trial.response_s["exclusive"]
    return ratio


def relative_mean(name: str) -> Figure:
    """The mean relative response."""
    return lambda trial: float(relative(trial, name).mean())


def response_mean(name: str) -> Figure:
    """The mean response in seconds."""
    return lambda trial: float(trial.response_s[name].mean())


def mean_relative(rival: str) -> Figure:
    """How many times lower the mean relative response is than the rival's."""
    return lambda trial: float(relative(trial, rival).mean() / relative(trial, "eddy").mean())


def median_relative(rival: str) -> Figure:
    """How many times lower the median relative response is than the rival's."""
    return lambda trial: float(np.median(relative(trial, rival)) / np.median(relative(trial, "eddy")))


def plain_mean(rival: str) -> Figure:
    """How many times lower the mean response is than the rival's."""
    return lambda trial: float(trial.response_s[rival].mean() / trial.response_s["eddy"].mean())


def waiting_mean(rival: str) -> Figure:
    """How many times lower the mean response beyond the critical path is than the rival's."""

    def figure(trial: Trial) -> float:
        ours, theirs = ((trial.response_s[name] - trial.path_s).mean() for name in ("eddy", rival))
        return float(theirs / ours)

    return figure


def path_share(trial: Trial) -> float:
    """The part of the mean response that is critical path."""
    return float(trial.path_s.mean() / trial.response_s["eddy"].mean())


def high_mean(rival: str) -> Figure:
    """How many times lower the mean response of priority 9 is than the rival's."""

    def figure(trial: Trial) -> float:
        high = trial.priority == HIGH
        return float(trial.response_s[rival][high].mean() / trial.response_s["eddy"][high].mean())

    return figure


def tail(rival: str, percentile: float) -> Figure:
    """A percentile of responses over the rival's."""

    def figure(trial: Trial) -> float:
        ours, theirs = (np.percentile(trial.response_s[name], percentile) for name in ("eddy", rival))
        return float(ours / theirs)

    return figure


def relative_tail(rival: str, percentile: float) -> Figure:
    """A percentile of relative responses over the rival's."""

    def figure(trial: Trial) -> float:
        ours, theirs = (np.percentile(relative(trial, name), percentile) for name in ("eddy", rival))
        return float(ours / theirs)

    return figure


def deadline_point(name: str) -> Figure:
    """The least D_s at which at most one in ten events of priority 9 ends later than D_s times its single-slot time."""

    def figure(trial: Trial) -> float:
        high = trial.priority == HIGH
        slowdown = (trial.response_s[name] / trial.single_s)[high]
        met = [scale for scale in SCALES if (slowdown > scale).mean() <= 0.1]
        return float(met[0]) if met else float("inf")

    return figure


def worst_slowdown(name: str) -> Figure:
    """The mean slowdown against a slot of its own, of the application for which it is largest."""
    return lambda trial: max(slowdowns(trial, name).values())


def slowdowns(trial: Trial, name: str) -> Mapping[str, float]:
    """Mean slowdown against a slot of its own, by application."""
    slowdown = trial.response_s[name] / trial.single_s
    return {str(app): float(slowdown[trial.apps == app].mean()) for app in np.unique(trial.apps)}


def estimate(trial: Trial, figure: Figure, seed: int = 0) -> Value:
    """A figure with its bootstrap interval."""
    count = len(trial.single_s)
    rng = np.random.default_rng(seed)
    drawn = [figure(trial.of(rng.integers(0, count, count))) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return Value(figure(trial), float(low), float(high))
