"""What a round of each price policy costs: most token first, Gandiva-fair, Themis, in the same run ([003] 5.16, 5.17).

Mean over the rounds of a bursty run; each decision is repeated and its fastest time counts. "mtf" is what ships:
Algorithm 1, and the actor evaluated for all agents; "mtf, given" has the same threshold for everybody, as the document
times it. With `--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import json
import sys

from eddy.policy.price.mtf import MostTokenFirst
from eddy.policy.price.rounds import RoundPolicy
from eddy.policy.price.thresholds import Fixed
from eddy_studies.mtf.overhead import microseconds
from eddy_studies.policies import ROUNDS

GOALS = {"themis": 1.3, "gandiva": 5.0}
"""How many times as long as these a round of MTF may take, for 60 agents and 40 accelerators, in the same run."""
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


def main() -> int:
    """Measure, print, and exit 1 where a round of MTF takes longer beside its rivals than the goals say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", dest="as_json")
    as_json: bool = parser.parse_args().as_json
    found = {f"{n} agents x {m} accelerators": microseconds(contestants(), n, m) for n, m in SIZES}
    if as_json:
        print(json.dumps({"price": {"mtf_at_most_times": GOALS, "microseconds": found}}))
    else:
        for size, times in found.items():
            print(f"price: {size}: " + ", ".join(f"{name} {us:.1f} us" for name, us in times.items()))
    times = found["60 agents x 40 accelerators"]
    missed = [name for name, goal in GOALS.items() if times["mtf"] > goal * times[name]]
    for name in missed:
        took = times["mtf"] / times[name]
        print(
            f"price: a round of mtf takes {took:.2f} times as long as {name}'s; at most {GOALS[name]}", file=sys.stderr
        )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
