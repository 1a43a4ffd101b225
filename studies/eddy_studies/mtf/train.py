# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Train the thresholds that ship: `python -m eddy_studies.mtf.train actor|hedge [--seed N] [--out FILE]`.

The document that is written says how it was made, how long that took, and which seeds were kept from training.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from eddy_studies.mtf import hedge, training
from eddy_studies.mtf.workload import EQUAL, QUARTERS_4, Experiment

HELD_OUT = tuple(range(1000, 1010))
"""Seeds of every evaluation; training worlds have seeds of a million and more."""

SETTINGS = (
    Experiment(QUARTERS_4, deadline=5, bursts=8.0, burst_rounds=3.0),
    Experiment(EQUAL, deadline=5, bursts=4.0),
    Experiment(QUARTERS_4, deadline=5),
    Experiment(QUARTERS_4, deadline=5, bursts=4.0),
    Experiment(EQUAL, deadline=5, bursts=8.0, burst_rounds=3.0),
    Experiment(QUARTERS_4, deadline=20),
)
"""What the shipped thresholds saw: bursts of two kinds and steady arrivals, equal weights and unequal ones."""

ACTOR = training.Recipe(SETTINGS, worlds=4, episodes=240, tokens_per_agent=100.0, discount=0.995, trace=0.97)
HEDGE = hedge.HedgeRecipe(SETTINGS)


def shipped(kind: str) -> Path:
    """Where the document that ships is, in a checkout."""
    package = "eddy.policy.price" if kind == "actor" else "eddy_studies.policies"
    return Path(str(resources.files(package))) / f"{kind}.json"


def make(kind: str, seed: int, recipe: training.Recipe | hedge.HedgeRecipe | None = None) -> dict[str, Any]:
    """Train, and write down how."""
    began = time.perf_counter()
    result: dict[str, Any]
    if kind == "actor":
        chosen = recipe if isinstance(recipe, training.Recipe) else ACTOR
        layers = training.train(chosen, seed, lambda line: print(line, file=sys.stderr, flush=True))
        result = {"layers": [[w.round(5).tolist(), b.round(5).tolist()] for w, b in layers]}
        used: training.Recipe | hedge.HedgeRecipe = chosen
    else:
        used = recipe if isinstance(recipe, hedge.HedgeRecipe) else HEDGE
        table = hedge.train(used, seed, lambda line: print(line, file=sys.stderr, flush=True))
        result = {"chances": table.round(6).tolist()}
    return {
        "kind": kind,
        "made_by": f"python -m eddy_studies.mtf.train {kind} --seed {seed}",
        "seed": seed,
        "seconds": round(time.perf_counter() - began, 1),
        "training_seeds": [10**6 * (seed + 1), 10**6 * (seed + 1) + used.episodes * used.worlds - 1],
        "held_out_seeds": list(HELD_OUT),
        "recipe": asdict(used),
        **result,
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("actor", "hedge"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="default: beside the policies, where it ships")
    asked = parser.parse_args()
    document = make(asked.kind, asked.seed)
    path: Path = asked.out or shipped(asked.kind)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {document['seconds']} s")


if __name__ == "__main__":
    main()
