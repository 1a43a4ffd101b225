# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's fabric as Yosys reads it, flat, and the crossings between clocks in it."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.prove import stage_files
from eddy_sim.tools.yosys import run_script

from board_flow.floorplan import ROOT

MODELS = ROOT / "hw" / "top" / "models" / "models.f"
BOXES = ("PS8", "BUFG_PS", "ICAPE3", "slot", "slot_clock", "port_clock")
"""What has nothing inside: primitives of the vendor, clocking wizards, and the slots."""
SCRIPT = """read_slang --threads 1 --empty-blackboxes -DSYNTHESIS {files} --top {top}
hierarchy -check -top {top}
setattr -set keep 1 {boxes}
proc
memory_collect
flatten
opt_clean
write_json netlist.json
"""
CLOCK_PORTS = {
    "$dff": "CLK",
    "$mem_v2": "WR_CLK",
    "slot": "clk_i",
    "slot_clock": "s_axi_aclk",
    "ICAPE3": "CLK",
    "PS8": "MAXIGP0ACLK",
}
"""Cells that hold state, with the port of their clock."""
NOT_SAMPLED = (
    "CLK",
    "WR_CLK",
    "RD_CLK",
    "RD_ADDR",
    "clk_i",
    "clk_in1",
    "s_axi_aclk",
    "MAXIGP0ACLK",
    "SAXIGP2RCLK",
    "SAXIGP2WCLK",
)
"""Inputs of theirs that are clocks, or are logic: a memory is read at once."""
Bit = int | str


