# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[002]'s testbed on processes of this machine: makespans of the default policy, SJF and LJF, live beside planned.

    make bench ARGS="makespan"                       two seeds, to see that it works
    make bench ARGS="makespan --seeds 20 --out out/makespan_live --picture docs/images/makespan-live.png"

Every host is a process. A requester sends its jobs over loopback at the rates of the plan, each kept by a token bucket
of `eddy.pool.connection.token_bucket`, and all of them through one more, its port. A responder receives through such a
port, and computes on a `model` board whose slots are its accelerators; a job begins when its bytes are there and its
accelerator is free. Nobody is told when a job should end: the live makespan is when the last one has.

Three sorts of batches: the four jobs of [002] 5.1 (figure 2), at [002]'s rates and times; by seed, [002] 5.2's batches
that send and compute, at 4 of 30 responders and as many requesters and jobs in proportion (figure 3c, 350 requesters);
and some of these with two `rtl` boards more, on which a job is real work of the simulated hardware, checked against its
reference. How long an item takes there is learned from a few before, and from every batch. Bits are scaled down, and
time is stretched, as the options say.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from eddy.model.placement.instance import Instance, Placement
from eddy_studies.makespan.sweep import checked
from eddy_studies.makespan.testbed import photographs, word_counting
from eddy_studies.makespan.workload import BatchShape, batch
from live_testbed.hosts import Hosts, running
from live_testbed.rtl_boards import LearnedTimes, items_of, with_rtl
from live_testbed.scales import Scales

from benches import tell

SCHEMES = ("default", "sjf", "ljf")
PUBLISHED = {"sjf": 0.3625, "ljf": 0.4681}
"""[002] 5.2, figure 3c at 350 requesters."""
OF_30 = 4
"""Responders of [002]'s 30; requesters and jobs are in this proportion."""
RTL, TRIED = 2, 8
"""`rtl` boards beside them, and items that each runs before the first batch."""
SEED, RTL_SEED = "seed", "rtl seed"
"""What batches are called."""
LONG_S = 0.5
"""Transfers that should take at least so many wall seconds are judged by their rates: below, one late timer decides."""
NEAR, KEPT = 0.10, 0.02
"""Goals: live makespans this near to the planned, rates this near to the given."""


@dataclass(frozen=True, slots=True)
class BatchRun:
    """One batch under one policy.

    Attributes:
        what: The batch: a part of figure 2, or a seed.
        scheme: The policy.
        planned_s, live_s, bound_s: Makespans and the lower bound, seconds of the instance.
        rates: Of each long transfer: the rate it had over the rate it was given.
        bits: Of each of these.
        wrong: What was not as it should be.
        rtl_items: Items of real work that `rtl` boards ran.
        rtl_item_s: What an item was planned with, wall seconds; 0 without such boards.
    """

    what: str
    scheme: str
    planned_s: float
    live_s: float
    bound_s: float
    rates: tuple[float, ...]
    bits: tuple[float, ...]
    wrong: tuple[str, ...]
    rtl_items: int = 0
    rtl_item_s: float = 0.0


def shape(of_30: int) -> BatchShape:
    """Figure 3c at 350 requesters, with so many responders for each 30."""
    return BatchShape(requesters=round(350 * of_30 / 30), responders=of_30, jobs=round(1000 * of_30 / 30))


def ran(hosts: Hosts, what: str, instance: Instance, scheme: str, scales: Scales) -> BatchRun:
    """Plan a batch, and run it."""
    placement = checked(instance, scheme)
    live = hosts.run(instance, placement, scales)
    rates, bits = rates_kept(instance, placement, live.arrived_s, scales)
    bound_s = placement.lower_bound_s
    return BatchRun(what, scheme, placement.makespan_s, live.makespan_s, bound_s, rates, bits, tuple(live.wrong))


def ran_with_rtl(
    hosts: Hosts, what: str, instance: Instance, scheme: str, scales: Scales, learned: LearnedTimes
) -> BatchRun:
    """The same with `rtl` boards beside the responders; what items took is learned."""
    items, item_s = items_of(instance), learned.item_s
    instance = with_rtl(instance, RTL, items, item_s, scales)
    placement = checked(instance, scheme)
    live = hosts.run(instance, placement, scales, items)
    learned.take(live.items_s)
    rates, bits = rates_kept(instance, placement, live.arrived_s, scales)
    count = sum(len(took) for took in live.items_s.values())
    wrong, bound_s = tuple(live.wrong), placement.lower_bound_s
    return BatchRun(what, scheme, placement.makespan_s, live.makespan_s, bound_s, rates, bits, wrong, count, item_s)


