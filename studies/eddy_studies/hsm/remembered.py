# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a memory of kernels alone is worth: progress counted in work-groups, beside predictions of kernels first seen.

Two things are told apart. *First seen*: counters of the epoch and constants of the board alone, as [001] has it. *Seen
alone*: of every kernel, by its name, the mean time of a work-group alone on all cores is remembered as well. The second
is no prediction but a measurement; it errs as far as a kernel's work-groups take other times than remembered. So it is
also made with a memory of other data, and launch by launch, where the mean over a kernel's launches is at fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eddy.model.eddy_slowdown import EddySlowdown
from eddy.model.measured_predictor import MeasuredPredictor
from eddy.model.progress import HsmPredictor, ProgressPredictor
from eddy.model.slowdown import SharedRunCounters

from eddy_studies.hsm import figures, rtl_launches
from eddy_studies.hsm.measured import RTL, Cluster8, sharing
from eddy_studies.hsm.rtl_data import MeasuredRuns, Mix, load_runs
from eddy_studies.hsm.rtl_launches import INPUTS, LaunchedRuns, TimedLaunch
from eddy_studies.report import Row, write_csv

SAMPLES = (1, 2, 4)
WINDOW = 20_000
"""Cycles of the stretches that are looked at launch by launch: an epoch's."""


def with_memory(found: MeasuredRuns, model: ProgressPredictor) -> dict[str, list[float]]:
    """Relative errors of progress over the mixes with a memory of one round alone, by what is done with it.

    The truth is of as many rounds alone as in the mix, so one round is not the same run.
    """
    here = Cluster8(found)
    errors: dict[str, list[float]] = {name: [] for name in ("groups", "bandwidth", "instructions")}
    for mix in found.mixes.values():
        known = replace(here.epoch(mix), tenants=tuple(_known(found, mix, here.cores)))
        curves = MeasuredPredictor(model).predict(known)
        hsm = HsmPredictor().predict(known)
        for index, progress in enumerate(found.progress(mix)):
            alone, counted = found.alone[mix.workloads[index], here.cores].counted, mix.shared[index]
            curve, bound = curves[index], hsm[index]
            assert curve is not None
            assert bound is not None
            bandwidth = counted.requests / counted.cycles / (alone.requests / alone.cycles)
            speed = counted.instructions / counted.cycles / (alone.instructions / alone.cycles)
            errors["groups"].append(_off(curve.progress, progress))
            errors["bandwidth"].append(_off(min(bandwidth, 1.0) if bound.memory_bound else bound.progress, progress))
            errors["instructions"].append(_off(min(speed, 1.0), progress))
    return errors


def _known(found: MeasuredRuns, mix: Mix, cores: int) -> Iterable[SharedRunCounters]:
    for name, counted in zip(mix.workloads, mix.shared, strict=True):
        alone = found.alone[name, cores]
        group_cycles = alone.rounds[0] * len(alone.rounds) / alone.counted.groups
        yield replace(sharing(counted), alone_cycles=counted.groups * group_cycles)


def with_samples(found: MeasuredRuns, number: int) -> list[float]:
    """Relative errors of progress over the mixes with private samples and no memory.

    A sample is an epoch of the run alone, `number` of them at even distances; speed is counted in instructions, as
    a stretch of a launch says nothing of its work-groups.
    """
    here, errors = Cluster8(found), []
    for mix in found.mixes.values():
        for name, counted, progress in zip(mix.workloads, mix.shared, found.progress(mix), strict=True):
            epochs = found.alone[name, here.cores].epochs[:-1]
            taken = [epochs[int((i + 0.5) * len(epochs) / number)] for i in range(number)]
            alone = sum(each.instructions for each in taken) / sum(each.cycles for each in taken)
            errors.append(_off(min(counted.instructions / counted.cycles / alone, 1.0), progress))
    return errors


def with_stalls(found: MeasuredRuns) -> dict[str, list[float]]:
    """Relative errors of progress over the mixes if waiting alone were known exactly, and computing were as in the mix.

    What is left bounds every predictor that goes by counters of waiting. `stalls`: all cycles of waiting alone are
    known; `latency`: those of a request alone, and there are as many requests as in the mix.
    """
    here, errors = Cluster8(found), dict[str, list[float]]({"stalls": [], "latency": []})
    for mix in found.mixes.values():
        for index, progress in enumerate(found.progress(mix)):
            counted, cores = mix.shared[index], mix.cores[index]
            alone = found.alone[mix.workloads[index], here.cores]
            rounds = len(mix.rounds[index]) / len(alone.rounds)
            waited = {
                "stalls": alone.counted.stall_cycles * rounds,
                "latency": alone.counted.stall_cycles / alone.counted.requests * counted.requests,
            }
            took = cores * counted.cycles
            for name, stalls in waited.items():
                said = cores / here.cores * (took - counted.stall_cycles + stalls) / took
                errors[name].append(_off(min(said, 1.0), progress))
    return errors


