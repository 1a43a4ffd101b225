# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The replays that estimates are judged on: sequences that were recorded, and mixes that a seed draws."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eddy.core.jobs import PRIORITIES

from eddy_studies.judge.sequences import ARRIVALS, document, drawn, recorded, workload
from eddy_studies.nimblock.workload import Arrival

POLICIES = ("eddy", "nimblock", "prema", "round_robin", "fcfs", "exclusive")
MIN_EVENTS, MAX_EVENTS = 15, 45
MIN_LOAD, MAX_LOAD = 0.2, 1.3
"""Slot-seconds of work that arrive a second, over the slots there are."""
NOISE = (0.0, 0.1, 0.3)
"""Standard deviation of the logarithm of an item's time."""
BURST = 0.3
"""Of the mixes that come in bursts, the part of jobs that come together with the one before."""

Latency = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Mix:
    """One sequence to be replayed.

    Attributes:
        policy: Under which it is.
        noise: Standard deviation of the logarithm of an item's time.
    """

    name: str
    policy: str
    events: tuple[Arrival, ...]
    noise: float
    seed: int

    def noisy(self, latency: dict[str, float]) -> Latency:
        """What each item really takes: by its name, so that the same item takes the same under any policy."""

        def takes_s(module: str, item: str) -> float:
            if not self.noise:
                return latency[module]
            factor = random.Random(f"{self.seed} {item}").gauss(0.0, self.noise)
            return latency[module] * math.exp(factor - self.noise**2 / 2)

        return takes_s


def mixes(seed: int, count: int) -> list[Mix]:
    """Replays of a seed: a third of them recorded or drawn as the recorded ones were, the others mixes of their own.

    Args:
        seed: Of everything random.
    """
    rng = random.Random(f"estimates {seed}")
    found = []
    for number in range(count):
        policy, noise = rng.choice(POLICIES), rng.choice(NOISE)
        kind = rng.choice(("recorded", *ARRIVALS, "mix", "mix", "mix", "bursts", "bursts", "bursts"))
        if kind == "recorded":
            events = rng.choice(recorded())
        elif kind in ARRIVALS:
            events = drawn(kind, rng.randrange(1 << 30))
        else:
            events = _mixed(rng, bursts=kind == "bursts")
        found.append(Mix(kind, policy, events, noise, seed * count + number))
    return found


def _mixed(rng: random.Random, bursts: bool) -> tuple[Arrival, ...]:
    """Some of the applications, in uneven parts, at a load that is drawn."""
    apps = document()["apps"]
    names: Sequence[str] = rng.sample(sorted(apps), rng.randint(2, len(apps)))
    weights = [rng.expovariate(1.0) for _ in names]
    slots, load = len(workload().load_s), rng.uniform(MIN_LOAD, MAX_LOAD)
    largest = rng.uniform(0.2, 1.0)
    drawn_events = []
    for _ in range(rng.randint(MIN_EVENTS, MAX_EVENTS)):
        name = rng.choices(names, weights)[0]
        batch = rng.randint(1, max(1, round(largest * apps[name]["max_batch"])))
        drawn_events.append((name, batch, rng.choice(PRIORITIES)))
    work_s = sum(workload().apps[name].service_s(batch) for name, batch, _ in drawn_events)
    gap_s = work_s / len(drawn_events) / slots / load
    events, at_s = [], 0.0
    for name, batch, priority in drawn_events:
        events.append(Arrival(name, batch, priority, at_s))
        if not bursts:
            at_s += rng.expovariate(1.0 / gap_s)
        elif rng.random() > BURST:
            at_s += rng.expovariate((1.0 - BURST) / gap_s)
    return tuple(events)
