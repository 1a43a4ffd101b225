# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Profiles over HTTP: where kernels' cycles went, next to what their clusters could do, and what would help."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.model.kernel_profile import KernelProfile

NO_LINES = "Source lines: cores count what they do by cause, not by instruction."
NO_CYCLES = "Cycles of {names}: this board computes no instruction, or nothing has ended yet."
NO_MEMORY = "What memory gives at most: the board's profile does not say."
NO_SHAPE = "Which idle lanes had no work-item ({names}): its record is of an older version, without the range."


class ShapeShown(Answer):
    """How an ND-range fills lanes."""

    global_size: list[int] = Field(description="Work-items by dimension.")
    local_size: list[int] = Field(description="Work-group by dimension, as it was asked for, or as suits the cluster.")
    lane_fill: float = Field(description="Of the lanes its warps have, the part with work-items.")
    core_warps: int = Field(description="Warps it keeps on one core side by side, at most.")


class ClusterShown(Answer):
    """What a kernel ran on."""

    module: str = Field(description="The cluster's module.")
    cores: int = Field(description="Its cores.")
    warps: int = Field(description="Warps of a core.")
    threads: int = Field(description="Lanes of a warp.")
    clk_hz: float = Field(description="Clock of the cores.")


class RooflineShown(Answer):
    """How fast a kernel is next to its bounds, by core."""

    operations_per_cycle: float = Field(description="Instructions of lanes that a core executed in a cycle.")
    operations_per_byte: float | None = Field(
        description="Those for each byte that crossed to memory; null where none did."
    )
    issue_bound: float = Field(description="The most a core executes in a cycle: its lanes.")
    memory_bytes_per_cycle: float | None = Field(
        description="What memory gives a core in a cycle while all cores use it; null where that is not known."
    )
    memory_bound: float | None = Field(
        description="Operations a cycle that memory allows at this intensity; null where that is not known."
    )
    bound_by: str = Field(description="The lower bound: `issue` or `memory`.")


class KernelProfileShown(Answer):
    """Where one kernel's cycles went."""

    kernel: str = Field(description="Its name.")
    cluster: ClusterShown = Field(description="What it ran on.")
    launches: int = Field(description="Launches that ended.")
    core_seconds: float = Field(description="What they took of cores.")
    shape: ShapeShown | None = Field(description="Of the last launch; null where it is not known.")
    cycles: int | None = Field(description="Cycles in which cores had it; null where nothing was counted.")
    causes: dict[str, float] | None = Field(
        description="Cycles by what became of them: `issue` (as if all lanes were at work), `divergence`, "
        "`empty-lanes` (`idle-lanes` for both, where the shape is not known), `memory`, `replay`, `barrier`, "
        "`unit`, `fetch`, `pipeline`, `other`; they add up to `cycles`. Null where nothing was counted."
    )
    roofline: RooflineShown | None = Field(description="Null where nothing was counted.")
    advice: list[str] = Field(description="What would help, the largest loss first; for people.")


class KernelProfiles(Answer):
    """Where the cycles of a job, or of a session's launches, went."""

    model_config = with_example(examples.PROFILE)

    kernels: list[KernelProfileShown] = Field(description="The one that took most of cores first.")
    unknown: list[str] = Field(description="What cannot be known, and why; for people.")


def profile_answer(profiles: Iterable[KernelProfile]) -> KernelProfiles:
    """Profiles as they are shown."""
    found = sorted(profiles, key=lambda each: (-each.work.core_s, each.work.name, each.work.module))
    return KernelProfiles(kernels=[_shown(each) for each in found], unknown=_unknown(found))


def _shown(found: KernelProfile) -> KernelProfileShown:
    work, bounds, roofline = found.work, found.bounds, found.roofline
    cluster = ClusterShown(
        module=work.module, cores=bounds.cores, warps=bounds.warps, threads=bounds.threads, clk_hz=bounds.clk_hz
    )
    shape = None
    if work.shape is not None:
        sizes = [*work.shape.global_size], [*work.shape.local_size]
        warps = work.shape.core_warps
        shape = ShapeShown(global_size=sizes[0], local_size=sizes[1], lane_fill=work.shape.lane_fill, core_warps=warps)
    return KernelProfileShown(
        kernel=work.name,
        cluster=cluster,
        launches=work.launches,
        core_seconds=work.core_s,
        shape=shape,
        cycles=found.cycles,
        causes=found.parts or None,
        roofline=None
        if roofline is None
        else RooflineShown(
            operations_per_cycle=roofline.operations_per_cycle,
            operations_per_byte=roofline.operations_per_byte,
            issue_bound=roofline.issue_bound,
            memory_bytes_per_cycle=bounds.memory_bytes_per_cycle or None,
            memory_bound=roofline.memory_bound,
            bound_by=roofline.bound_by,
        ),
        advice=[*found.advice],
    )


def _unknown(found: list[KernelProfile]) -> list[str]:
    told = [NO_LINES]
    nothing = [each.work.name for each in found if each.cycles is None]
    shapeless = [each.work.name for each in found if each.cycles is not None and each.work.shape is None]
    if nothing:
        told.append(NO_CYCLES.format(names=", ".join(nothing)))
    if shapeless:
        told.append(NO_SHAPE.format(names=", ".join(shapeless)))
    if any(each.roofline is not None and not each.bounds.memory_bytes_per_s for each in found):
        told.append(NO_MEMORY)
    return told
