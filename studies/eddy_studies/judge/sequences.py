# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The sequences of events the trial is held on."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from eddy.core.jobs import PRIORITIES

from eddy_studies.nimblock.workload import Arrival, EventSequence, parse_events, parse_workload, read_json

EVENTS = 20
"""Events in a sequence ([004] 3.1)."""
ARRIVALS: Mapping[str, tuple[float, float]] = {"realtime": (50, 50), "stress": (150, 200), "standard": (1500, 2000)}
"""Milliseconds between arrivals, from and to. Those recorded came about 50 ms apart."""
FRESH = 4000
"""The first seed of the trial. Constants were chosen on seeds below 1000; those between were seen on the way: earlier
constants were judged on them."""


def _published(before: Sequence[str]) -> Collection[str]:
    """The rule of the generator in Nimblock's artefact (`data_gen/data_gen.py`): at most one digit recognition and one
    AlexNet, and neither after an AlexNet."""
    if "alexnet" in before:
        return ("alexnet", "digit_recognition")
    return ("digit_recognition",) if "digit_recognition" in before else ()


UNIFORM, PUBLISHED = "uniform", "published"
DRAWS: Mapping[str, Callable[[Sequence[str]], Collection[str]]] = {UNIFORM: lambda before: (), PUBLISHED: _published}
"""How applications are drawn: which may not come after those before. [004] says "randomly selected", which `uniform`
is: 3.3 digit recognitions and 3.3 AlexNets in a sequence on average. Its artefact draws by `published`. The recorded
sequences, of an earlier generator, have at most one digit recognition and at most two AlexNets."""


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


def drawn(arrivals: str, seed: int, draw: str = UNIFORM) -> tuple[Arrival, ...]:
    """A sequence of the same kind: applications by a draw, batches up to each one's largest, any priority.

    Args:
        arrivals: A key of `ARRIVALS`.
        seed: Of everything random.
        draw: A key of `DRAWS`.
    """
    rng = random.Random(f"{arrivals} {seed}" if draw == UNIFORM else f"{draw} {arrivals} {seed}")
    largest: Mapping[str, int] = {name: app["max_batch"] for name, app in sorted(document()["apps"].items())}
    events: list[Arrival] = []
    at_ms = 0.0
    for _ in range(EVENTS):
        app = rng.choice([name for name in largest if name not in DRAWS[draw]([event.app for event in events])])
        events.append(Arrival(app, rng.randint(1, largest[app]), rng.choice(PRIORITIES), at_ms * 1e-3))
        at_ms += rng.uniform(*ARRIVALS[arrivals])
    return tuple(events)