def rates_kept(
    instance: Instance, placement: Placement, arrived_s: Sequence[float], scales: Scales
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of each long transfer, its rate over the rate it was given, and its bits.

    Both are rates from when it was to begin until its last byte, pauses that were planned in it too."""
    spans: dict[int, tuple[float, float]] = {}
    for rate in placement.rates:
        if rate.bps > 0 and rate.to_s > rate.from_s:
            from_s, to_s = spans.get(rate.job, (rate.from_s, rate.to_s))
            spans[rate.job] = min(from_s, rate.from_s), max(to_s, rate.to_s)
    long = {job: span for job, span in spans.items() if (span[1] - span[0]) * scales.wall_s >= LONG_S}
    size = instance.size_bits
    bits = () if size is None else tuple(float(size[job]) for job in long)
    kept = [round((to_s - from_s) / (arrived_s[job] - from_s), 5) for job, (from_s, to_s) in long.items()]
    return tuple(kept), bits


def summary(runs: Sequence[BatchRun]) -> dict[str, Any]:
    """The figures that are asked for."""
    seeds = list(dict.fromkeys(run.what for run in runs if run.what.startswith(SEED)))
    with_boards = [run for run in runs if run.what.startswith(RTL_SEED)]
    late = [run.live_s / run.planned_s - 1 for run in runs]
    off = np.array([abs(rate - 1) for run in runs for rate in run.rates])
    bits = np.array([each for run in runs for each in run.bits])
    return {
        "seeds": len(seeds),
        "improvement": _improvement(runs, seeds),
        "with_rtl": {
            "seeds": len(with_boards) // len(SCHEMES),
            "improvement": _improvement(runs, list(dict.fromkeys(run.what for run in with_boards))),
            "items": sum(run.rtl_items for run in with_boards),
            "item_s": sorted({round(run.rtl_item_s, 4) for run in with_boards}),
            "late": [round(run.live_s / run.planned_s - 1, 4) for run in with_boards],
        },
        "figure_2": {
            run.what: {
                other.scheme: [round(other.planned_s, 3), round(other.live_s, 3)]
                for other in runs
                if other.what == run.what
            }
            for run in runs
            if not run.what.startswith((SEED, RTL_SEED))
        },
        "batches": len(runs),
        "late": {"median": statistics.median(late), "worst": max(late)},
        "within_10_percent": _mean(abs(each) <= NEAR for each in late),
        "long_transfers": len(off),
        "rate_off": {"median": float(np.median(off)), "p95": float(np.quantile(off, 0.95)), "worst": float(off.max())},
        "bits_within_2_percent": float(bits[off <= KEPT].sum() / bits.sum()),
        "wrong": [wrong for run in runs for wrong in run.wrong],
    }


def _improvement(runs: Sequence[BatchRun], batches: Sequence[str]) -> dict[str, dict[str, float]]:
    """How much less makespan the default has than its rivals, mean over batches."""
    spans = {(run.what, run.scheme): run for run in runs}
    return {
        rival: {
            "live": _mean(1 - spans[s, "default"].live_s / spans[s, rival].live_s for s in batches),
            "planned": _mean(1 - spans[s, "default"].planned_s / spans[s, rival].planned_s for s in batches),
            "published": PUBLISHED[rival],
        }
        for rival in PUBLISHED
        if batches
    }


def _mean(values: object) -> float:
    return round(float(np.mean(list(values))), 4)  # type: ignore[call-overload]


def _runs(given: argparse.Namespace) -> Iterator[BatchRun]:
    """Every batch under every policy, as asked."""
    like, by_seed = shape(OF_30), Scales(given.wall, given.bits)
    batches = [
        ("figure 2a, fast responder first", word_counting(False), Scales(1.0, given.bits)),
        ("figure 2a, slow responder first", word_counting(True), Scales(1.0, given.bits)),
        ("figure 2b", photographs(), Scales(1.0, given.bits)),
    ]
    seeds = range(given.seed, given.seed + given.seeds)
    batches += [(f"{SEED} {seed}", batch(like, "joint", seed), by_seed) for seed in seeds]
    with running(like.requesters, like.responders, RTL if given.rtl_seeds else 0) as hosts:
        for what, instance, scales in batches:
            yield from (ran(hosts, what, instance, scheme, scales) for scheme in SCHEMES)
        if not given.rtl_seeds:
            return
        learned = LearnedTimes()
        learned.take(hosts.learn(TRIED, by_seed))
        for seed in range(given.seed, given.seed + given.rtl_seeds):
            for scheme in SCHEMES:
                instance = batch(like, "joint", seed)
                yield ran_with_rtl(hosts, f"{RTL_SEED} {seed}", instance, scheme, by_seed, learned)


OPTIONS: dict[str, dict[str, Any]] = {
    "--seeds": {"type": int, "default": 2, "help": "batches that send and compute"},
    "--seed": {"type": int, "default": 0, "help": "the first"},
    "--rtl-seeds": {"type": int, "default": 1, "help": "of them, those that are run with `rtl` boards too"},
    "--wall": {"type": float, "default": 5.0, "help": "wall seconds of a second, for these"},
    "--bits": {"type": float, "default": 0.008, "help": "bits sent of a bit"},
    "--out": {"type": Path, "help": "folder for every batch's figures, as JSON"},
    "--picture": {"type": Path, "help": "draw it"},
}


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """The summary of all batches."""
    runs = []
    for run in _runs(options):
        runs.append(run)
        tell(
            f"{run.what:32} {run.scheme:8} planned {run.planned_s:7.3f} s  live {run.live_s:7.3f} s"
            f"  {run.live_s / run.planned_s - 1:+6.1%}  {len(run.wrong)} wrong"
        )
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "runs.json").write_text(json.dumps([asdict(run) for run in runs], indent=2) + "\n")
    if options.picture:
        from live_testbed.picture import draw

        draw(runs, PUBLISHED, options.picture)
    return summary(runs)


def missed(found: dict[str, Any]) -> list[str]:
    """Jobs that went wrong."""
    return list(found["wrong"])
