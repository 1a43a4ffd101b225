# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs of [001] Table 2 on the RTL launch by launch: alone on two inputs, and side by side.

    python -m eddy_studies.hsm.rtl_launches [--seconds S] [--out FILE]

What a hypervisor remembers of a kernel is work-groups a second while nobody else ran, by the kernel's name; the next
run may have other data. `rtl_launches.json` says what that is worth: of each launch its kernel, work-groups and cycles.
Mixes are those of `rtl_measured.json`. It goes on where an earlier call ended, and begins again on other hardware.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("rtl_launches.json")
INPUTS = (1, 2)
"""Seeds of the inputs; mixes run on the first."""


@dataclass(frozen=True, slots=True)
class TimedLaunch:
    """One launch of a kernel.

    Attributes:
        groups: Work-groups of it.
        cycles: From the end of the one before to its own.
    """

    kernel: str
    groups: int
    cycles: int


Launches = tuple[TimedLaunch, ...]


@dataclass(frozen=True, slots=True)
class LaunchedRuns:
    """All of it.

    Attributes:
        hardware: Digest of RTL, memory model, harness and tools.
        alone: Of each program on every core, by name and seed of its input, the launches of its rounds; one round
            of inputs that are not the mixes'.
        mixes: By names: of each program the launches of its complete rounds, on half of the cores.
    """

    hardware: str = ""
    alone: Mapping[tuple[str, int], Launches] = field(default_factory=dict)
    mixes: Mapping[tuple[str, ...], tuple[Launches, ...]] = field(default_factory=dict)


def read(path: Path = KEPT) -> LaunchedRuns:
    """The measurements in a file; none where it is not there."""
    if not path.exists():
        return LaunchedRuns()
    found = json.loads(path.read_text(encoding="utf-8"))
    return LaunchedRuns(
        found["hardware"],
        {(each["program"], each["seed"]): _launches(each["launches"]) for each in found["alone"]},
        {tuple(each["programs"]): tuple(map(_launches, each["launches"])) for each in found["mixes"]},
    )


@cache
def load_launches() -> LaunchedRuns:
    """The measurements that are kept."""
    return read()


def _launches(rows: Sequence[Sequence[Any]]) -> Launches:
    return tuple(TimedLaunch(*row) for row in rows)


def write(found: LaunchedRuns, path: Path = KEPT) -> None:
    """Keep measurements, a run a line."""

    def rows(launches: Launches) -> list[list[object]]:
        return [[each.kernel, each.groups, each.cycles] for each in launches]

    alone = [{"program": n, "seed": s, "launches": rows(each)} for (n, s), each in found.alone.items()]
    mixes = [{"programs": names, "launches": list(map(rows, each))} for names, each in found.mixes.items()]
    parts = [f'{{"hardware": "{found.hardware}"']
    for name, runs in (("alone", alone), ("mixes", mixes)):
        lines = ",\n".join("  " + json.dumps(run, separators=(",", ":")) for run in runs)
        parts.append(f'"{name}": [\n{lines}\n ]')
    path.write_text(",\n ".join(parts) + "}\n", encoding="utf-8")


def run_side_by_side(names: Sequence[str], seed: int) -> tuple[Launches, ...]:
    """Run programs side by side on equal parts of the cluster; launches of complete rounds."""
    from eddy_studies.hsm import rtl, rtl_measure

    each = rtl.CORES // len(names)
    works = [(name, range(at * each, (at + 1) * each)) for at, name in enumerate(names)]
    enough = rtl_measure.has_enough_rounds if seed == INPUTS[0] else rtl_measure.has_one_round
    found = []
    for name, run in zip(names, rtl.run_workloads(works, enough, seed=seed), strict=True):
        work = rtl.rounds(name, each, seed, False)  # as `run_side_by_side` asked for it
        whole = (len(run.marks) - 1) * work.steps
        begins = (run.marks[0].cycles, *run.ends)
        found.append(
            tuple(
                TimedLaunch(step.kernel, groups, end - begin)
                for step, groups, begin, end in zip(
                    list(work.workload.steps) * (len(run.marks) - 1),
                    work.groups * (len(run.marks) - 1),
                    begins[:whole],
                    run.ends[:whole],
                    strict=True,
                )
            )
        )
    return tuple(found)


def measure_missing(path: Path, until: float) -> Iterator[str]:
    """Measure what is missing in a file; after each run it is kept, and described."""
    from eddy_studies.hsm import rtl_data
    from eddy_studies.hsm.rtl_measure import hardware
    from eddy_studies.hsm.workloads import WORKLOADS

    found, now = read(path), hardware()
    if found.hardware != now:
        found = LaunchedRuns(now)
    alone, mixes = dict(found.alone), dict(found.mixes)
    todo: list[Callable[[], str]] = []

    def single(name: str, seed: int) -> str:
        (alone[name, seed],) = run_side_by_side([name], seed)
        return f"{name}, input {seed}"

    def beside(names: tuple[str, ...]) -> str:
        mixes[names] = run_side_by_side(names, INPUTS[0])
        return " and ".join(names)

    todo += [partial(single, name, seed) for name in WORKLOADS for seed in INPUTS if (name, seed) not in alone]
    todo += [partial(beside, names) for names, _ in rtl_data.load_runs().mixes if names not in mixes]
    for run in todo:
        if time.monotonic() > until:
            return
        began = time.monotonic()
        what = run()
        write(LaunchedRuns(now, alone, mixes), path)
        yield f"{what}, {time.monotonic() - began:.0f} s"


def main() -> None:
    """Measure, and say what."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--out", type=Path, default=KEPT)
    asked = parser.parse_args()
    for line in measure_missing(asked.out, time.monotonic() + asked.seconds):
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
