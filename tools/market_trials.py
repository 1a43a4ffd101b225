# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Adversarial markets by the thousand: what residual their equilibria come to, and whether anybody is below its part.

    tools/market_trials.py [--count 1000] [--seed 0] [--kinds KIND ...] [--utility deliverable] [--only SEED]

Every market of a kind has a number; `--only` with it and one kind prints that market. A residual above 1e-9,
or a sharing incentive below 1 by more than 1e-9, is a failure: the command names those markets, and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from eddy.market import equilibrium, sharing_incentive

Numbers = tuple[Any, Any, Any, Any]
"""F, throughputs, weights and capacities."""
EXACT = 1e-9


def _sizes(rng: np.random.Generator, tenants: int = 6, clusters: int = 4) -> tuple[int, int]:
    return int(rng.integers(1, tenants + 1)), int(rng.integers(1, clusters + 1))


def moderate(rng: np.random.Generator) -> Numbers:
    """F from 0.01, throughputs within two, weights within four orders of magnitude."""
    n, m = _sizes(rng, 8, 6)
    speed, weights = 10 ** rng.uniform(-1, 1, (n, m)), 10 ** rng.uniform(-2, 2, n)
    return rng.uniform(0.01, 1, (n, m)), speed, weights, rng.integers(1, 17, m)


def apart(rng: np.random.Generator) -> Numbers:
    """F from a thousandth, throughputs seven orders of magnitude apart, weights eight."""
    n, m = _sizes(rng)
    powers = rng.uniform(-3, 0, (n, m)), rng.uniform(-3.5, 3.5, (n, m)), rng.uniform(-4, 4, n)
    return 10 ** powers[0], 10 ** powers[1], 10 ** powers[2], rng.integers(1, 17, m)


def far_apart(rng: np.random.Generator) -> Numbers:
    """Twelve and twelve orders of magnitude; capacities five apart, parts of a PE among them."""
    n, m = _sizes(rng)
    powers = rng.uniform(-3, 0, (n, m)), rng.uniform(-6, 6, (n, m)), rng.uniform(-6, 6, n), rng.uniform(-1, 4, m)
    fraction, speed, weights, capacity = (10**each for each in powers)
    return fraction, speed, weights, capacity


def equal(rng: np.random.Generator) -> Numbers:
    """Many numbers alike: F of few values, 1 among them, whole throughputs, weights 1, 2 or 4."""
    n, m = _sizes(rng, 8, 6)
    fraction = rng.choice([0.5, 0.9, 1.0], (n, m))
    return fraction, rng.integers(1, 3, (n, m)), 2 ** rng.integers(0, 3, n), rng.integers(1, 5, m)


def kinks(rng: np.random.Generator) -> Numbers:
    """As many PEs as tenants, or next to it, and hardly any work parallel: everybody's best is near one PE of each."""
    n, m = _sizes(rng, 8, 4)
    fraction, near = 10 ** rng.uniform(-4, -0.5, (n, m)), rng.choice([0, 0, 1e-12, 1e-6, -1e-6], m)
    return fraction, rng.uniform(0.5, 2, (n, m)), 10 ** rng.uniform(-1, 1, n), n * (1 + near)


def parallel(rng: np.random.Generator) -> Numbers:
    """F next to 1, and 1: prices stand for nothing but throughputs."""
    n, m = _sizes(rng, 8, 6)
    fraction = np.where(rng.random((n, m)) < 0.5, 1.0, 1 - 10 ** rng.uniform(-15, -2, (n, m)))
    return fraction, 10 ** rng.uniform(-2, 2, (n, m)), 10 ** rng.uniform(-2, 2, n), rng.integers(1, 17, m)


def picky(rng: np.random.Generator) -> Numbers:
    """A tenant can use few of the clusters, so that the market nearly falls apart."""
    n, m = _sizes(rng, 8, 6)
    speed = np.where(rng.random((n, m)) < 0.6, 0.0, 10 ** rng.uniform(-3.5, 3.5, (n, m)))
    speed[np.arange(n), rng.integers(0, m, n)] = 1
    fraction = 10 ** rng.uniform(-3, 0, (n, m))
    return fraction, speed, 10 ** rng.uniform(-4, 4, n), rng.integers(1, 17, m)


