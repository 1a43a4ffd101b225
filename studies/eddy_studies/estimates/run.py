# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce estimates`: whether what jobs are told of their start and end comes true.

A hypervisor lives through replays that a seed draws, one after the other. The first ones are its history; of the
others, each job is judged by what it was told the moment it arrived.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from eddy.hypervisor.forecast.estimator import Estimator
from eddy.model.estimates.calibration import Calibration

from eddy_studies import pictures
from eddy_studies.estimates.figures import WHATS, Quality, quality, reliability
from eddy_studies.estimates.mixes import mixes
from eddy_studies.estimates.replay import Outcome, replay
from eddy_studies.judge.sequences import FRESH, workload
from eddy_studies.report import Row, write_csv

HISTORY, JUDGED = 60, 120
"""Replays that are lived through first, and that are judged."""
QUICK_HISTORY, QUICK_JUDGED = 15, 30
HEADLINES = "headlines.json"
PROMISED, TOLERANCE, SAVED = 0.9, 0.05, 0.2
"""What p90 should hold for, within which bounds, and the part of constants' loss that should be saved."""


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Replay; write every job to `jobs.csv`, the diagram to `reliability.png`, figures to `headlines.json`.

    Args:
        seed: Added to the first fresh seed; constants were chosen on seeds below 1000.
        quick: Few replays.
        say: Told what is being done.
    """
    history, judged = (QUICK_HISTORY, QUICK_JUDGED) if quick else (HISTORY, JUDGED)
    unit_s = workload().mean_load_s
    estimator = Estimator(Calibration(unit_s))
    drawn = mixes(FRESH + seed, history + judged)
    say(f"{history} sequences of history")
    replay(drawn[:history], estimator, say)
    say(f"{judged} sequences that are judged")
    outcomes = replay(drawn[history:], estimator, say)
    return report(out, outcomes, unit_s)


def report(out: Path, outcomes: Sequence[Outcome], unit_s: float) -> list[Row]:
    """Figures of judged jobs, and the files that have them."""
    found = {what: quality(outcomes, what, unit_s) for what in WHATS}
    policies = sorted({outcome.policy for outcome in outcomes})
    by_policy = {
        policy: {what: quality([o for o in outcomes if o.policy == policy], what, unit_s) for what in WHATS}
        for policy in policies
    }
    curves = {what: reliability(outcomes, what, unit_s) for what in WHATS}
    pictures.reliability(out / "reliability.png", curves, len(outcomes))
    write_csv(out / "jobs.csv", [_record(outcome) for outcome in outcomes])
    document = {
        "jobs": len(outcomes),
        **{what: _figures(found[what]) for what in WHATS},
        "by_policy": {policy: {w: _figures(q) for w, q in each.items()} for policy, each in by_policy.items()},
        "reliability": curves,
    }
    (out / HEADLINES).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    rows = [row for what in WHATS for row in _rows(what, found[what])]
    for policy, each in by_policy.items():
        for what, q in each.items():
            value = f"{_percent(q.held[PROMISED])}, {_percent(q.gain)}"
            rows.append(Row(policy, f"{what}s before p90, loss saved", "", value, f"{q.jobs} jobs"))
    return rows


def headlines(out: Path) -> dict[str, object]:
    """What the last run into this folder found."""
    return dict(json.loads((out / HEADLINES).read_text(encoding="utf-8")))


def _rows(what: str, q: Quality) -> list[Row]:
    held = abs(q.held[PROMISED] - PROMISED) <= TOLERANCE
    saved = q.gain >= SAVED
    losses = f"{q.pinball_s:.3g} s beside {q.constant_s:.3g} s"
    return [
        Row("all", f"{what}s before p90", "", _percent(q.held[0.9]), f"goal: 85 to 95 %, {_met(held)}"),
        Row("all", f"{what}s before p50", "", _percent(q.held[0.5]), "more than half where most start as expected"),
        Row("all", f"{what}s: pinball loss saved, of the best constant quantiles'", "", _percent(q.gain),
            f"{losses}; goal: at least 20 %, {_met(saved)}"),
        Row("all", f"{what}s: the same beside the best constants of each policy", "", _percent(q.gain_by_policy), ""),
    ]  # fmt: skip


def _met(met: bool) -> str:
    return "met" if met else "MISSED"


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _figures(q: Quality) -> dict[str, float]:
    return {
        "jobs": q.jobs,
        "before_p50": q.held[0.5],
        "before_p90": q.held[0.9],
        "pinball_s": q.pinball_s,
        "constant_pinball_s": q.constant_s,
        "saved": q.gain,
        "saved_beside_constants_by_policy": q.gain_by_policy,
    }


def _record(outcome: Outcome) -> dict[str, object]:
    names = ("mix", "policy", "start_s", "start_p50_s", "start_p90_s", "end_s", "end_p50_s", "end_p90_s")
    fields = asdict(outcome)
    return {name: fields[name] for name in names}
