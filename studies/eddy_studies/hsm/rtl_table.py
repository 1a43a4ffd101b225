# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the fifteen programs are like on our cluster, in Markdown: `python -m eddy_studies.hsm.rtl_table`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddy_studies.hsm.rtl_data import MeasuredRuns, load_runs
from eddy_studies.hsm.workloads import WORKLOADS

SATURATES = 1.6
"""Programs that gain less from twice the cores, half to all of them, count as bound by memory."""


@dataclass(frozen=True, slots=True)
class ProgramBehaviour:
    """What a program does alone on all cores.

    Attributes:
        workload: Its abbreviation.
        instructions_per_cycle: Of warps, all cores together.
        row_hit_rate: Of its requests at the memory controller.
        bandwidth: Part of the memory's peak that it had.
        requests_per_kilo: Requests at the memory controller for a thousand instructions of warps.
        cache_hit_rate: Of the lines its cores read, those the shared cache had; 0 where there is none.
        stalled: Part of its core-cycles that waited for memory.
        gain: Speed on all cores over that on half of them.
    """

    workload: str
    instructions_per_cycle: float
    row_hit_rate: float
    bandwidth: float
    requests_per_kilo: float
    cache_hit_rate: float
    stalled: float
    gain: float

    @property
    def bound(self) -> str:
        """What bounds it on this cluster."""
        return "memory" if self.gain < SATURATES else "cores"


def behaviours(measured: MeasuredRuns) -> tuple[ProgramBehaviour, ...]:
    """Of all programs that were run alone on all cores and on half of them, in the order of [001] Table 2."""
    whole = max((cores for _, cores in measured.alone), default=0)
    peak = measured.head["memory"]["bytes_per_s"] / measured.head["clk_hz"] if whole else 0.0
    found = []
    for name in WORKLOADS:
        if (name, whole) not in measured.alone or (name, whole // 2) not in measured.alone:
            continue
        run, half = measured.alone[name, whole], measured.alone[name, whole // 2]
        all_of_it, lines = run.counted, run.counted.cache_hits + run.counted.cache_misses
        found.append(
            ProgramBehaviour(
                *(name, all_of_it.instructions / all_of_it.cycles, all_of_it.row_hit_rate),
                *(all_of_it.bytes_per_cycle / peak, 1000 * all_of_it.requests / all_of_it.instructions),
                *(all_of_it.cache_hits / lines if lines else 0.0, all_of_it.stall_cycles / all_of_it.core_cycles),
                half.cycles_for(1) / run.cycles_for(1),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class RowHits:
    """Row-buffer hit rates of a program ([001] Figure 4).

    Attributes:
        workload: Its abbreviation.
        alone: On all cores.
        least, mean, most: In the mixes it is in.
        mixes: How many these are.
    """

    workload: str
    alone: float
    least: float
    mean: float
    most: float
    mixes: int


def row_hits(measured: MeasuredRuns) -> tuple[RowHits, ...]:
    """Of all programs that were run alone on all cores and in mixes."""
    whole = max((cores for _, cores in measured.alone), default=0)
    found = []
    for name in WORKLOADS:
        shared = [
            counted.row_hit_rate
            for mix in measured.mixes.values()
            for other, counted in zip(mix.workloads, mix.shared, strict=True)
            if other == name
        ]
        if shared and (name, whole) in measured.alone:
            alone = measured.alone[name, whole].counted.row_hit_rate
            found.append(RowHits(name, alone, min(shared), sum(shared) / len(shared), max(shared), len(shared)))
    return tuple(found)


def speeds(measured: MeasuredRuns) -> dict[str, dict[int, float]]:
    """Speed of each program by cores, in rounds a time; on all of them it is 1 ([001] Figure 2)."""
    whole = max((cores for _, cores in measured.alone), default=0)
    return {
        name: {
            cores: measured.alone[name, whole].cycles_for(1) / run.cycles_for(1)
            for (other, cores), run in sorted(measured.alone.items())
            if other == name
        }
        for name in WORKLOADS
        if (name, whole) in measured.alone
    }


def mixes(measured: MeasuredRuns) -> str:
    """Progress and bandwidth of every mix, in Markdown."""
    peak = measured.head["memory"]["bytes_per_s"] / measured.head["clk_hz"]
    rows = []
    for mix in measured.mixes.values():
        cells = [
            f"{progress:.2f} | {counted.row_hit_rate:.2f} | {counted.bytes_per_cycle / peak:.2f}"
            for progress, counted in zip(measured.progress(mix), mix.shared, strict=True)
        ]
        rows.append(f"| {' + '.join(mix.workloads)} | {' | '.join(cells)} |")
    return _rows(("mix", *("progress", "RBH", "bandwidth") * 2), rows)


def _rows(columns: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join(("| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *rows))


def table(measured: MeasuredRuns) -> str:
    """What each program does alone, in Markdown."""
    columns = (
        *("program", "instructions / cycle", "RBH", "bandwidth", "requests / 1000 instructions"),
        *("shared cache", "stalled", "gain", "bound"),
    )
    rows = [
        f"| {b.workload} | {b.instructions_per_cycle:.2f} | {b.row_hit_rate:.2f} | {b.bandwidth:.2f} | "
        f"{b.requests_per_kilo:.1f} | {b.cache_hit_rate:.2f} | {b.stalled:.2f} | {b.gain:.2f} | {b.bound} |"
        for b in behaviours(measured)
    ]
    return _rows(columns, rows)


def scaling(measured: MeasuredRuns) -> str:
    """Speeds by cores and row-buffer hit rates alone and in mixes, in Markdown."""
    found = speeds(measured)
    counts = sorted({cores for by_cores in found.values() for cores in by_cores})
    hits = {each.workload: each for each in row_hits(measured)}
    rows = []
    for name, by_cores in found.items():
        cells = [f"{by_cores[cores]:.2f}" if cores in by_cores else "" for cores in counts]
        rates = hits.get(name)
        cells += (
            [f"{rates.alone:.2f}", f"{rates.least:.2f} to {rates.most:.2f}", str(rates.mixes)] if rates else [""] * 3
        )
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return _rows(("program", *(f"{cores} cores" for cores in counts), "RBH alone", "in mixes", "mixes"), rows)


if __name__ == "__main__":
    for made in (table, scaling, mixes):
        print(made(load_runs()), end="\n\n")
