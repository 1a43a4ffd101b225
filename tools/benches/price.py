# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a round of each price policy costs: most token first, Gandiva-fair, Themis, in the same run ([003] 5.16, 5.17).

Mean over the rounds of a bursty run; each decision is repeated and its fastest time counts. "mtf" is what ships:
Algorithm 1, and the actor evaluated for all agents; "mtf, given" has the same threshold for everybody, as the document
times it.
"""

from __future__ import annotations

import argparse
from typing import Any

from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.rounds import RoundPolicy
from eddy.policy.price.thresholds import Fixed
from eddy_studies.mtf.overhead import microseconds
from eddy_studies.policies import ROUNDS

SIZES = ((20, 40), (40, 40), (60, 40), (20, 20), (20, 60))


def contestants() -> dict[str, RoundPolicy]:
    """Fresh policies by the name in the table."""
    return {
        "mtf": ROUNDS["mtf"](),
        "mtf, given": MostTokenFirst(Fixed(0.2)),
        "mtf_hedge": ROUNDS["mtf_hedge"](),
        "mtf_urgent": ROUNDS["mtf_urgent"](),
        "deadline_prices": ROUNDS["deadline_prices"](),
        "gandiva": ROUNDS["gandiva"](),
        "themis": ROUNDS["themis"](),
    }


MOST = {"mtf / themis": 1.3, "mtf / gandiva": 5.0}
"""How many times as long as these a round of MTF may take, for 60 agents and 40 accelerators, in the same run."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Microseconds of a round by size, and ratios."""
    found = {f"{n} agents x {m} accelerators": microseconds(contestants(), n, m) for n, m in SIZES}
    times = found["60 agents x 40 accelerators"]
    return {**found, **{f"mtf / {name}": times["mtf"] / times[name] for name in ("themis", "gandiva")}}