def elaborate(board: str, folder: Path) -> dict[str, Any]:
    """The fabric of a board, flat, as Yosys writes it.

    Args:
        board: Name of the board, of its top and of its `.f` list.
        folder: Where the run works.

    Raises:
        YosysFailed: It refused a source; the message says why.
    """
    files = [*read_filelist(ROOT / f"hw/top/{board}/{board}.f"), *read_filelist(MODELS)]
    stage_files(files, folder)
    for path in (folder / each.name for each in files if each.parent == MODELS.parent):
        source = re.sub(r"^  assign .*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        path.write_text(source, encoding="utf-8")
    names = [path.name for path in source_files(files)]
    boxes = " ".join(f"t:{box}" for box in BOXES)
    script = SCRIPT.format(files=" ".join(names), top=board, boxes=boxes)
    run_script(folder, script)
    data: dict[str, Any] = json.loads((folder / "netlist.json").read_text(encoding="utf-8"))
    top: dict[str, Any] = data["modules"][board]
    return top


@dataclass(frozen=True, order=True)
class Crossing:
    """A bit that one clock's flop, or memory, gives and another clock's flop takes.

    Attributes:
        source: Name of what gives it: a register's, or a memory's.
        sink: Name of the register that takes it.
        source_clock: Name of the clock it comes from; empty where it comes from a box and nothing says.
        sink_clock: Name of the clock it goes to.
    """

    source: str
    sink: str
    source_clock: str
    sink_clock: str


class Netlist:
    """A flat netlist that can be walked.

    Args:
        module: A module of Yosys' JSON, of word-level cells; flip-flops are `$dff`, memories `$mem_v2`.
    """

    def __init__(self, module: Mapping[str, Any]) -> None:
        self.cells: Mapping[str, Any] = module["cells"]
        self._nets: Mapping[str, Any] = module["netnames"]
        self._clock_names: dict[Bit, str] = {}

    @cached_property
    def registers(self) -> dict[Bit, str]:
        """Names of the bits that flip-flops drive: the register's own, deepest name."""
        driven = {bit for cell in self.cells.values() if cell["type"] == "$dff" for bit in cell["connections"]["Q"]}
        named: dict[Bit, str] = {}
        for name, net in self._nets.items():
            for bit in net["bits"]:
                if bit in driven and not net["hide_name"] and _deeper(name, named.get(bit, "")):
                    named[bit] = name
        return named

    @cached_property
    def drivers(self) -> dict[Bit, tuple[str, str]]:
        """The cell and its port that drive each bit."""
        return {
            bit: (name, port)
            for name, cell in self.cells.items()
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for bit in bits
        }

    def count(self, kind: str) -> int:
        """Cells of a type."""
        return sum(cell["type"] == kind for cell in self.cells.values())

    def clock_name(self, bit: Bit) -> str:
        """What a clock is called, with its place in a group of clocks: the shortest name of it."""
        if bit not in self._clock_names:
            named = [
                name if len(net["bits"]) == 1 else f"{name}[{net['bits'].index(bit)}]"
                for name, net in self._nets.items()
                if bit in net["bits"] and not net["hide_name"]
            ]
            self._clock_names[bit] = min(named, key=lambda name: (len(name), name))
        return self._clock_names[bit]

    def clock_of(self, name: str, port: str) -> Bit | None:
        """The clock that a port of a cell that holds state is of; None where the port is of no clock.

        A slot's ports are of its clock, a wizard's registers of the one they are read with, the processing system's of
        the one its ports are given, but for the interrupt and the reset, which it takes and gives at any time.
        """
        cell = self.cells[name]
        if cell["type"] == "PS8" and port in ("EMIOGPIOO", "PLPSIRQ0"):
            return None
        clock = CLOCK_PORTS[cell["type"]]
        bits: list[Bit] = cell["connections"][clock]
        return bits[0]

    @cached_property
    def _readers(self) -> dict[Bit, list[str]]:
        """Cells of logic, and memories by the address they are read at, that read each bit."""
        readers: dict[Bit, list[str]] = {}
        for name, cell in self.cells.items():
            if _is_logic(cell) or cell["type"] == "$mem_v2":
                for bit in _through(cell):
                    readers.setdefault(bit, []).append(name)
        return readers

    @cached_property
    def _clocks(self) -> dict[str, frozenset[Bit | None]]:
        """The clocks that the outputs of each cell of logic, or memory read at once, hang on; of the whole cell."""
        clocks: dict[str, frozenset[Bit | None]] = {}
        queue: deque[tuple[str, frozenset[Bit | None]]] = deque()
        for name, cell in self.cells.items():
            if cell["type"] in CLOCK_PORTS:
                for port in _outputs(cell):
                    queue.append((name, frozenset((self.clock_of(name, port),))))
        fanout: dict[str, set[str]] = {}
        for name, cell in self.cells.items():
            for port in _outputs(cell):
                for bit in cell["connections"][port]:
                    fanout.setdefault(name, set()).update(self._readers.get(bit, ()))
        while queue:
            name, of = queue.popleft()
            if of <= clocks.get(name, frozenset()):
                continue
            clocks[name] = clocks.get(name, frozenset()) | of
            queue.extend((reader, of) for reader in fanout.get(name, ()))
        return clocks

    def _sources(self, bit: Bit, clock: Bit) -> set[tuple[str, str, Bit]]:
        """What holds state of another clock and reaches a bit through logic alone: cell, port and the bit it drives."""
        found: set[tuple[str, str, Bit]] = set()
        seen: set[Bit] = set()
        walked: set[str] = set()
        queue = deque([bit])
        while queue:
            bit = queue.popleft()
            if bit in seen or bit not in self.drivers:
                continue
            seen.add(bit)
            name, port = self.drivers[bit]
            if self._clocks.get(name) == frozenset((clock,)):
                continue
            cell = self.cells[name]
            if cell["type"] in CLOCK_PORTS:
                found.add((name, port, bit))
            # All outputs of a cell hang on the same bits.
            if name not in walked and (_is_logic(cell) or cell["type"] == "$mem_v2"):
                walked.add(name)
                queue.extend(_through(cell))
        return found

    def _sinks(self) -> Iterator[tuple[str, Bit, Bit | None]]:
        """What takes bits at a clock: its name, the bit, the clock."""
        for name, cell in self.cells.items():
            if cell["type"] not in CLOCK_PORTS:
                continue
            for port, way in cell["port_directions"].items():
                if way != "input" or port in NOT_SAMPLED:
                    continue
                for index, bit in enumerate(cell["connections"][port]):
                    if cell["type"] == "$dff":
                        called = self.registers[cell["connections"]["Q"][index]]
                    elif cell["type"] == "$mem_v2":
                        called = self._memory(cell)
                    else:
                        called = f"{name}.{port}"
                    yield called, bit, self.clock_of(name, port)

    def crossings(self) -> set[Crossing]:
        """Every crossing, told once for each pair of registers."""
        found = set()
        for sink, bit, clock in self._sinks():
            if (
                clock is None
                or bit not in self.drivers
                or self._clocks.get(self.drivers[bit][0]) == frozenset((clock,))
            ):
                continue
            for name, port, given in self._sources(bit, clock):
                came = self.clock_of(name, port)
                if came != clock:
                    cell = self.cells[name]
                    source = self._memory(cell) if cell["type"] == "$mem_v2" else self.registers.get(given)
                    source_clock = "" if came is None else self.clock_name(came)
                    found.add(Crossing(source or f"{name}.{port}", sink, source_clock, self.clock_name(clock)))
        return found

    @staticmethod
    def _memory(cell: Mapping[str, Any]) -> str:
        name: str = cell["parameters"]["MEMID"]
        return name.removeprefix("\\")


def _deeper(name: str, than: str) -> bool:
    """Whether a name says more of where a register stands: that of the inmost instance, as registers are called."""
    rank = (bool(re.search(r"_q\d?(?:\[\d+\])?$", name)), name.count("."), name)
    return not than or rank > (bool(re.search(r"_q\d?(?:\[\d+\])?$", than)), than.count("."), than)


def _is_logic(cell: Mapping[str, Any]) -> bool:
    return cell["type"].startswith("$") and cell["type"] not in CLOCK_PORTS


def _outputs(cell: Mapping[str, Any]) -> list[str]:
    return [port for port, way in cell["port_directions"].items() if way == "output"]


def _through(cell: Mapping[str, Any]) -> list[Bit]:
    """Bits that the outputs of logic hang on at once; of a memory, the address it is read at."""
    ports = (
        ["RD_ADDR"] if cell["type"] == "$mem_v2" else [p for p, w in cell["port_directions"].items() if w == "input"]
    )
    return [bit for port in ports for bit in cell["connections"][port]]
