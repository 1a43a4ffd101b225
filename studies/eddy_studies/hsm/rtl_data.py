# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the programs of [001] Table 2 did on the RTL, alone and side by side: the measurements that are kept.

`rtl_measured.json` holds them and says how they were made; `python -m eddy_studies.hsm.rtl_measure` makes them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("rtl_measured.json")


@dataclass(frozen=True, slots=True)
class CounterTotals:
    """What one context did so far, or between two moments.

    Attributes:
        cycles: Of the cluster's clock that passed.
        core_cycles: Cycles its cores ran, added up.
        requests: Bursts that the memory controller served, read and written.
        bytes: Moved by them.
        row_hits: Of the requests: found their row open.
        cache_hits: Lines read from the shared cache.
        cache_misses: Lines read from memory.
        stall_cycles: Core-cycles in which a core issued nothing because it waited for memory.
        groups: Work-groups of the rounds that ended.
    """

    cycles: int = 0
    core_cycles: int = 0
    instructions: int = 0
    requests: int = 0
    bytes: int = 0
    row_hits: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    stall_cycles: int = 0
    groups: int = 0

    def minus(self, before: CounterTotals) -> CounterTotals:
        """What happened since."""
        return CounterTotals(**{f.name: getattr(self, f.name) - getattr(before, f.name) for f in fields(self)})

    @property
    def row_hit_rate(self) -> float:
        """Of its requests, between 0 and 1; 0 where there were none."""
        return self.row_hits / self.requests if self.requests else 0.0

    @property
    def bytes_per_cycle(self) -> float:
        """Bandwidth it had."""
        return self.bytes / self.cycles if self.cycles else 0.0


@dataclass(frozen=True, slots=True)
class SoloRun:
    """A workload by itself on some cores.

    Attributes:
        workload: Its abbreviation.
        rounds: Cycles from its start to the end of each round.
        counted: Over these rounds.
        epochs: By epoch, the last one not whole.
    """

    workload: str
    cores: int
    rounds: tuple[int, ...]
    counted: CounterTotals
    epochs: tuple[CounterTotals, ...]

    def cycles_for(self, number: float) -> float:
        """Cycles that so many rounds take, those after the last one measured as long as its mean after the first."""
        ends = (0, *self.rounds)
        if number <= len(self.rounds):
            below = min(int(number), len(self.rounds) - 1)
            return ends[below] + (number - below) * (ends[below + 1] - ends[below])
        steady = (ends[-1] - ends[1]) / (len(self.rounds) - 1) if len(self.rounds) > 1 else ends[1]
        return ends[-1] + (number - len(self.rounds)) * steady


@dataclass(frozen=True, slots=True)
class Mix:
    """Workloads side by side, each on cores of its own, started again when they end.

    Attributes:
        workloads: Their abbreviations.
        cores: Of each.
        rounds: Of each, cycles from the start to the end of each round.
        shared: Of each, counted over its complete rounds, while the others ran all the time.
        epochs: Of each, by epoch of the whole run.
    """

    workloads: tuple[str, ...]
    cores: tuple[int, ...]
    rounds: tuple[tuple[int, ...], ...]
    shared: tuple[CounterTotals, ...]
    epochs: tuple[tuple[CounterTotals, ...], ...]


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """All of it.

    Attributes:
        hardware: Digest of RTL, memory model, harness and tools.
        head: What else was said about it: shape, memory, command.
        alone: By workload and cores.
        mixes: By workloads and cores.
    """

    hardware: str
    head: Mapping[str, Any]
    alone: Mapping[tuple[str, int], SoloRun]
    mixes: Mapping[tuple[tuple[str, ...], tuple[int, ...]], Mix]

    def private_cycles(self, mix: Mix) -> tuple[float, ...]:
        """Cycles that what each did in a mix takes alone on all cores, by runs alone of the same rounds.

        Raises:
            KeyError: One was not run alone on all cores.
        """
        whole = sum(mix.cores)
        return tuple(
            self.alone[name, whole].cycles_for(len(ends)) for name, ends in zip(mix.workloads, mix.rounds, strict=True)
        )

    def progress(self, mix: Mix) -> tuple[float, ...]:
        """Normalised progress of each in a mix ([001] equation 1): its private cycles over those it took there."""
        private = self.private_cycles(mix)
        return tuple(cycles / ends[-1] for cycles, ends in zip(private, mix.rounds, strict=True))


def read(path: Path = KEPT) -> MeasuredRuns:
    """The measurements in a file; none where it is not there."""
    if not path.exists():
        return MeasuredRuns("", {}, {}, {})
    found = json.loads(path.read_text(encoding="utf-8"))
    alone = [
        SoloRun(r["workload"], r["cores"], tuple(r["rounds"]), CounterTotals(*r["counted"]), _all(r["epochs"]))
        for r in found["alone"]
    ]
    mixes = [
        Mix(
            *(tuple(r["workloads"]), tuple(r["cores"]), tuple(tuple(ends) for ends in r["rounds"])),
            *(_all(r["shared"]), tuple(_all(each) for each in r["epochs"])),
        )
        for r in found["mixes"]
    ]
    head = {key: value for key, value in found.items() if key not in ("alone", "mixes", "hardware")}
    return MeasuredRuns(
        *(found["hardware"], head, {(r.workload, r.cores): r for r in alone}),
        {(r.workloads, r.cores): r for r in mixes},
    )


def _all(rows: Sequence[Sequence[int]]) -> tuple[CounterTotals, ...]:
    return tuple(CounterTotals(*row) for row in rows)


@cache
def load_runs() -> MeasuredRuns:
    """The measurements that are kept."""
    return read()


def write(measured: MeasuredRuns, path: Path = KEPT) -> None:
    """Keep measurements, a run a line; counters are lists, in the order that `counted` names."""
    head = {"hardware": measured.hardware, **measured.head, "counted": [field.name for field in fields(CounterTotals)]}
    parts = [json.dumps(head, indent=1)[:-2]]
    for name, runs in (("alone", measured.alone.values()), ("mixes", measured.mixes.values())):
        lines = ",\n".join("  " + json.dumps(_flat(asdict(run)), separators=(",", ":")) for run in runs)
        parts.append(f' "{name}": [\n{lines}\n ]')
    whole = path.with_suffix(".part")
    whole.write_text(",\n".join(parts) + "\n}\n", encoding="utf-8")
    whole.replace(path)


def _flat(value: Any) -> Any:
    """Counters as lists."""
    if isinstance(value, dict):
        return list(value.values()) if "core_cycles" in value else {key: _flat(each) for key, each in value.items()}
    return [_flat(each) for each in value] if isinstance(value, (list, tuple)) else value
