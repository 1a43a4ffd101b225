"""The table of the fifteen programs as they are on our cluster: `python -m eddy.studies.hsm.rtl_table`, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.studies.hsm.rtl_data import MeasuredRuns, kept
from eddy.studies.hsm.workloads import WORKLOADS

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


def table(measured: MeasuredRuns) -> str:
    """In Markdown."""
    columns = (
        *("program", "instructions / cycle", "RBH", "bandwidth", "requests / 1000 instructions"),
        *("shared cache", "stalled", "gain", "bound"),
    )
    head = "| " + " | ".join(columns) + " |"
    rows = [
        f"| {b.workload} | {b.instructions_per_cycle:.2f} | {b.row_hit_rate:.2f} | {b.bandwidth:.2f} | "
        f"{b.requests_per_kilo:.1f} | {b.cache_hit_rate:.2f} | {b.stalled:.2f} | {b.gain:.2f} | {b.bound} |"
        for b in behaviours(measured)
    ]
    return "\n".join((head, "|" + "---|" * len(columns), *rows))


if __name__ == "__main__":
    print(table(kept()))
