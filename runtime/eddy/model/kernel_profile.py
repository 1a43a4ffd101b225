# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where a kernel's cycles went, next to what its cluster could do, and what would help: numbers from numbers.

A core issues one instruction of a warp a cycle, or has one cause for not doing so, which its counters name
(`gpu_events`). An issue with X of T lanes is worth X / T of a cycle; the rest was lost to lanes without a work-item, as
the shape of the launch says, and to lanes that had gone another way.

What was not counted is None, never 0: the model of a board executes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from eddy.core.counters import CoreCounters
from eddy.core.profiles import ClusterBounds, KernelTotals, LaunchShape
from eddy.core.units import format_bytes

ISSUE, EMPTY, DIVERGENCE, IDLE = "issue", "empty-lanes", "divergence", "idle-lanes"
CAUSES = (ISSUE, DIVERGENCE, EMPTY, IDLE, "memory", "replay", "barrier", "unit", "fetch", "pipeline", "other")
"""What becomes of a core's cycle, in the order in which it is shown. `idle-lanes` is divergence and empty lanes in one
where the launch's shape is not known; `replay` is an instruction that found the data cache or a unit busy, and is
issued again; `other` is a core's start, and its stores on their way at the end."""
_STALLS = {
    **{"stall_memory": "memory", "stall_barrier": "barrier", "stall_unit": "unit", "stall_fetch": "fetch"},
    **{"stall_pipeline": "pipeline", "replays": "replay"},
}
LARGE, SOME = 0.25, 0.1
"""Parts of a kernel's cycles from which a cause is the first thing to look at, and from which it is worth a word."""
CROWDED = 1.5
"""Reads of the data cache a load of a warp, from which its lanes count as spread."""
NEAR = 0.7
"""Part of a bound from which a kernel counts as bound by it."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """How fast a kernel is, next to its cluster's bounds, by core.

    Attributes:
        operations_per_cycle: Instructions of lanes a core executed in a cycle.
        operations_per_byte: Those for each byte that crossed to memory; None where nothing did.
        issue_bound: The most a core executes in a cycle: its lanes.
        memory_bound: What memory allows at that intensity, all cores at once; None where that is not known.
    """

    operations_per_cycle: float
    operations_per_byte: float | None
    issue_bound: float
    memory_bound: float | None

    @property
    def bound(self) -> float:
        """The lower of the two."""
        return min(self.issue_bound, self.issue_bound if self.memory_bound is None else self.memory_bound)

    @property
    def bound_by(self) -> str:
        """Which it is: `memory` or `issue`."""
        return "memory" if self.bound < self.issue_bound else "issue"


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """Where a kernel's cycles went.

    Attributes:
        work: What was counted.
        cycles: Cycles in which cores had it; None where they were not counted.
        parts: Cycles by cause, of `CAUSES`; empty where they were not counted.
        roofline: None where nothing was counted.
        advice: What would help, the largest loss first.
    """

    work: KernelTotals
    bounds: ClusterBounds
    cycles: int | None
    parts: dict[str, float]
    roofline: Roofline | None
    advice: tuple[str, ...]


def profile(work: KernelTotals, bounds: ClusterBounds) -> KernelProfile:
    """A kernel's profile."""
    counted = work.counters
    if counted is None or not counted.instructions or not counted.others:
        return KernelProfile(work, bounds, None, {}, None, ())
    parts = cycle_parts(counted, bounds.threads, work.shape)
    roofline = roofline_of(counted, bounds)
    advice = tuple(_advice(work, bounds, parts, roofline))
    return KernelProfile(work, bounds, counted.cycles, parts, roofline, advice)


def cycle_parts(counted: CoreCounters, threads: int, shape: LaunchShape | None) -> dict[str, float]:
    """Cycles by cause; they add up to those counted."""
    issued = counted.total_active_cycles
    worth = lane_operations(counted) / threads
    idle = issued - worth
    parts = {ISSUE: worth}
    if shape is None:
        parts[IDLE] = idle
    else:
        empty = min(issued * (1.0 - shape.lane_fill), idle)
        parts |= {DIVERGENCE: idle - empty, EMPTY: empty}
    parts |= {cause: float(counted.other(name)) for name, cause in _STALLS.items()}
    parts["other"] = max(counted.cycles - sum(parts.values()), 0.0)
    return {cause: parts[cause] for cause in CAUSES if cause in parts}


def lane_operations(counted: CoreCounters) -> int:
    """Instructions of lanes: X for each cycle in which X of them executed one."""
    return sum(lanes * cycles for lanes, cycles in enumerate(counted.cycle_thread, 1))


def roofline_of(counted: CoreCounters, bounds: ClusterBounds) -> Roofline:
    """How fast it was, next to the bounds."""
    operations = lane_operations(counted)
    moved = (counted.other("line_reads") + counted.other("line_writes")) * bounds.line_bytes
    intensity = operations / moved if moved else None
    per_cycle = bounds.memory_bytes_per_cycle
    memory = intensity * per_cycle if intensity is not None and per_cycle else None
    return Roofline(operations / counted.cycles, intensity, float(bounds.threads), memory)


