# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Levels of logic: the longest way through a netlist from a register (or a port) to the next, and where it runs.

A LUT is a level, and so is reading a distributed RAM or a shift register. A carry chain is one level however
long it is: a CARRY8 takes 0.1 ns, where a LUT with its wires takes 0.4 ns. Wide multiplexers and inverters lie in or
beside their LUT and are none. A multiplier without a register in it is `DSP_LEVELS`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DSP_LEVELS = 4
"""About 1.6 ns from factor to product (DS922, DSP48E2 without registers)."""
_FREE = re.compile(r"MUXF[789]|INV|BUF")
_LUT = re.compile(r"LUT[1-6]")
_CARRY = re.compile(r"CARRY[48]")
_RAM = re.compile(r"RAM(32|64|128|256|512)|SRL")
_DATA = re.compile(r"D|DI[A-H]?|WE|WCLK|CE|CLK")
_REGISTERS = ("AREG", "BREG", "MREG", "PREG")


@dataclass(frozen=True)
class Path:
    """The longest path of a netlist.

    Attributes:
        levels: How many levels of logic are on it.
        begin: The net it begins at: the output of a register or a port.
        end: The net behind which it ends: what a register or a memory takes, or a port.
    """

    levels: int
    begin: str
    end: str


@dataclass(frozen=True)
class _Cell:
    name: str
    kind: str
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Sequence[Any]]
    outputs: Mapping[str, Sequence[Any]]

    def arcs(self, carries: Container[Any]) -> Iterator[tuple[Any, Any, int]]:
        """Ways through the cell within a cycle: a bit that comes in, one that goes out, the levels between.

        A chain goes on where a bit of `carries` comes in.
        """
        for out_port, outs in self.outputs.items():
            for in_port, ins in self.inputs.items():
                cost = self.cost(in_port, out_port)
                if cost is None:
                    continue
                into_chain = in_port == "CI"
                for out in outs:
                    for bit in ins:
                        yield bit, out, 0 if into_chain and bit in carries else cost

    def passes(self, port: str) -> bool:
        """Whether what comes in at a port goes out again in the same cycle."""
        return any(self.cost(port, out) is not None for out in self.outputs)

    def cost(self, into: str, out: str) -> int | None:
        """Levels from a port to another, None where there is no way within a cycle."""
        if _LUT.fullmatch(self.kind):
            return 1
        if _FREE.fullmatch(self.kind):
            return 0
        if _CARRY.fullmatch(self.kind):
            return 1
        if _RAM.match(self.kind):
            return 1 if _reads(into, out) else None
        if self.kind == "DSP48E2":
            registered = any(_number(self.parameters.get(name, 0)) for name in _REGISTERS)
            return None if registered or into not in ("A", "B") or out != "P" else DSP_LEVELS
        return None


def _reads(into: str, out: str) -> bool:
    """Whether a port of a distributed RAM or a shift register addresses what another shows."""
    if _DATA.fullmatch(into):
        return False
    if out == "DPO":
        return into.startswith("DPRA")
    if out == "SPO":
        return not into.startswith("DPRA")
    if re.fullmatch(r"DO[A-H]", out):
        return into == f"ADDR{out[-1]}"
    return True


def _number(value: Any) -> int:
    text = str(value)
    return int(text, 2) if re.fullmatch(r"[01]+", text) else 0


def _cells(module: Mapping[str, Any]) -> list[_Cell]:
    found = []
    for name, cell in module["cells"].items():
        ports: dict[str, dict[str, Sequence[Any]]] = {"input": {}, "output": {}}
        for port, bits in cell["connections"].items():
            ports[cell["port_directions"][port]][port] = bits
        kind = re.sub(r"^\\+", "", cell["type"])
        found.append(_Cell(name, kind, cell.get("parameters", {}), ports["input"], ports["output"]))
    return found


def _names(module: Mapping[str, Any]) -> dict[Any, str]:
    """A name for each bit: that of a source's signal where there is one, the shortest."""
    names: dict[Any, tuple[tuple[int, int, str], str]] = {}
    for name, net in module["netnames"].items():
        for index, bit in enumerate(net["bits"]):
            label = f"{name}[{index}]" if len(net["bits"]) > 1 else name
            rank = (int(net.get("hide_name", 0)), len(name), name)
            if bit not in names or rank < names[bit][0]:
                names[bit] = (rank, label)
    return {bit: label for bit, (_, label) in names.items()}


def longest(netlist: Mapping[str, Any], top: str) -> Path:
    """The longest path of a flat netlist, as Yosys writes it with `write_json`.

    Raises:
        ValueError: Logic feeds itself without a register between.
    """
    return deepest(netlist, top)[0]


def deepest(netlist: Mapping[str, Any], top: str) -> list[Path]:
    """The longest path into each register, memory and port of a netlist, all bits of it taken together; deepest first.

    What synthesis has given a name of its own to is taken together by what is left of that without its numbers.

    Raises:
        ValueError: Logic feeds itself without a register between.
    """
    module = netlist["modules"][top]
    cells = _cells(module)
    into: dict[Any, list[tuple[Any, int]]] = {}
    ends: list[tuple[Any, str]] = []
    names = _names(module)
    carries = {bit for cell in cells if _CARRY.fullmatch(cell.kind) for bit in cell.outputs.get("CO", ())}
    for cell in cells:
        for bit, out, cost in cell.arcs(carries):
            into.setdefault(out, []).append((bit, cost))
        target = next((names.get(bit, cell.name) for outs in cell.outputs.values() for bit in outs), cell.name)
        for port, bits in cell.inputs.items():
            if not cell.passes(port):
                ends += [(bit, f"{target}.{port}" if port != "D" else target) for bit in bits]
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            for index, bit in enumerate(port["bits"]):
                ends.append((bit, f"{name}[{index}]" if len(port["bits"]) > 1 else name))
    depth = _depths(into, ends, names)
    worst: dict[str, tuple[int, Any, str]] = {}
    for bit, label in ends:
        levels, begin = depth[bit]
        group = re.sub(r"\d+" if label.startswith("$") else r"\[\d+\]", "", label)
        if group not in worst or levels > worst[group][0]:
            worst[group] = (levels, begin, label)
    found = sorted(worst.values(), key=lambda each: -each[0]) or [(0, "", "")]
    return [Path(levels, names.get(begin, str(begin)), label) for levels, begin, label in found]


def _depths(
    into: Mapping[Any, list[tuple[Any, int]]], ends: Sequence[tuple[Any, str]], names: Mapping[Any, str]
) -> dict[Any, tuple[int, Any]]:
    """Levels in front of each bit on a way to an end, and where the longest way begins."""
    depth: dict[Any, tuple[int, Any]] = {}
    open_bits: set[Any] = set()
    for end, _ in ends:
        stack = [end]
        while stack:
            bit = stack[-1]
            if bit in depth:
                stack.pop()
                continue
            before = [source for source, _ in into.get(bit, ()) if source not in depth]
            if before and bit not in open_bits:
                open_bits.add(bit)
                stack += before
                continue
            if before:
                raise ValueError(f"logic feeds itself at {names.get(bit, bit)}")
            best = (0, bit)
            for source, cost in into.get(bit, ()):
                levels, begin = depth[source]
                best = max(best, (levels + cost, begin), key=lambda found: found[0])
            depth[bit] = best
            stack.pop()
    return depth
