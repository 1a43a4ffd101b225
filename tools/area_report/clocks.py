# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Whether what goes into slots is shallow enough for the clocks that the boards' slots give it.

Before placement nobody knows how long a level of logic takes with its routing; between `BEST_NS` and `WORST_NS` is what
designs on these devices are seen to take. Deeper than the better allows: the clock is wrong, and a check says so.
Deeper than the worse allows: the build's timing gate will tell, or `eddy board-test` on a board.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from eddy.board.port.profile import load_profile
from eddy.core.slots import Pool

from area_report.tops import ROOT

BEST_NS, WORST_NS = 0.45, 0.65
BOARDS = ROOT / "hw" / "vivado" / "boards.yaml"
_NS_PER_S = 1e9


@dataclass(frozen=True)
class ClockedDesign:
    """Something that goes into slots.

    Attributes:
        name: As in the figures.
        levels: Of logic, at most, between registers.
        clk_hz: The fastest clock that a board gives it.
    """

    name: str
    levels: int
    clk_hz: float

    def at(self, ns: float) -> float:
        """The clock it bears where a level takes so long, in Hz."""
        return _NS_PER_S / (self.levels * ns)


def clocked(figures: Mapping[str, Any]) -> list[ClockedDesign]:
    """What the boards' slots hold, with its levels and clock; what has no levels yet is left out."""
    tops = figures["tops"]
    asked: dict[str, float] = {}
    for name, board in yaml.safe_load(BOARDS.read_text(encoding="utf-8"))["boards"].items():
        slots = load_profile(name).slots
        fastest = {pool: max((slot.clk_hz for slot in slots if slot.pool is pool), default=0.0) for pool in Pool}
        everywhere = max(fastest.values())
        for path in ROOT.glob("bitstreams/*/manifest.yaml"):
            manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
            if manifest["kind"] == "hls":
                _ask(asked, manifest["module"], min(float(manifest["clk_hz"]), everywhere))
        for part in ("core", "rest"):
            _ask(asked, board["cluster"][part], fastest[Pool.GPU])
    return [
        ClockedDesign(name, tops[name]["path"][0], hz) for name, hz in asked.items() if "path" in tops.get(name, {})
    ]


def _ask(asked: dict[str, float], name: str, clk_hz: float) -> None:
    asked[name] = max(asked.get(name, 0.0), clk_hz)


def too_fast(figures: Mapping[str, Any]) -> list[str]:
    """What is clocked faster than its levels bear at best."""
    return [
        f"{each.name}: {each.levels} levels bear {each.at(BEST_NS) / 1e6:.0f} MHz at {BEST_NS} ns a level, its slots"
        f" give {each.clk_hz / 1e6:.0f} MHz; lower clk_hz in its manifest, or make its longest path shorter"
        for each in clocked(figures)
        if each.clk_hz > each.at(BEST_NS)
    ]


def section(figures: Mapping[str, Any]) -> str:
    """What of it may turn out too deep, as a section of the page."""
    doubtful = sorted(
        (each for each in clocked(figures) if each.clk_hz > each.at(WORST_NS)), key=lambda each: -each.levels
    )
    rows = [
        f"| {each.name} | {each.levels} | {each.clk_hz / 1e6:.0f} MHz | {each.at(BEST_NS) / 1e6:.0f} MHz |"
        f" {each.at(WORST_NS) / 1e6:.0f} MHz |\n"
        for each in doubtful
    ]
    return HEAD + (TABLE + "".join(rows) if rows else NOTHING)


HEAD = f"""## Clocks of what goes into slots

A level with its routing is taken to need {BEST_NS} to {WORST_NS} ns. Nothing in a board's slots is clocked faster than
it bears at the better of these (`make area ARGS=--check`, and a test).
"""
"""What stands above what is doubtful."""

TABLE = """What may be too slow at the worse is for the
build's timing gate to say, or, for each die, `eddy board-test`:

| what | levels | clock of its slots | at best | at worst |
| --- | ---: | ---: | ---: | ---: |
"""

NOTHING = "Nothing is clocked faster than it bears at the worse either.\n"
"""What stands there where nothing is doubtful."""
