# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a real router makes of the tops it is given: what is recorded, when it is worse, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from area_report.clocks import BEST_NS
from area_report.routing import DEVICE, Routed, Run
from area_report.tops import ROOT

RECORD = ROOT / "docs" / "reference" / "route.json"
MARGIN = 0.08
"""How much slower the median may be than the recorded one; seeds differ by about as much."""


def read_record() -> dict[str, Any]:
    """What was recorded: the tools; by top, the key of its sources, how it was run, and by clock what came out."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def summary(routed: Routed, runs: Sequence[Run]) -> dict[str, Any]:
    """Runs of a top, as they are recorded; the path is that of the slowest run."""
    clocks: dict[str, Any] = {}
    for clock in routed.clocks:
        slowest = min(runs, key=lambda run: run.mhz[clock])
        clocks[clock] = {"mhz": [round(run.mhz[clock], 2) for run in runs]}
        path = slowest.paths.get(clock)
        if path is not None:
            clocks[clock]["path"] = [path.cell_ns, path.wire_ns, path.wires, list(path.blocks)]
    return {"key": routed.top.key(), "seeds": list(routed.seeds), "clocks": clocks}


def worse(name: str, now: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """The clocks of a top whose median is below what is recorded by more than the margin; nothing where nothing is."""
    found = []
    for clock, entry in record["tops"].get(name, {"clocks": {}})["clocks"].items():
        before, after = median(entry["mhz"]), median(now["clocks"][clock]["mhz"])
        if after < before * (1 - MARGIN):
            found.append(
                f"{name}: {clock} reaches {after:.1f} MHz, {1 - after / before:.0%} less than the {before:.1f} MHz on"
                f" record, and {MARGIN:.0%} are allowed; shorten the path, or record it: make route ARGS=--record"
            )
    return found


def row(clock: str, entry: Mapping[str, Any]) -> list[str]:
    """A clock's cells of the table: the frequency, and its slowest path."""
    mhz = entry["mhz"]
    told = f"{median(mhz):.1f}" + (f" ({min(mhz):.1f} to {max(mhz):.1f})" if len(mhz) > 1 else "")
    if "path" not in entry:
        return [f"`{clock}`", told, "", "", ""]
    cells, wires, number, blocks = entry["path"]
    share = f"{wires:.1f} of {cells + wires:.1f} ns, {wires / (cells + wires):.0%}"
    return [f"`{clock}`", told, str(number), share, ", ".join(f"`{block}`" for block in blocks)]


def section(figures: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """The page's part: levels, what they are taken to bear, and what the router says, side by side."""
    lines = []
    for name, entry in record["tops"].items():
        measured = figures["tops"].get(name, {})
        levels = measured.get("path", [0])[0]
        how = "routed" if all("path" in each for each in entry["clocks"].values()) else "**estimated**: placed only"
        if measured.get("key") != entry["key"]:
            how += "; sources differ from those of the levels"
        bears = f"{1e3 / (levels * BEST_NS):.0f}" if levels else ""
        for clock, each in entry["clocks"].items():
            lines.append([name, str(levels or ""), bears, how, *row(clock, each)])
    head = [
        "block",
        "levels",
        "MHz by levels",
        "wires",
        "clock",
        "MHz of the ECP5",
        "wires on its path",
        "their time",
        "goes through",
    ]
    table = [head, ["---", "---:", "---:", "---", "---", "---:", "---:", "---:", "---"], *lines]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in table)
    return (
        TEXT.format(tools=record["tools"], device=" ".join(DEVICE), margin=f"{MARGIN:.0%}", best=BEST_NS)
        + "\n"
        + rows
        + "\n"
    )


TEXT = """## Through a real router

Levels count no wires. `make route` synthesizes these blocks for an ECP5 (`synth_ecp5`), with their ports at registers,
places them and routes their wires with an open router ({tools}; `{device}`).
That is another family, of 40 nm and four-input LUTs, so it is **no forecast** of an UltraScale+, whose clock the timing
gate of a build tells and nothing else. It tells where the slowest path goes, how much of it is wires, and whether a
change makes it slower.

- *Levels* are counted after synthesis for UltraScale+; *MHz by levels* is at {best} ns each: an estimate.
- *Routed* is the router's analysis of the wires it laid: the median of the seeds, the lowest and the highest; the path
  is the lowest's.
  A gate has the name of a net behind it, whichever block it serves as well.
- *Placed only* is an estimate too, by how far apart placement puts what a wire connects. It shows no path.

`make route` fails where a median is more than {margin} below `route.json`; `ARGS=--core` places the GPU core, too, and
`ARGS=--record` writes what came out into `route.json` and here.
"""
