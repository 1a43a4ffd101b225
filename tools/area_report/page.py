# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The page docs/reference/area.md, from the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eddy.board.port.profile import load_profile

from area_report import clock_tiles, clocks, routes
from area_report.clusters import TEXT as CLUSTERS
from area_report.clusters import VORTEX, configurations
from area_report.tops import RECIPE, WIRE, Device, Top

KINDS = {"lut": "LUT", "ff": "FF", "bram": "BRAM", "dsp": "DSP"}
FILL = 0.7
"""How full a region may be that still routes and closes timing; what designers reckon with."""
Figures = Mapping[str, Mapping[str, float]]


def render(
    figures: Mapping[str, Any], tops: Sequence[Top], devices: Sequence[Device], routed: Mapping[str, Any]
) -> str:
    """The whole page, as Markdown; `routed` is what the router's runs left on record."""
    have: Figures = {name: {kind: entry[kind] for kind in KINDS} for name, entry in figures["tops"].items()}
    groups = {group: [top for top in tops if top.group == group and top.name in have] for group in GROUPS}
    sections = [_head(str(figures["tool"]), max((top.wire_ps for top in tops), default=0))]
    paths = {name: entry["path"] for name, entry in figures["tops"].items() if "path" in entry}
    sections += [_section(text, groups[group], have, paths) for group, text in GROUPS.items() if groups[group]]
    if "slot_path" in have and groups["module"] and groups["shell"]:
        if groups["gpu"] and groups["gpu_rest"]:
            sections.append(_clusters(have, groups, devices))
        sections.append(_boards(have, groups, devices))
    sections += [clocks.section(figures), routes.section(figures, routed)]
    return "\n".join(sections)


def _head(tool: str, wire_ps: int) -> str:
    return f"""# Area

Written by `make area` (`tools/area.py`), which synthesizes what changed. Each row is one run of

    {RECIPE.format(files="FILES", top="TOP", parameters=" -G NAME=VALUE ...")}

with {tool}, out of context, before placement. Real tools merge and pack differently, so the figures are good to
some ten percent, and better to compare with than to order a device by. LUT counts logic, shift registers and
distributed RAM (a RAM32M16 is 8); BRAM counts blocks of 36 Kb; carry chains and wide multiplexers lie beside the LUTs.
Levels are those of the longest path between registers or ports: a LUT, a read of distributed RAM and a whole carry
chain are one each, a multiplier without registers is four (`tools/area_report/levels.py`); rows without were
synthesized before levels were counted. At 0.45 ns a level, 11 levels are about 200 MHz.
Where a GPU cluster is concerned, `{WIRE.format(ps=wire_ps)}` goes before:
[why](../decisions/gpu-core-timing-and-area.md#what-a-wire-weighs).
What is synthesized is listed in `hw/area.yaml`. Figures carry a hash of what they were made from:
`make area ARGS=--check` names the rows whose sources have changed since, and `make area` renews those alone.
"""


GROUPS = {
    "path": """## A slot's path

What the shell spends on each slot: `slot_path` as a whole.
""",
    "part": """### What it is made of

Each block on its own. The sum is not the whole: across borders synthesis removes what nobody uses.
""",
    "shell": """## The rest of the shell

`shell` for N slots with its slot paths left out: register and memory crossbars, the shell's bank, the interrupt
controller. A whole shell is taken to be this and N times `slot_path`; it is not synthesized in one piece.
""",
    "streams": """## Streams between slots

What a profile with `streams` has between the slots' paths and the crossbar; the shells above are without.
""",
    "cache": """## The shared cache

What a profile with `cache_bytes` has between the crossbar and memory; the shells above are without.
""",
    "ps": """## Toward the processing system

The adapters between the shell and the ports of a Zynq UltraScale+, and the engine of its configuration port, once a
board.
""",
    "import": """## Around an imported kernel

What `eddy module import` puts between AXI ports of a kernel and the slot: once a memory port or a stream, for the
ports together, and once for the registers and for the run.
""",
    "module": """## Reconfigurable modules

The modules under `bitstreams/`, each with its register file, readers and writers.
""",
    "gpu": """## GPU clusters

A core: pipeline, registers, caches of 4 and 8 KiB, 16 KiB of local memory; with floating point where Fpu is 1.
Registers, instructions, data and local memory lie in block RAM, tags in distributed RAM.
""",
    "gpu_part": """### What a core is made of

Of four lanes each.
""",
    "gpu_rest": """### The rest of a cluster

`gpu_cluster` with its cores left out: registers, the way to memory, the slot's boundary, and the second-level cache
where there is one.
""",
}
"""The tables, in order, and what stands above each."""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = list(head)
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _section(text: str, tops: Sequence[Top], have: Figures, paths: Mapping[str, Sequence[Any]]) -> str:
    rows = []
    for top in tops:
        parameters = ", ".join(f"{name} = {value}" for name, value in top.parameters.items())
        name = f"{top.top}, {parameters}" if parameters else top.name
        name += f", ports of {top.memory_bits} bits" if top.memory_bits != 64 else ""
        levels, begin, end = paths.get(top.name, ("", "", ""))
        way = f"`{begin}` to `{end}`" if end else ""
        rows.append([name, *(_number(have[top.name][kind]) for kind in KINDS), str(levels), way])
    return text + "\n" + _table(["block", *KINDS.values(), "levels", "longest path"], rows)


