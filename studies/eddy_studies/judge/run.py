# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce eddy-policy`: the `eddy` dispatch policy against Nimblock on the machine that suits it best."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from eddy_studies.judge import figures as f
from eddy_studies.judge.limits import RemainingGap, gap_to_bound
from eddy_studies.judge.sequences import ARRIVALS, DRAWS, FRESH, drawn, recorded, workload
from eddy_studies.judge.trial import CONTENDERS, OURS, Trial, run_trial, strongest
from eddy_studies.nimblock.workload import Arrival
from eddy_studies.report import Row, write_csv

SEQUENCES = 40
"""Fresh sequences of each draw and kind of arrivals."""
QUICK = 2
"""The same, and of those recorded, where few will do."""
LOADS_MS: tuple[float | None, ...] = (None, 5.3)
"""Measured load times, and loads from memory: the configuration port alone."""
SEARCHED = 3
"""Sequences of each kind of arrivals for which a clairvoyant schedule is looked for."""
TRIES = 20
"""Of that search, for each sequence and mean."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One line of the judgement.

    Attributes:
        what: In words.
        bound: What it should reach, by arrivals; none where it is only reported.
        at_least: Whether it should be at least, or at most, that.
    """

    what: str
    figure: f.Figure
    bound: dict[str, float]
    at_least: bool = True

    def note(self, arrivals: str, value: f.Value) -> str:
        """The goal, and whether the value reaches it."""
        bound = self.bound.get(arrivals)
        if bound is None:
            return ""
        met = value.value >= bound if self.at_least else value.value <= bound
        return f"goal: at {'least' if self.at_least else 'most'} {bound:g}, {'met' if met else 'MISSED'}"


RELATIVE = "mean relative response"
MEANS = ("mean response, s", RELATIVE)
"""What `limits` looks for the least of."""


def _row(where: str, what: str, found: RemainingGap) -> Row:
    """What is left, and how far ahead of the rival anybody could be."""
    what = f"{what}, first {found.sequences}: no schedule below, best found knowing everything, eddy, strongest rival"
    value = f"{found.bound:.3g}, {found.found:.3g}, {found.ours:.3g}, {found.rival:.3g}"
    ahead = [found.rival / mean for mean in (found.ours, found.found, found.bound)]
    return Row(
        where, what, "", value, "times lower than the rival: eddy {:.2f}, knowing {:.2f}, bound {:.2f}".format(*ahead)
    )


def _every(bound: float) -> dict[str, float]:
    return dict.fromkeys(ARRIVALS, bound)


def goals(rival: str) -> tuple[Goal, ...]:
    """What `eddy` is judged by beside the strongest rival of a trial, and figures to read beside it."""
    return (
        Goal("mean relative response, times lower than the strongest rival's", f.mean_relative(rival), _every(1.3)),
        Goal("mean response, times lower than the strongest rival's", f.plain_mean(rival), _every(1.2)),
        Goal(
            "mean response beyond the critical path, times lower than the strongest rival's", f.waiting_mean(rival), {}
        ),
        Goal("the part of the mean response that is critical path", f.path_share, {}),
        Goal("median relative response, times lower than the strongest rival's", f.median_relative(rival), {}),
        Goal("mean response of priority 9, times lower than the strongest rival's", f.high_mean(rival), _every(1.0)),
        Goal("95th percentile of responses, over the strongest rival's", f.tail(rival, 95), _every(1.05), False),
        Goal("99th percentile of responses, over the strongest rival's", f.tail(rival, 99), _every(1.02), False),
        Goal("95th percentile of relative responses, over the strongest rival's", f.relative_tail(rival, 95), {}),
        Goal("99th percentile of relative responses, over the strongest rival's", f.relative_tail(rival, 99), {}),
        Goal("D_s with 10 % of deadlines missed, priority 9", f.deadline_point(OURS), _every(2.0), False),
        Goal("D_s with 10 % of deadlines missed, priority 9: strongest rival", f.deadline_point(rival), {}),
        Goal("worst application's mean slowdown", f.worst_slowdown(OURS), _every(2.5), False),
        Goal("worst application's mean slowdown: strongest rival", f.worst_slowdown(rival), {}),
        *(Goal(f"mean relative response: {name}", f.relative_mean(name), {}) for name in CONTENDERS),
        *(Goal(f"mean response, s: {name}", f.response_mean(name), {}) for name in CONTENDERS),
    )


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Hold the trial; write every response to `responses_*.csv` and every figure to `figures.json` under `out`.

    Args:
        seed: Added to the first fresh seed.
        quick: Few sequences, and measured loads only.
        say: Told what is being done.
    """
    rows: list[Row] = []
    values: dict[str, dict[str, object]] = {}
    for load_ms in LOADS_MS[: 1 if quick else None]:
        for name, arrivals, sequences in _sets(seed, QUICK if quick else SEQUENCES):
            loads = "measured loads" if load_ms is None else f"{load_ms} ms loads"
            say(f"{name}, {loads}: {len(sequences)} sequences under {len(CONTENDERS)} policies")
            board = workload(load_ms)
            trial = run_trial(board, sequences)
            where = f"{name}, {loads}"
            write_csv(out / f"responses_{where.replace(', ', '_').replace(' ', '_')}.csv", _records(trial))
            rival = strongest(trial)
            lines = goals(rival)
            judged = {goal.what: f.estimate(trial, goal.figure) for goal in lines}
            values[where] = {what: asdict(value) for what, value in judged.items()}
            values[where]["slowdowns"] = f.slowdowns(trial, OURS)
            values[where]["strongest rival"] = rival
            rows.append(Row(where, "strongest rival", "", rival, ""))
            some, tries = (sequences[:1], 2) if quick else (sequences[:SEARCHED], TRIES)
            means = {what: gap_to_bound(board, some, trial, rival, what == RELATIVE, tries) for what in MEANS}
            values[where]["what is left"] = {what: asdict(found) for what, found in means.items()}
            what_is_left = [_row(where, what, found) for what, found in means.items()]
            rows += [
                Row(where, goal.what, "", str(judged[goal.what]), goal.note(arrivals, judged[goal.what]))
                for goal in lines
            ]
            rows += what_is_left
    (out / "figures.json").write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return rows


def _sets(seed: int, count: int) -> Iterator[tuple[str, str, Sequence[Sequence[Arrival]]]]:
    """What the trial is held on: name, kind of arrivals, sequences."""
    yield "recorded", "realtime", recorded()[:count]
    for draw, arrivals in product(DRAWS, ARRIVALS):
        yield f"{draw} draw, {arrivals}", arrivals, [drawn(arrivals, FRESH + seed + i, draw) for i in range(count)]


def _records(trial: Trial) -> list[dict[str, object]]:
    return [
        {
            "sequence": row,
            "event": column,
            "app": str(trial.apps[row, column]),
            "priority": int(trial.priority[row, column]),
            "single_slot_s": round(float(trial.single_s[row, column]), 6),
            **{name: round(float(values[row, column]), 6) for name, values in trial.response_s.items()},
        }
        for row in range(trial.apps.shape[0])
        for column in range(trial.apps.shape[1])
    ]
