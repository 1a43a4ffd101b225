# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The study's figures as data, and rows of the table: published beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from eddy.model.slowdown import average_turnaround, fairness, fit_memory_law, system_throughput

from eddy_studies import pictures
from eddy_studies.hsm import published
from eddy_studies.hsm.mixes import (
    BW_APP,
    EVEN,
    FAIR,
    HETEROGENEOUS,
    KINDS,
    MEMORY,
    MOST,
    PROPORTIONAL,
    QOS,
    TARGET,
    Outcome,
    World,
    errors,
    kind,
    under,
)
from eddy_studies.policies import PREDICTORS
from eddy_studies.report import Row, write_csv

MODEL = "model"
"""What a row of the fast cluster model is marked with."""
Series = Mapping[str, Sequence[float]]

MEASURES = {"fairness": "fairness", "stp": "STP", "antt": "ANTT"}


def percent(part: float) -> str:
    """With one digit."""
    return f"{100 * part:.1f} %"


def mean_worst(found: Sequence[float]) -> dict[str, float]:
    """As the headlines have errors."""
    return {"mean": float(np.mean(found)), "worst": float(max(found))}


def scaling(
    out: Path, curves: Mapping[str, Mapping[int, float]], memory_bound: Sequence[str], source: str
) -> list[Row]:
    """Figure 2: speed by cores, alone, over the speed on all."""
    records = [
        {"workload": name, "cores": cores, "speed": round(speed, 4), "source": source}
        for name, curve in curves.items()
        for cores, speed in curve.items()
    ]
    write_csv(out / f"figure_2_{source}.csv", records)
    straight = ([0, max((max(curve) for curve in curves.values()), default=1)], [0, 1])
    sides: dict[str, dict[str, pictures.Curve]] = {}
    for name, curve in curves.items():
        side = f"{'memory' if name in memory_bound else 'compute'}-bound ({source})"
        sides.setdefault(side, {"in proportion": straight})[name] = ([*curve], [*curve.values()])
    pictures.lines(out / f"figure_2_{source}.png", sides, ("cores", "speed over that on all"), ylim=(0, None))
    rows = []
    for what, names in (
        ("compute-bound", [n for n in curves if n not in memory_bound]),
        ("memory-bound", [n for n in curves if n in memory_bound]),
    ):
        halves = [curves[name][max(curves[name]) // 2] for name in names if max(curves[name]) // 2 in curves[name]]
        if halves:
            text = f"{min(halves):.2f} to {max(halves):.2f} of the speed on half the cores"
            says = "half" if what == "compute-bound" else "more than half: saturates"
            rows.append(Row("2", f"{what}, {len(names)} programs", says, text, source))
    return rows


def law(out: Path, points: Mapping[str, tuple[float, float]], c1: float, c2: float, source: str) -> list[Row]:
    """Figure 3: bandwidth by row-buffer hit rate, and the straight through it."""
    records = [{"workload": n, "hit_rate": round(x, 4), "utilisation": round(y, 4)} for n, (x, y) in points.items()]
    write_csv(out / f"figure_3_{source}.csv", records)
    pictures.law(out / f"figure_3_{source}.png", points, c1, c2, source)
    x, y = np.array(list(points.values())).T
    residual = float(np.abs(c1 * x + c2 - y).max())
    ends = f"{percent(y.min())} to {percent(y.max())}"
    text = f"utilisation = {c1:.2f} RBH + {c2:.2f}, {ends}, off by {residual:.2f} at most"
    return [Row("3", "what row hits say of bandwidth", "0.36 to 0.76 of the peak, linear", text, source)]


def hit_rates(out: Path, alone: Mapping[str, float], beside: Series, source: str) -> list[Row]:
    """Figure 4: row-buffer hit rates alone, and beside others."""
    records = [
        {"workload": n, "alone": round(alone[n], 4), "mean": round(float(np.mean(beside[n])), 4)}
        | {"least": round(min(beside[n]), 4), "most": round(max(beside[n]), 4)}
        for n in alone
        if n in beside
    ]
    write_csv(out / f"figure_4_{source}.csv", records)
    pictures.hit_rates(out / f"figure_4_{source}.png", alone, beside, source)
    apart = [abs(float(np.mean(beside[n])) - alone[n]) for n in alone if n in beside]
    text = f"apart by {np.mean(apart):.3f} on average, {max(apart):.3f} at most"
    return [Row("4", "row-buffer hit rate alone and beside others", "alike", text, source)]


def accuracy(out: Path, found: Series, source: str) -> list[Row]:
    """Figure 10: errors of predicted progress, sorted, by predictor."""
    longest = max(len(each) for each in found.values())
    ranked = {name: sorted(each) for name, each in found.items()}
    records = [{"rank": i, **{name: round(each[i], 5) for name, each in ranked.items()}} for i in range(longest)]
    write_csv(out / f"figure_10_{source}.csv", records)
    pictures.accuracy(out / f"figure_10_{source}.png", ranked, source)
    return [
        Row(
            "10",
            f"error of predicted progress, {name}",
            published.ERRORS.get(name, "-"),
            f"{percent(float(np.mean(each)))} mean, {percent(max(each))} worst",
            f"{source}, {len(each)} predictions",
        )
        for name, each in ranked.items()
    ]


def by_kind(outcomes: Sequence[Outcome], policies: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean fairness, STP and ANTT: by measure, policy, and kind of mix or `all`."""
    measures = {"fairness": fairness, "stp": system_throughput, "antt": average_turnaround}
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in measures}
    for policy, (name, measure) in product(policies, measures.items()):
        chosen = under(outcomes, policy)
        values = {
            which: [measure(o.progress) for o in chosen if which in ("all", kind(o.task.mix))]
            for which in (*KINDS, "all")
        }
        found[name][policy] = {which: float(np.mean(each)) for which, each in values.items() if each}
    return found


def _bars(
    path: Path,
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    policies: Sequence[str],
    title: str,
    kinds: Sequence[str] = (*KINDS, "all"),
) -> None:
    """One panel a measure, one group a kind of mix, one bar a policy."""
    panels = {
        f"{MEASURES[measure]}, {title}": {p: [values[p].get(each, 0.0) for each in kinds] for p in policies}
        for measure, values in found.items()
    }
    pictures.bars(path, panels, kinds, "", values="%.2f")


def sharing(out: Path, outcomes: Sequence[Outcome]) -> tuple[list[Row], dict[str, dict[str, dict[str, float]]]]:
    """Figures 11 and 13: fairness, STP and ANTT by policy and kind of mix."""
    found = by_kind(outcomes, FAIR)
    write_csv(
        out / "figure_11.csv",
        [
            {"measure": m, "policy": p, "mixes": which, "mean": round(value, 4)}
            for m, policies in found.items()
            for p, kinds in policies.items()
            for which, value in kinds.items()
        ],
    )
    _bars(out / "figure_11.png", found, [p for p in FAIR if p != BW_APP], "fairness-aware sharing")
    shown = {name: found[name] for name in ("fairness", "stp")}
    _bars(out / "figure_13.png", shown, [EVEN, BW_APP, "hsm_fair"], "bandwidth or cores")
    fair = found["fairness"]
    both = {p: _mean([fairness(o.progress) for o in under(outcomes, p) if kind(o.task.mix) in KINDS[:2]]) for p in FAIR}
    rows = [
        Row("11", f"fairness, {p}", published.FAIRNESS.get(p, "-"), percent(fair[p]["all"]), "model, all mixes")
        for p in FAIR
    ]
    rows += [
        Row(
            "11",
            f"fairness over even sharing, {p}",
            published.FAIRNESS_GAIN if p == "hsm_fair" else "-",
            f"{both[p] / both[EVEN]:.2f} times",
            "model, heterogeneous and memory-bound mixes" + ("; goal 1.4" if p == "hsm_fair" else ""),
        )
        for p in FAIR[1:]
    ]
    for name, says in (("stp", "+7.2 %"), ("antt", "-15.8 %")):
        gain = found[name]["hsm_fair"][HETEROGENEOUS] / found[name][EVEN][HETEROGENEOUS] - 1
        rows.append(
            Row("11", f"{name.upper()} of hsm_fair over even, heterogeneous", says, f"{100 * gain:+.1f} %", MODEL)
        )
    for which in (MEMORY, HETEROGENEOUS):
        gains = [fair[p][which] / fair[EVEN][which] - 1 for p in (BW_APP, "hsm_fair")]
        text = f"{100 * gains[0]:+.1f} % (HSM-Fair {100 * gains[1]:+.1f} %)"
        rows.append(Row("13", f"fairness of BW-App over even, {which}", published.BW_APP[which], text, MODEL))
    return rows, found


def quality(
    out: Path, outcomes: Sequence[Outcome], divided: Mapping[tuple[str, ...], float]
) -> tuple[list[Row], dict[str, dict[str, float]]]:
    """Figure 12: progress of the tenant with priority, and STP.

    Args:
        outcomes: Of two programs each.
        divided: Most progress over all divisions of whole cores, of mixes in which one core for the other is too much.
    """
    found = {policy: [o for o in outcomes if o.task.policy == policy] for policy in QOS}
    write_csv(
        out / "figure_12.csv",
        [
            {"policy": p, "mix": " ".join(o.task.mix), "high": o.task.mix[o.task.high], "kind": kind(o.task.mix)}
            | {"progress": round(o.settled[o.task.high], 4), "whole_run": round(o.progress[o.task.high], 4)}
            | {"stp": round(sum(o.settled), 4), "cores": round(o.cores[o.task.high], 2)}
            for p, each in found.items()
            for o in each
        ],
    )
    pictures.quality(out / "figure_12.png", found)
    rows: list[Row] = []
    heads: dict[str, dict[str, float]] = {}
    possible = {o.task.mix for o in found[MOST] if o.task.mix not in divided}
    possible |= {mix for mix, reached in divided.items() if reached >= TARGET}
    text, most = f"{len(possible)} of {len(found[MOST])}", [reached for reached in divided.values() if reached < TARGET]
    note = f"{MODEL}; at most {max(most):.2f} in the others" if most else MODEL
    rows.append(Row("12", f"target of {TARGET} met, best of all divisions of whole cores", "-", text, note))
    for policy, each in found.items():
        reached = {o.task.mix: o.settled[o.task.high] for o in each}
        missed = [mix for mix, value in reached.items() if value < TARGET]
        avoidable = [mix for mix in missed if mix in possible]
        heads[policy] = {"met": len(each) - len(missed), "of": len(each), "possible": len(possible)}
        heads[policy] |= {"stp": _mean([sum(o.settled) for o in each]), "least": min(reached.values())}
        note = f"{MODEL}; least {min(reached.values()):.2f}; missed though whole cores can reach it: {len(avoidable)}"
        text = f"{len(each) - len(missed)} of {len(each)}"
        rows.append(Row("12", f"target of {TARGET} met, {policy}", published.QOS_MET.get(policy, "-"), text, note))
        if policy in (PROPORTIONAL, MOST):
            continue
        gains = {which: _gain(each, found[PROPORTIONAL], which) for which in (HETEROGENEOUS, "all")}
        heads[policy]["stp_over_proportional_heterogeneous"] = gains[HETEROGENEOUS]
        text = f"{100 * gains[HETEROGENEOUS]:+.1f} % heterogeneous, {100 * gains['all']:+.1f} % all"
        says = published.QOS_STP if policy == "hsm_qos" else "-"
        rows.append(Row("12", f"STP over proportional sharing, {policy}", says, text, MODEL))
    return rows, heads


def _gain(each: Sequence[Outcome], base: Sequence[Outcome], which: str) -> float:
    """STP over that of other runs, in mixes of a kind, less 1."""
    ours, theirs = (
        _mean([sum(o.settled) for o in some if which in ("all", kind(o.task.mix))]) for some in (each, base)
    )
    return ours / theirs - 1


def controller(out: Path, by_setting: Mapping[str, Sequence[Outcome]]) -> list[Row]:
    """Figure 14: mean error of HSM by queue size and cap."""
    means = {setting: {n: _mean(errors(each, n)) for n in PREDICTORS} for setting, each in by_setting.items()}
    write_csv(
        out / "figure_14.csv", [{"setting": s, **{n: round(v, 5) for n, v in m.items()}} for s, m in means.items()]
    )
    series = {name: [100 * m[name] for m in means.values()] for name in PREDICTORS}
    title = "settings of the memory's controller"
    pictures.bars(out / "figure_14.png", {title: series}, list(means), "mean error of progress, %")
    apart = [m["hsm"] for m in means.values()]
    text = f"{percent(min(apart))} to {percent(max(apart))}"
    rows = [Row("14", "HSM's mean error over queue sizes and caps", published.CONTROLLER, text, MODEL)]
    stp = {s: _mean([sum(o.progress) for o in each]) for s, each in by_setting.items()}
    if "no cap" in stp and "queue 64, cap 5" in stp:
        text = f"{100 * (stp['no cap'] / stp['queue 64, cap 5'] - 1):+.1f} %"
        rows.append(Row("14", "STP without a cap", "within 2.5 %", text, MODEL))
    return rows


def thresholds(out: Path, by_threshold: Mapping[float, Sequence[Outcome]]) -> list[Row]:
    """Section 6.5: fairness, STP and ANTT of HSM-Fair by its threshold."""
    records = [
        {"threshold": t, "fairness": round(_mean([fairness(o.progress) for o in each]), 4)}
        | {"stp": round(_mean([sum(o.progress) for o in each]), 4)}
        | {"antt": round(_mean([average_turnaround(o.progress) for o in each]), 4)}
        for t, each in by_threshold.items()
    ]
    write_csv(out / "thresholds.csv", records)
    text = ", ".join(f"{r['threshold']}: {percent(r['fairness'])}" for r in records)
    return [Row("6.5", "fairness of hsm_fair by threshold", "0.9 and above is good", text, MODEL)]


def training(out: Path, world: World, source: str) -> list[Row]:
    """Section 6.5: c1 and c2 from pairs of one program of low and one of high hit rate."""
    points = saturating(world)
    low = [name for name, (hit, _) in points.items() if hit < 0.3]
    high = sorted(points, key=lambda name: -points[name][0])[:4]
    records = []
    for a, b in product(low, high):
        pair = [points[a], points[b]]
        found = fit_memory_law([x for x, _ in pair], [y for _, y in pair], world.law.peak_bytes_per_s)
        records.append({"low": a, "high": b, "c1": round(found.c1, 4), "c2": round(found.c2, 4)})
    if not records:
        return [
            Row(
                "6.5",
                "c1 and c2 by training pair",
                published.TRAINING,
                "no program saturates with RBH below 0.3",
                source,
            )
        ]
    write_csv(out / f"training_pairs_{source}.csv", records)
    c1, c2 = np.array([[r["c1"], r["c2"]] for r in records], np.float64).T
    text = f"c1 {c1.min():.2f} to {c1.max():.2f}, c2 {c2.min():.2f} to {c2.max():.2f} over {len(records)} pairs"
    return [Row("6.5", "c1 and c2 by training pair", published.TRAINING, text, source)]


def saturating(world: World) -> dict[str, tuple[float, float]]:
    """Hit rate and utilisation of programs that wait for memory for a quarter of their time, alone."""
    machine = world.machine
    return {
        name: (s.hit_rate, min(s.requests / s.cycles / machine.peak_lines_per_cycle, 1.0))
        for name, private in world.privates.items()
        if (s := private.sharing).memory_stall_cycles > 0.25 * s.cores * s.cycles
    }


def four_programs(out: Path, outcomes: Sequence[Outcome]) -> list[Row]:
    """Figure 15: fairness and STP of mixes of four."""
    policies = (EVEN, "hsm_fair", "eddy_slowdown_fair")
    found = {name: by_kind(outcomes, policies)[name] for name in ("fairness", "stp")}
    write_csv(
        out / "figure_15.csv",
        [
            {"policy": o.task.policy, "mix": " ".join(o.task.mix), "fairness": round(fairness(o.progress), 4)}
            | {"stp": round(sum(o.progress), 4), "cores": " ".join(map(str, o.cores))}
            for o in outcomes
        ],
    )
    _bars(out / "figure_15.png", found, policies, "four programs", kinds=("all",))
    even = found["fairness"][EVEN]["all"]
    return [
        Row("15", f"fairness of four programs, {p}", published.FOUR_FAIRNESS if p == "hsm_fair" else "-",
            f"{percent(found['fairness'][p]['all'])}, {found['fairness'][p]['all'] / even:.2f} times even; "
            f"STP {found['stp'][p]['all']:.2f} (even {found['stp'][EVEN]['all']:.2f})", MODEL)
        for p in policies[1:]
    ]  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
