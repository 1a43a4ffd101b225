"""[004]'s applications with fused tasks: which ones, and what an item of them takes."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from eddy_studies.judge.sequences import document
from eddy_studies.nimblock.workload import EventSequence, parse_workload

FUSED: Mapping[str, Mapping[str, Sequence[int]]] = {
    "image_compression": {"front": (0, 1, 2), "back": (3, 4, 5)},
    "digit_recognition": {"whole": (0, 1, 2)},
    "optical_flow": {"gradients": (0, 1, 2), "products": (3, 4, 5), "flow": (6, 7, 8)},
}
"""By application: fused tasks and the ids they cover. The optical flow's chain is nine tasks; in thirds it fits slots
that hold three of its small modules."""


@cache
def fused_workload() -> EventSequence:
    """[004]'s applications and board, with fused tasks.

    Stages of a fused task stream to each other, so an item takes what its slowest stage does: an assumption, since
    nobody measured such modules on that board.
    """
    apps: dict[str, Any] = copy.deepcopy(dict(document()["apps"]))
    for name, tasks in FUSED.items():
        row = {task["id"]: task for task in apps[name]["tasks"]}
        apps[name]["fused"] = [
            {
                "name": fused,
                "covers": list(covers),
                **{key: max(row[task][key] for task in covers) for key in ("estimate_us", "measured_us")},
            }
            for fused, covers in tasks.items()
        ]
    return parse_workload({**document(), "apps": apps})
