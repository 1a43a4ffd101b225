# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce hsm`: slowdown measured, predicted and managed, [001] figures 2 to 4 and 10 to 15.

Large sweeps run on the fast cluster model (`cluster.py`); every row says what it was measured on.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from eddy_studies.hsm import figures, measured, remembered, replay
from eddy_studies.hsm.kernels import MEMORY_BOUND
from eddy_studies.hsm.mixes import (
    EVEN,
    FAIR,
    FULL,
    MOST,
    QOS,
    QUICK,
    TARGET,
    MixRun,
    Outcome,
    Scale,
    World,
    best_partition,
    errors,
    fours,
    high_of,
    pairs,
    programs,
    run_all,
    the_world,
    under,
)
from eddy_studies.hsm.session import run_alone
from eddy_studies.policies import PREDICTORS
from eddy_studies.report import Row

HEADLINES = "headlines.json"
USUAL = "queue 64, cap 5"
SETTINGS: dict[str, tuple[tuple[str, float], ...]] = {
    "queue 16": (("queue", 16),),
    "queue 32": (("queue", 32),),
    "queue 128": (("queue", 128),),
    "cap 2": (("cap", 2),),
    "no cap": (("cap", 0),),
}
"""Of the memory's controller, besides the usual one; figure 14."""
THRESHOLDS = (0.7, 0.8, 0.95)
"""Of fairness, besides 0.9; [001] 6.5."""


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Run every mix under every policy; write data, pictures and headlines under `out`.

    Args:
        out: Folder, made if need be.
        seed: Of programs' requests and of what is drawn.
        quick: Short runs, and one mix in seven in sweeps of settings.
        say: Told what is being done.
    """
    scale = QUICK if quick else FULL
    out.mkdir(parents=True, exist_ok=True)
    say(f"15 programs alone, {scale.epochs} epochs of {scale.cycles} cycles")
    world = the_world(scale, seed)
    curves = scaling(world, scale)
    tasks = plan(scale, seed)
    outcomes = run_all(tasks, scale, seed, Bar(len(tasks), say))
    rows = private(out, world, curves, outcomes)
    on_rtl, rtl = measured.rows(out)
    known, memory = remembered.rows(out)
    beside, near = replay.rows(out)
    rows += on_rtl + known + beside
    even = under(outcomes, EVEN)
    pairs_only = [outcome for outcome in outcomes if len(outcome.task.mix) == 2]
    even = [outcome for outcome in even if len(outcome.task.mix) == 2]
    found = {name: errors(even, name) for name in PREDICTORS}
    rows += figures.accuracy(out, found, figures.MODEL)
    shared, measures = figures.sharing(out, pairs_only)
    served, quality = figures.quality(out, pairs_only, divided(pairs_only))
    rows += shared + served + sweeps(out, outcomes, world)
    heads = {
        "mixes": len(even),
        "progress_error": {name: figures.mean_worst(each) for name, each in found.items()},
        **{name: {policy: kinds["all"] for policy, kinds in by.items()} for name, by in measures.items()},
        "qos": quality,
        "by_kind": measures,
        "source": "fast cluster model",
        "rtl": rtl | ({"progress_error_seen_alone": memory} if memory else {}),
        "model_off_rtl": near,
    }
    (out / HEADLINES).write_text(json.dumps(heads, indent=1) + "\n", encoding="utf-8")
    return rows


def headlines(out: Path) -> dict[str, object]:
    """What the last run into this folder found, as one object."""
    return dict(json.loads((out / HEADLINES).read_text(encoding="utf-8")))


def plan(scale: Scale, seed: int) -> list[MixRun]:
    """Every run of the study."""
    mixes = pairs()
    some = mixes[:: scale.every]
    tasks = [MixRun(mix, policy) for mix in mixes for policy in FAIR]
    tasks += [MixRun(mix, policy, high_of(mix, seed)) for mix in mixes for policy in QOS]
    tasks += [MixRun(mix, memory=memory) for memory in SETTINGS.values() for mix in some]
    tasks += [MixRun(mix, "hsm_fair", threshold=threshold) for threshold in THRESHOLDS for mix in some]
    policies = (EVEN, "hsm_fair", "eddy_slowdown_fair")
    return tasks + [MixRun(mix, policy) for mix in fours(scale.four, seed) for policy in policies]


def scaling(world: World, scale: Scale) -> dict[str, dict[int, float]]:
    """Speed of each program alone on some cores, over its speed on all."""
    curves: dict[str, dict[int, float]] = {}
    for name, kernel in programs().items():
        cycles = scale.cycles * 3
        speeds = {
            cores: found.sharing.instructions / found.sharing.cycles
            for cores in (1, 2, 4, 6, 8, 10, 12, 14, 16)
            if (found := run_alone(world.machine, kernel, cycles, cores))
        }
        curves[name] = {cores: speed / speeds[world.machine.cores] for cores, speed in speeds.items()}
    return curves


def private(out: Path, world: World, curves: dict[str, dict[int, float]], outcomes: Sequence[Outcome]) -> list[Row]:
    """Figures 2 to 4, and c1 and c2 by training pair."""
    beside: dict[str, list[float]] = defaultdict(list)
    for outcome in under(outcomes, EVEN):
        for name, rate in zip(outcome.task.mix, outcome.hit_rates, strict=True):
            if name in MEMORY_BOUND and len(outcome.task.mix) == 2:
                beside[name].append(rate)
    by_name = {name: world.privates[name].sharing.hit_rate for name in MEMORY_BOUND}
    points = figures.saturating(world)
    return [
        *figures.scaling(out, curves, MEMORY_BOUND, figures.MODEL),
        *figures.law(out, points, world.law.c1, world.law.c2, figures.MODEL),
        *figures.hit_rates(out, by_name, beside, figures.MODEL),
        *figures.training(out, world, figures.MODEL),
    ]


def divided(outcomes: Sequence[Outcome]) -> dict[tuple[str, ...], float]:
    """Of mixes whose target needs more than all cores but one: the most that any division of whole cores reaches."""
    tried = [outcome for outcome in outcomes if outcome.task.policy == MOST]
    return {o.task.mix: best_partition(o.task) for o in tried if o.settled[o.task.high] < TARGET}


def sweeps(out: Path, outcomes: Sequence[Outcome], world: World) -> list[Row]:
    """Figures 14 and 15, and thresholds."""
    usual = [o for o in under(outcomes, EVEN) if len(o.task.mix) == 2]
    named = {value: name for name, value in SETTINGS.items()}
    by_setting = {USUAL: [o for o in usual if o.task.mix in {x.task.mix for x in outcomes if x.task.memory}]}
    for outcome in outcomes:
        if outcome.task.memory:
            by_setting.setdefault(named[outcome.task.memory], []).append(outcome)
    by_threshold = {t: [o for o in outcomes if o.task.threshold == t] for t in THRESHOLDS}
    chosen = {o.task.mix for o in by_threshold[THRESHOLDS[0]]}
    by_threshold[0.9] = [o for o in under(outcomes, "hsm_fair") if o.task.mix in chosen]
    four = [outcome for outcome in outcomes if len(outcome.task.mix) == 4]
    return [
        *figures.controller(out, by_setting),
        *figures.thresholds(out, dict(sorted(by_threshold.items()))),
        *figures.four_programs(out, four),
    ]


class Bar:
    """A bar of text, one line for each twentieth.

    Args:
        total: Steps.
        say: Told each line.
    """

    def __init__(self, total: int, say: Callable[[str], None]) -> None:
        self._total, self._say, self._done = total, say, 0

    def __call__(self) -> None:
        """A step is done."""
        self._done += 1
        if self._done * 20 // self._total > (self._done - 1) * 20 // self._total:
            full = self._done * 20 // self._total
            self._say(f"[{'#' * full}{'.' * (20 - full)}] {self._done} of {self._total} runs")
