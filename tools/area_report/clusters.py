# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page's part on GPU clusters: what configurations take, and which fit into a slot of which board."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from area_report.tops import Device, Top

Figures = Mapping[str, Mapping[str, float]]
CORES = (1, 2, 4, 8)
TEXT = """### Configurations

A cluster is taken to be its cores and the rest; it is not synthesized in one piece. The last columns
say which boards have room for it: the profile's shell, one of its slots for the cluster, the others for modules of
the pipeline, each filled to {fill:.0%} at most; where there is none, what is missing most.
"""
VORTEX = """
For comparison, one core of Vortex with 8 warps and 8 threads takes 67,946 LUT, 65,114 FF, 36 BRAM and 48 DSP on
UltraScale+ at 305 MHz, as its authors publish it. That is after placement; the figures here are estimates before
it, and say nothing of the clock.
"""


def label(core: Top, cores: int) -> str:
    """1c4w4t, 1c4w4t without FPU."""
    shape = f"{cores}c{core.parameters['Warps']}w{core.parameters['Threads']}t"
    return shape if core.parameters["Fpu"] else f"{shape} without FPU"


def area_of(core: Top, cores: int, have: Figures, rests: Sequence[Top]) -> dict[str, float]:
    """A cluster's resources: its cores, and the rest for so many of them."""
    rest = next(top.name for top in rests if top.parameters == {"Cores": cores})
    return {kind: cores * value + have[rest][kind] for kind, value in have[core.name].items()}


def fits(
    cluster: Mapping[str, float], device: Device, shell: Mapping[str, float], others: Mapping[str, float], fill: float
) -> str:
    """`yes`, or `no` and the resource that is missing most, with what is there and what is wanted."""
    short = {}
    for kind, have in device.have.items():
        room = have - shell[kind] - others[kind] / fill
        if cluster[kind] / fill > room:
            short[kind] = cluster[kind] / fill / max(room, 1)
    return f"no, {max(short, key=lambda kind: short[kind]).upper()}" if short else "yes"


def configurations(
    have: Figures,
    cores: Sequence[Top],
    rests: Sequence[Top],
    devices: Sequence[Device],
    room: Callable[[Device], tuple[Mapping[str, float], Mapping[str, float]]],
    fill: float,
) -> list[list[str]]:
    """Rows of the table: name, resources, and an answer a device; `room` gives a device's shell and its other slots."""
    rows = []
    for core in cores:
        for number in CORES:
            area = area_of(core, number, have, rests)
            answers = [fits(area, device, *room(device), fill) for device in devices]
            rows.append(
                [label(core, number), *(f"{area[kind]:,.0f}" for kind in ("lut", "ff", "bram", "dsp")), *answers]
            )
    return rows