def _advice(work: KernelTotals, bounds: ClusterBounds, parts: dict[str, float], roofline: Roofline) -> Iterator[str]:
    """Sentences, each from facts that are named in it."""
    cycles = sum(parts.values())
    losses = sorted(((part / cycles, cause) for cause, part in parts.items() if cause != ISSUE), reverse=True)
    for part, cause in losses:
        if part >= SOME and cause in _SENTENCES:
            yield f"{part:.0%} of its cycles: {_SENTENCES[cause](work, bounds, roofline)}"
    if roofline.operations_per_cycle >= NEAR * roofline.bound:
        where = "memory's bandwidth" if roofline.bound_by == "memory" else "what its cores issue"
        yield f"It runs at {roofline.operations_per_cycle / roofline.bound:.0%} of its bound, {where}."


def _few_warps(work: KernelTotals, bounds: ClusterBounds) -> str:
    """That a core has warps of which nothing is known to run; "" where it is full."""
    shape = work.shape
    if shape is None or shape.core_warps >= bounds.warps:
        return ""
    return (
        f" It keeps {shape.core_warps} of a core's {bounds.warps} warps: more work-groups a core would hide the wait."
    )


def _empty(work: KernelTotals, bounds: ClusterBounds, _: Roofline) -> str:
    shape = work.shape
    assert shape is not None, "only with a shape they are known"
    first, lanes = shape.global_size[0], bounds.threads
    if len(shape.global_size) > 1 and first % lanes:
        return (
            f"lanes without a work-item. It is a {len(shape.global_size)}-D range with rows of {first}, and a warp has"
            f" {lanes} lanes: use a flat range, or rows that are a multiple of {lanes}."
        )
    items = 1
    for size in shape.local_size:
        items *= size
    return (
        f"lanes without a work-item. Work-groups of {items} leave lanes of a warp's {lanes} empty: use a multiple of"
        f" {lanes}, or leave the group's size to the cluster."
    )


def _divergence(work: KernelTotals, _: ClusterBounds, __: Roofline) -> str:
    return (
        "lanes of a warp went different ways. Let neighbouring work-items take the same branches and loops of the same"
        " length: sort or pad the data, or select instead of branching."
    )


def _memory(work: KernelTotals, bounds: ClusterBounds, roofline: Roofline) -> str:
    counted = work.counters
    assert counted is not None, "it has parts"
    loads, lines = counted.other("loads"), counted.other("data_misses")
    if roofline.bound_by == "memory" and roofline.operations_per_cycle >= NEAR * roofline.bound:
        return "every warp waited for memory, which is busy: use what is fetched more often, from local memory."
    if loads and lines > loads / 2:
        line = format_bytes(bounds.line_bytes)
        return (
            f"every warp waited for memory: {lines} lines of {line} were asked for by {loads}"
            f" loads of warps. Let neighbouring work-items read neighbouring words.{_few_warps(work, bounds)}"
        )
    return f"every warp waited for memory.{_few_warps(work, bounds) or ' Copy what is used often to local memory.'}"


def _replay(work: KernelTotals, _: ClusterBounds, __: Roofline) -> str:
    counted = work.counters
    assert counted is not None, "it has parts"
    loads, rows = counted.other("loads"), counted.other("data_hits")
    if loads and rows > CROWDED * loads:
        return (
            "instructions were issued again, as the data cache was busy: a load of a warp took"
            f" {rows / loads:.1f} reads of it. Let neighbouring work-items read neighbouring words."
        )
    return "instructions were issued again, as the data cache or a slow unit was busy."


def _barrier(work: KernelTotals, _: ClusterBounds, __: Roofline) -> str:
    return (
        "warps waited for others at a barrier: give work-items between two barriers equal work, or use smaller groups."
    )


def _unit(work: KernelTotals, bounds: ClusterBounds, _: Roofline) -> str:
    return (
        "warps waited for a division, a root or another slow unit: multiply by a reciprocal that is computed once."
        f"{_few_warps(work, bounds)}"
    )


def _fetch(work: KernelTotals, _: ClusterBounds, __: Roofline) -> str:
    return "warps waited for instructions: the kernel's loop is larger than the instruction cache; unroll less."


def _pipeline(work: KernelTotals, bounds: ClusterBounds, _: Roofline) -> str:
    few = _few_warps(work, bounds)
    return f"warps waited for their own last instruction.{few or ' Independent operations side by side would fill in.'}"


_SENTENCES = {
    **{EMPTY: _empty, DIVERGENCE: _divergence, "memory": _memory, "barrier": _barrier, "unit": _unit, "fetch": _fetch},
    **{"pipeline": _pipeline, "replay": _replay},
}