def _off(said: float, is_so: float) -> float:
    return abs(said - is_so) / is_so


@dataclass(frozen=True, slots=True)
class ByLaunch:
    """Relative errors over the mixes, from launches.

    Attributes:
        whole: Over complete rounds, with a memory of other data.
        same: The same with a memory of the same data.
        stretches: Over stretches of an epoch's length, with a memory of other data.
    """

    whole: list[float]
    same: list[float]
    stretches: list[float]


def by_launch(found: LaunchedRuns) -> ByLaunch:
    """As a hypervisor has it: by the kernel's name, over rounds and over stretches of time."""
    made = ByLaunch([], [], [])
    for names, runs in found.mixes.items():
        for name, launches in zip(names, runs, strict=True):
            private, round_ = found.alone[name, INPUTS[0]], len(found.alone[name, INPUTS[1]])
            other, own = (group_cycles(found.alone[name, seed]) for seed in reversed(INPUTS))
            # Rounds after the last one that was measured alone take as long as it.
            alike = [i if i < len(private) else len(private) - round_ + i % round_ for i in range(len(launches))]
            truth = [private[i].cycles for i in alike]
            took = [launch.cycles for launch in launches]
            said = [launch.groups * other[launch.kernel] for launch in launches]
            made.whole.append(_off(sum(said), sum(truth)))
            made.same.append(_off(sum(each.groups * own[each.kernel] for each in launches), sum(truth)))
            for begin in range(0, sum(took) - WINDOW + 1, WINDOW):
                at = (begin, begin + WINDOW)
                made.stretches.append(_off(_within(said, took, *at), _within(truth, took, *at)))
    return made


def group_cycles(launches: Sequence[TimedLaunch]) -> dict[str, float]:
    """Mean cycles of a work-group of each kernel, by name."""
    groups: dict[str, int] = defaultdict(int)
    cycles: dict[str, int] = defaultdict(int)
    for launch in launches:
        groups[launch.kernel] += launch.groups
        cycles[launch.kernel] += launch.cycles
    return {name: cycles[name] / groups[name] for name in groups}


def _within(work: Sequence[float], took: Sequence[int], begin: int, end: int) -> float:
    """Work between two times, each launch's spread evenly over its own."""
    total, at = 0.0, 0
    for done, cycles in zip(work, took, strict=True):
        total += done * max(min(end, at + cycles) - max(begin, at), 0) / cycles
        at += cycles
    return total


def rows(out: Path) -> tuple[list[Row], dict[str, object]]:
    """The table's rows, and what headlines have of them; nothing where no mix was measured."""
    found = load_runs()
    if not found.mixes:
        return [], {}
    errors = dict(with_memory(found, EddySlowdown(constants=Cluster8(found).constants())))
    errors |= with_stalls(found)
    errors |= {f"{number} samples": with_samples(found, number) for number in SAMPLES}
    said = {
        **{f"{number} samples": f"{number} private samples of an epoch and no memory" for number in SAMPLES},
        "groups": "eddy_slowdown or HSM, programs seen alone, work in groups",
        "bandwidth": "HSM, programs seen alone, their bandwidth remembered",
        "instructions": "the same memory, work in instructions",
        "stalls": "were all waiting alone known exactly, nothing else of the program",
        "latency": "were waiting for a request alone known exactly",
    }
    launched = rtl_launches.load_launches()
    if launched.mixes:
        found_by = by_launch(launched)
        errors |= {"groups, other data": found_by.whole, "groups, same data": found_by.same}
        errors["groups, other data, by epoch"] = found_by.stretches
        said["groups, same data"] = "work in groups by kernel, seen alone on the same data"
        said["groups, other data"] = "work in groups by kernel, seen alone on other data"
        said["groups, other data, by epoch"] = f"{said['groups, other data']}, by {WINDOW:,} cycles"
    longest = max(len(each) for each in errors.values())
    ranked = {name: sorted(each) for name, each in errors.items()}
    records = [
        {"rank": i, **{name: round(each[i], 5) for name, each in ranked.items() if i < len(each)}}
        for i in range(longest)
    ]
    write_csv(out / f"remembered_{RTL}.csv", records)
    made = [
        Row(
            *("-", f"error of progress, {said[name]}", "-"),
            f"{figures.percent(sum(each) / len(each))} mean, {figures.percent(max(each))} worst",
            f"{RTL}, {len(each)} measured",
        )
        for name, each in errors.items()
    ]
    return made, {name: figures.mean_worst(each) for name, each in errors.items()}
