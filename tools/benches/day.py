# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A day of board time on the model board: how many seconds of this machine's it takes, policy by policy.

Applications of [004] arrive at random at ten slots, one every 40 s on average; but for digit recognition, whose items
take minutes.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

from eddy.policy.dispatch import POLICIES
from eddy_studies.judge.sequences import workload
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, run
from eddy_studies.nimblock.workload import Arrival

DAY_S, BETWEEN_S, SEED = 86_400.0, 40.0, 5
APPS = {"lenet": 10, "image_compression": 10, "rendering_3d": 10, "optical_flow": 10, "alexnet": 1}
"""Applications and their largest batch."""


def events() -> list[Arrival]:
    """A day's arrivals."""
    drawn, found, now_s = random.Random(SEED), [], 0.0
    while now_s < DAY_S:
        app = drawn.choice(sorted(APPS))
        found.append(Arrival(app, drawn.randint(1, APPS[app]), drawn.choice((1, 3, 9)), now_s))
        now_s += drawn.expovariate(1 / BETWEEN_S)
    return found


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of this machine for a day under every policy."""
    day, found = events(), {}
    for name in POLICIES:
        begin = time.process_time()
        result = run(workload(), day, make_player(name), BoardSetting(blocking=False, reuse=True))
        found[name] = {"jobs": len(day), "events": len(result.log), "s": time.process_time() - begin}
    return found
