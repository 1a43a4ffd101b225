"""The sequences of events the trial is held on."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from eddy.core.jobs import PRIORITIES
from eddy.studies.nimblock.workload import Arrival, EventSequence, parse_events, parse_workload, read_json

EVENTS = 20
"""Events in a sequence ([004] 3.1)."""
ARRIVALS: Mapping[str, tuple[float, float]] = {"realtime": (50, 50), "stress": (150, 200), "standard": (1500, 2000)}
"""Milliseconds between arrivals, from and to. Those recorded came about 50 ms apart."""
FRESH = 4000
"""The first seed of the trial. Constants were chosen on seeds below 1000; those between were seen on the way: earlier
constants were judged on them."""


@cache
def document() -> Mapping[str, Any]:
    """Task graphs with estimates and measured latencies, load times, and the recorded sequences."""
    parsed: Mapping[str, Any] = read_json(files(__package__).joinpath("workload.json"))  # type: ignore[arg-type]
    return parsed


@cache
def workload(load_ms: float | None = None) -> EventSequence:
    """The applications and the board.

    Args:
        load_ms: What every load takes, instead of what was measured.
    """
    return parse_workload(document(), load_ms=load_ms)


def recorded() -> list[tuple[Arrival, ...]]:
    """The sequences that were run on the board."""
    return [parse_events(events, workload()) for events in document()["recorded"]]


def drawn(arrivals: str, seed: int) -> tuple[Arrival, ...]:
    """A sequence of the same kind: applications, batches up to each one's largest, priorities, all alike likely.

    Args:
        arrivals: A key of `ARRIVALS`.
        seed: Of everything random.
    """
    rng = random.Random(f"{arrivals} {seed}")
    apps: Mapping[str, Any] = document()["apps"]
    names: Sequence[str] = sorted(apps)
    events, at_ms = [], 0.0
    for _ in range(EVENTS):
        app = rng.choice(names)
        events.append(Arrival(app, rng.randint(1, apps[app]["max_batch"]), rng.choice(PRIORITIES), at_ms * 1e-3))
        at_ms += rng.uniform(*ARRIVALS[arrivals])
    return tuple(events)