def _boards(have: Figures, groups: Mapping[str, Sequence[Top]], devices: Sequence[Device]) -> str:
    largest = largest_of(have, groups["module"])
    need = " ".join(f"{_number(value)} {KINDS[kind]}," for kind, value in largest.items()).rstrip(",")
    text = f"""## On the boards

A slot of the pipeline pool must hold any of the modules above: {need}, filled to {FILL:.0%} at most.
The shell is that of the profile's slots. Each slot's clock takes an MMCM, the configuration port's a PLL. The last
column is how many such slots the device has room for and clocks, shell included, up to the ten a shell can have.
"""
    text += _without_engine(have, devices)
    rows = []
    for device in devices:
        slots = len(load_profile(device.profile).slots)
        shell = shell_of(slots, have, groups["shell"])
        shares = [f"{_number(shell[kind])} ({shell[kind] / device.have[kind]:.1%})" for kind in KINDS]
        rows.append(
            [
                *(
                    f"{device.profile} ({device.device})",
                    str(slots),
                    *shares,
                    clock_tiles.describe_clock_use(device, slots),
                ),
                str(fit(device, have, groups, largest)),
            ]
        )
    head = ["profile", "slots", *(f"shell {name}" for name in KINDS.values()), "clocks", "room for"]
    sources = "; ".join(f"{device.device}: {device.source}" for device in devices)
    return f"{text}\n{_table(head, rows)}\nSizes of the devices: {sources}. The profile `de10pro` is another family.\n"


def _without_engine(have: Figures, devices: Sequence[Device]) -> str:
    """What ten slots take where images come through the processor's port alone; "" where that was not measured."""
    device = next((device for device in devices if device.profile == "zcu106"), None)
    if device is None or "shell-10-pcap" not in have:
        return ""
    lut = have["shell-10-pcap"]["lut"] + 10 * have["slot_path"]["lut"]
    share = f"{_number(lut)} LUT, {lut / device.have['lut']:.1%} of a {device.device}"
    return f"All have a configuration engine; without it ten slots take {share}.\n"


def _clusters(have: Figures, groups: Mapping[str, Sequence[Top]], devices: Sequence[Device]) -> str:
    largest = largest_of(have, groups["module"])

    def room(device: Device) -> tuple[Mapping[str, float], Mapping[str, float]]:
        slots = len(load_profile(device.profile).slots)
        others = {kind: (slots - 1) * value for kind, value in largest.items()}
        return shell_of(slots, have, groups["shell"]), others

    rows = configurations(have, groups["gpu"], groups["gpu_rest"], devices, room, FILL)
    head = ["cluster", *KINDS.values(), *(device.profile for device in devices)]
    return CLUSTERS.format(fill=FILL) + "\n" + _table(head, rows) + VORTEX


def largest_of(have: Figures, modules: Sequence[Top]) -> dict[str, float]:
    """The most of each resource that any module of the pipeline takes."""
    return {kind: max(have[top.name][kind] for top in modules) for kind in KINDS}


def shell_of(slots: int, have: Figures, shells: Sequence[Top]) -> dict[str, float]:
    """Resources of a whole shell: its rest, for the next number of slots that was measured, and its paths."""
    sizes = sorted((top.parameters["NumSlots"], top.name) for top in shells)
    rest = next((name for size, name in sizes if size >= slots), sizes[-1][1])
    return {kind: have[rest][kind] + slots * have["slot_path"][kind] for kind in KINDS}


def fit(device: Device, have: Figures, groups: Mapping[str, Sequence[Top]], largest: Mapping[str, float]) -> int:
    """Slots of the size of the largest module that a device has room for and clocks, up to the ten a shell can have."""
    slots = 0
    while slots < min(10, device.tiles):
        shell = shell_of(slots + 1, have, groups["shell"])
        used = {kind: shell[kind] + (slots + 1) * largest[kind] / FILL for kind in KINDS}
        if any(used[kind] > device.have[kind] for kind in KINDS):
            break
        slots += 1
    return slots
