# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What each lever is worth, alone and together: `eddy reproduce levers`.

On [004]'s recorded sequences, and on the demo's jobs; all in virtual time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from eddy_studies.judge.sequences import document, recorded
from eddy_studies.levers.demo import DemoSetting, figures
from eddy_studies.nimblock.policies import make_player
from eddy_studies.nimblock.run import BoardSetting, responses_s, run
from eddy_studies.nimblock.workload import EventSequence, parse_workload
from eddy_studies.report import Row, write_csv

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


TODAY = BoardSetting(blocking=False, reuse=True, own_tenants=True)
"""Every event another tenant's; every load reads its image."""
ICAP_S, FAST_ICAP_S = 1.03e6 / 400e6, 1.03e6 / 800e6
"""A load of [004]'s mean image through the ICAP: 32 bits at 100 MHz, and at 200."""
SETTINGS: Mapping[str, BoardSetting] = {
    "none": TODAY,
    "images near, none at first": replace(TODAY, near_images=800),
    "images near, after 80 s of idling": replace(TODAY, near_images=800, idle_s=80.0),
    "scrub": replace(TODAY, scrub=True),
    "ICAP": replace(TODAY, port_s=ICAP_S),
    "fusion": replace(TODAY, fuse=True),
    "images near after idling, ICAP": replace(TODAY, near_images=800, idle_s=80.0, port_s=ICAP_S),
    "images near after idling, fusion": replace(TODAY, near_images=800, idle_s=80.0, fuse=True),
    "all": replace(TODAY, near_images=800, idle_s=80.0, port_s=ICAP_S, fuse=True, scrub=True),
    "all, ICAP at 200 MHz": replace(TODAY, near_images=800, idle_s=80.0, port_s=FAST_ICAP_S, fuse=True, scrub=True),
}
"""By what is used."""
GOALS_S: Mapping[str, float] = {"images near, after 80 s of idling": 17.0, "images near after idling, fusion": 13.5}
"""Mean responses that were aimed at, against 20.7 s without any lever then."""
THEN_S = 20.7

SLOW, FAST = DemoSetting("kv260_icap", port_times=0.5), DemoSetting("kv260_icap")
"""The engine with its port at the shell's clock, at which the goals were set (400 MB/s), and at its own, 200 MHz."""
ALL, FAST_ALL = replace(SLOW, scrub=True, fuse=True), replace(FAST, scrub=True, fuse=True)
DEMO: Mapping[str, DemoSetting] = {
    "none": DemoSetting(),
    "scrub": DemoSetting(scrub=True),
    "fusion": DemoSetting(fuse=True),
    "ICAP": SLOW,
    "ICAP at 200 MHz": FAST,
    "scrub, fusion": DemoSetting(scrub=True, fuse=True),
    "scrub, ICAP": replace(SLOW, scrub=True),
    "fusion, ICAP": replace(SLOW, fuse=True),
    "all": ALL,
    "scrub, ICAP at 200 MHz": replace(FAST, scrub=True),
    "fusion, ICAP at 200 MHz": replace(FAST, fuse=True),
    "all, ICAP at 200 MHz": FAST_ALL,
    "all, ICAP at 200 MHz, images 1.5 times smaller": replace(FAST_ALL, smaller=1.5),
    "all, the jobs twice": replace(ALL, rounds=2),
    "all, the jobs ten times": replace(ALL, rounds=10),
    "all, ICAP at 200 MHz, the jobs twice": replace(FAST_ALL, rounds=2),
    "all, ICAP at 200 MHz, the jobs three times": replace(FAST_ALL, rounds=3),
    "all, ICAP at 200 MHz, the jobs five times": replace(FAST_ALL, rounds=5),
    "all, ICAP at 200 MHz, the jobs ten times": replace(FAST_ALL, rounds=10),
}
"""By what is used in the demo. Smaller images are an assumption: no image of a real tool has been compressed."""
DEMO_GOALS: Mapping[str, float] = {"scrub": 43 / 69, "scrub, ICAP": 15 / 69, "all": 9 / 69}
"""Mean responses that were aimed at, over the one without levers."""


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Run the recorded sequences and the demo's jobs under every setting; write `levers.csv` and `demo.csv`.

    Args:
        seed: Of nothing: the sequences are recorded.
        quick: One sequence.
        say: Told what is being done.
    """
    workload, player, sequences = fused_workload(), make_player("eddy"), recorded()[: 1 if quick else None]
    rows, records = [], list[dict[str, object]]()
    today_s = 0.0
    for name, setting in SETTINGS.items():
        say(f"{name}: {len(sequences)} sequences")
        results = [(events, run(workload, events, player, setting)) for events in sequences]
        every = [response for events, result in results for response in responses_s(result, events)]
        mean_s = sum(every) / len(every)
        loads = sum(job.reconfigurations for _, result in results for job in result.jobs.values())
        today_s = today_s or mean_s
        goal_s = GOALS_S.get(name)
        note = f"{mean_s / today_s:.3f} of none; {loads} loads"
        if goal_s is not None:
            note += f"; goal {goal_s / THEN_S:.3f} of none, {goal_s} s"
        rows.append(Row("recorded", f"mean response, s: {name}", "", f"{mean_s:.2f}", note))
        records.append({"levers": name, "mean_response_s": round(mean_s, 4), "loads": loads})
    write_csv(out / "levers.csv", records)
    return rows + _demo(out, say)


def _demo(out: Path, say: Callable[[str], None]) -> list[Row]:
    """The demo's jobs under every setting."""
    rows, records = [], list[dict[str, object]]()
    today = figures(DEMO["none"])
    for name, setting in DEMO.items():
        say(f"{name}: the demo's jobs")
        found = figures(setting)
        note = (
            f"{found.mean_s / today.mean_s:.3f} of none; {found.loads} loads; port idle {1 - found.port:.1%}; slots "
            f"compute {found.compute:.2%}, {found.compute / today.compute:.1f} times"
        )
        if name in DEMO_GOALS:
            note += f"; goal {DEMO_GOALS[name]:.3f} of none"
        rows.append(Row("demo", f"mean response, ms: {name}", "", f"{found.mean_s * 1e3:.1f}", note))
        records.append({"levers": name, **asdict(found)})
    write_csv(out / "demo.csv", records)
    return rows