def singular(rng: np.random.Generator) -> Numbers:
    """Tenants that are copies of each other but for a few billionths, on clusters that are: slopes next to singular."""
    n, m = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    row = 10 ** rng.uniform(-3, 0, m), 10 ** rng.uniform(-3, 3, m)
    off = 1 + 10 ** rng.uniform(-15, -6) * rng.uniform(-1, 1, (2, n, m))
    fraction, speed = np.minimum(row[0] * off[0], 1.0), row[1] * off[1]
    speed[:, 1] = speed[:, 0] * (1 + 10 ** rng.uniform(-15, -6) * rng.uniform(-1, 1, n))
    return fraction, speed, 10 ** rng.uniform(-6, 6, n), rng.integers(1, n + 2, m)


def extremes(rng: np.random.Generator) -> Numbers:
    """All at once, and more clusters than tenants: F of 1, next to 1 and down to a millionth, whole powers of ten and
    zeros among throughputs, weights eight orders of magnitude apart and capacities up to eight."""
    n, m = int(rng.integers(2, 6)), int(rng.integers(4, 13))
    fraction = 10 ** rng.uniform(-6, 0, (n, m))
    straight = rng.choice([1.0, 1 - 1e-9, 1e-6], (n, m))
    fraction = np.where(rng.random((n, m)) < rng.choice([0.0, 0.5, 0.9]), straight, fraction)
    powers = rng.uniform(-4, 4, (n, m))
    speed = 10 ** np.where(rng.random(m) < 0.5, np.round(powers), powers)
    speed[rng.random((n, m)) < rng.choice([0.0, 0.5])] = 0
    speed[np.arange(n), rng.integers(0, m, n)] = 1
    return fraction, speed, 10 ** rng.uniform(-4, 4, n), 10 ** rng.uniform(rng.choice([-4, -0.3]), 4, m)


KINDS: dict[str, Callable[[np.random.Generator], Numbers]] = {
    each.__name__: each for each in (moderate, apart, far_apart, equal, kinks, parallel, picky, singular, extremes)
}


def market(kind: str, number: int) -> Numbers:
    """The market of a kind with a number; always the same."""
    return KINDS[kind](np.random.default_rng([number, list(KINDS).index(kind)]))


@dataclass
class Tally:
    """What came of the markets of one kind.

    Attributes:
        worst: Largest residual, and whose it is.
        failed: Numbers of markets whose residual is too large, or in which somebody is below its part.
        least: Least utility over entitlement of any tenant.
        slow_s: Longest a market took.
    """

    count: int = 0
    worst: tuple[float, int] = (0.0, -1)
    failed: list[int] = field(default_factory=list)
    least: float = np.inf
    slow_s: float = 0.0

    def take(self, number: int, numbers: Numbers, utility: str) -> None:
        """Solve one, and count it."""
        began_s = time.perf_counter()
        found = equilibrium(*numbers, utility=utility)
        self.slow_s = max(self.slow_s, time.perf_counter() - began_s)
        incentive = float(sharing_incentive(found).min())
        self.count += 1
        self.worst, self.least = max(self.worst, (found.residual, number)), min(self.least, incentive)
        if found.residual > EXACT or incentive < 1 - EXACT:
            self.failed.append(number)


def tried(kind: str, utility: str, count: int, seed: int = 0) -> Tally:
    """So many markets of a kind, from this number on."""
    tally = Tally()
    for number in range(seed, seed + count):
        tally.take(number, market(kind, number), utility)
    return tally


def main(arguments: list[str]) -> int:
    """Try what is asked for, and say what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="markets of each kind")
    parser.add_argument("--seed", type=int, default=0, help="number of the first")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--utility", choices=["deliverable", "amdahl", "both"], default="both")
    parser.add_argument("--only", type=int, help="print the market with this number instead")
    asked = parser.parse_args(arguments)
    if asked.only is not None:
        for name, value in zip(
            ("F", "throughput", "weights", "capacity"), market(asked.kinds[0], asked.only), strict=True
        ):
            print(name, np.asarray(value).tolist())
        return 0
    failed = 0
    for kind in asked.kinds:
        for utility in ("amdahl", "deliverable") if asked.utility == "both" else (asked.utility,):
            tally = tried(kind, utility, asked.count, asked.seed)
            failed += len(tally.failed)
            print(
                f"{kind}, {utility}: {tally.count} markets, largest residual {tally.worst[0]:.1e} (number "
                f"{tally.worst[1]}), least over entitlement 1 {tally.least - 1:+.1e}, slowest {tally.slow_s:.2f} s, "
                f"failed: {tally.failed or 'none'}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
