# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Synthesize the hardware and write docs/reference/area.md; or say which of its figures are out of date.

tools/area.py                 synthesize what changed, write the figures and the page
tools/area.py --check         exit 1 and name what is out of date, or deeper than its budget or its clock allows,
                              or wants more clock managers than its board's device has
tools/area.py slot_path dct   only these; the others keep their figures
tools/area.py --deepest 20 dct   the longest path into each register, the 20 deepest; the page stays as it is
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from area_report.clock_tiles import too_few
from area_report.clocks import too_fast
from area_report.page import render
from area_report.routes import read_record
from area_report.synthesis import synthesize, tool
from area_report.tops import ROOT, read_devices, read_tops

FIGURES = ROOT / "docs" / "reference" / "area.json"
PAGE = ROOT / "docs" / "reference" / "area.md"


def read_figures(path: Path = FIGURES) -> dict[str, Any]:
    """What was measured last: by name, the key of the sources, the resources, the longest path; the tool."""
    if not path.is_file():
        return {"tool": tool(), "tops": {}}
    figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return figures


def stale() -> list[str]:
    """Names of the tops that have no figures, or whose sources have changed since."""
    figures = read_figures()
    tops = {top.name: top for top in read_tops()}
    old = [name for name, top in tops.items() if figures["tops"].get(name, {}).get("key") != top.key()]
    return old + [name for name in figures["tops"] if name not in tops]


def current_page() -> str:
    """The page of the figures, as it is to be."""
    return render(read_figures(), read_tops(), read_devices(), read_record())


def page_is_current() -> bool:
    """Whether the page is that of the figures."""
    return PAGE.is_file() and PAGE.read_text(encoding="utf-8") == current_page()


def too_deep() -> list[str]:
    """What has more levels of logic than `hw/area.yaml` allows, each with its longest path."""
    figures = read_figures()["tops"]
    found = []
    for top in read_tops():
        levels, begin, end = figures.get(top.name, {}).get("path", (0, "", ""))
        if top.levels and levels > top.levels:
            found.append(f"{top.name}: {levels} levels from {begin} to {end}, at most {top.levels}")
    return found


def update(names: list[str]) -> None:
    """Measure the tops of these names and write figures after each, then the page."""
    tops = read_tops()
    figures = read_figures()
    known = {top.name for top in tops}
    figures["tool"] = tool()
    figures["tops"] = {name: entry for name, entry in figures["tops"].items() if name in known}
    for number, top in enumerate(tops, start=1):
        if top.name not in names:
            continue
        print(f"area: {top.name} ({number} of {len(tops)})", end=" ", file=sys.stderr, flush=True)
        begin = time.monotonic()
        found, ways = synthesize(top)
        way = ways[0]
        told = f"{found['lut']:.0f} LUT, {way.levels} levels, {time.monotonic() - begin:.0f} s"
        print(told, file=sys.stderr, flush=True)
        figures["tops"][top.name] = {"key": top.key(), **found, "path": [way.levels, way.begin, way.end]}
        FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(current_page(), encoding="utf-8")


def tell_deepest(names: list[str], most: int) -> None:
    """Print levels, end and begin of the longest paths of the tops of these names; one for each register or memory."""
    for top in read_tops():
        if top.name in names:
            for way in synthesize(top)[1][:most]:
                print(f"{top.name} {way.levels:3} {way.end} from {way.begin}")


def main() -> int:
    """Run; the exit status is 1 where something is out of date, or a name is unknown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--deepest", type=int, default=0, metavar="N")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.check:
        old = stale() + [PAGE.name] * (not page_is_current())
        if old:
            print(f"area: out of date: {', '.join(old)}; run `make area`", file=sys.stderr)
        deep = [*too_deep(), *too_fast(read_figures()), *too_few(read_devices())]
        for text in deep:
            print(f"area: {text}", file=sys.stderr)
        return int(bool(old or deep))
    unknown = sorted(set(options.names) - {top.name for top in read_tops()})
    if unknown:
        print(f"area: nothing is called {', '.join(unknown)}; the list is hw/area.yaml", file=sys.stderr)
        return 1
    if options.deepest:
        tell_deepest(options.names, options.deepest)
        return 0
    update(options.names or stale())
    return 0


if __name__ == "__main__":
    sys.exit(main())
