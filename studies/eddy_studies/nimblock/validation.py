# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How well a player's response times agree with those measured on [004]'s board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_studies.nimblock.run import BoardSetting, Player, responses_s, run
from eddy_studies.nimblock.workload import Arrival, EventSequence, parse_events, read_json

POLICIES = ("exclusive", "fcfs", "round_robin", "prema", "nimblock")
"""The schedulers that ran on the board."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RecordedSequence:
    """One sequence as one scheduler met it on the board.

    Attributes:
        events: With the arrivals it recorded: an application is admitted between loads only.
        response_s: As measured, per event.
    """

    events: tuple[Arrival, ...]
    response_s: Array


@dataclass(frozen=True, slots=True)
class Agreement:
    """Simulated against measured.

    Attributes:
        mean: Mean response, simulated over measured, all events pooled.
        correlation: Spearman's rank correlation of events' responses, all pooled.
        means: The first, sequence by sequence.
        correlations: The second, sequence by sequence.
    """

    mean: float
    correlation: float
    means: tuple[float, ...]
    correlations: tuple[float, ...]


@cache
def document() -> Mapping[str, Any]:
    """The published board runs: `{"sequences": [{"events": [{"app", "batch", "priority", policy: {...}}]}]}`."""
    parsed: Mapping[str, Any] = read_json(files(__package__).joinpath("board_runs.json"))  # type: ignore[arg-type]
    return parsed


def recorded(document: Mapping[str, Any], policy: str, workload: EventSequence) -> list[RecordedSequence]:
    """A scheduler's runs.

    Args:
        document: Of the form of `document()`.
        policy: One of `POLICIES`.
    """
    return [_recorded(sequence["events"], policy, workload) for sequence in document["sequences"]]


def _recorded(rows: Sequence[Mapping[str, Any]], policy: str, workload: EventSequence) -> RecordedSequence:
    events = [
        {**{key: row[key] for key in ("app", "batch", "priority")}, "arrival_ms": row[policy]["arrival_ms"]}
        for row in rows
    ]
    return RecordedSequence(
        parse_events(events, workload), np.array([row[policy]["response_ms"] for row in rows]) * 1e-3
    )


def agreement(
    workload: EventSequence, runs: Sequence[RecordedSequence], player: Player, setting: BoardSetting
) -> Agreement:
    """Play recorded sequences and compare."""
    simulated = [np.array(responses_s(run(workload, r.events, player, setting), r.events)) for r in runs]
    measured = [r.response_s for r in runs]
    pooled = np.concatenate(simulated), np.concatenate(measured)
    return Agreement(
        float(pooled[0].mean() / pooled[1].mean()),
        rank_correlation(*pooled),
        tuple(float(ours.mean() / theirs.mean()) for ours, theirs in zip(simulated, measured, strict=True)),
        tuple(rank_correlation(ours, theirs) for ours, theirs in zip(simulated, measured, strict=True)),
    )


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation; equal values share their mean rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Array) -> Array:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)
