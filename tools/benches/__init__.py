# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Cases of `tools/bench.py`, which says what a case is; and what several of them need."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AGAINST = {"type": Path, "metavar": "DIR", "help": "another checkout, which is measured in turns with this one"}


def tell(what: str) -> None:
    """Progress, where it does not mix with the result."""
    print(f"bench: {what}", file=sys.stderr, flush=True)


def in_turns(
    against: Path | None, turns: int, measure: Callable[[Path], Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Medians of what is measured of this tree, and of another one in turns with it."""
    roots = {"head": ROOT, **({"against": against.resolve()} if against else {})}
    found: dict[str, list[Mapping[str, float]]] = {}
    for _ in range(turns):
        for who, root in roots.items():
            found.setdefault(who, []).append(run := measure(root))
            tell(f"{who} {run}")
    return {
        who: {name: round(statistics.median(each.get(name, 0.0) for each in runs), 4) for name in runs[0]}
        for who, runs in found.items()
    }
