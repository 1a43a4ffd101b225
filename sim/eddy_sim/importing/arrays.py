# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Ports of a kernel to memory blocks (`ap_memory`, `bram`): what lies behind them, and where in the slot's window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eddy.core.errors import InvalidRequest

from eddy_sim.importing.interfaces import BlockInterface

MOST_WIDTH = 1024
OUT = "_out"
"""Behind the name of what a kernel leaves in an array that it is given."""
_COUNT = re.compile(r"\{ (\w+) \w+ \d+ \w+ \{(?:array|bram) (\d+) ")
_WAY = re.compile(r'"Name" : "(\w+)", "interface" : "(?:memory|bram)",[^}]*"direction" : "(READONLY|WRITEONLY)"')
_SIZE = re.compile(r'BUSIFPARAM_VALUE\.(\w+)_PORTA\.MEM_SIZE">(\d+)<')
_LATENCY = re.compile(r"ap_memory_interface_dict (\w+) \{[^}]*\bREAD_LATENCY (\d+)")


@dataclass(frozen=True)
class KernelArray:
    """An array behind ports to a memory block.

    Attributes:
        interface: Its ports.
        count: Its elements.
        way: `READONLY` or `WRITEONLY` where a tool says so of an array whose ports could do either; or "".
        base: Where it begins in the window.
    """

    interface: BlockInterface
    count: int
    way: str = ""
    base: int = 0

    @property
    def element_bits(self) -> int:
        """Bits that each element takes in the window."""
        return element_bits(self.interface.width)

    @property
    def bytes(self) -> int:
        """How much of the window it has."""
        row = max(self.element_bits, 32)
        return -(-self.count * self.element_bits // row) * row // 8

    def registers(self) -> Iterator[tuple[str, bool]]:
        """Its arguments, each with whether it is a result."""
        reads = self.interface.reads and self.way != "WRITEONLY"
        yield from array_arguments(self.interface.name, reads, self.interface.writes and self.way != "READONLY")


def element_bits(width: int) -> int:
    """Bits that an element of so many takes among others: the next power of two, whole bytes."""
    return max(1 << (width - 1).bit_length(), 8)


def array_arguments(name: str, reads: bool, writes: bool) -> Iterator[tuple[str, bool]]:
    """What an array is to a task: an input where the kernel reads it, a result where it writes it, or one of each."""
    if reads:
        yield name, False
    if writes:
        yield name + (OUT if reads else ""), True


def find_arrays(
    blocks: Sequence[BlockInterface], top: str, about: Sequence[Path], said: Mapping[str, int]
) -> tuple[tuple[KernelArray, ...], list[str]]:
    """The arrays of a kernel, not placed, and why some cannot be served.

    Args:
        blocks: Its ports to memory blocks.
        top: Its name.
        about: What tools wrote of it; `<top>.tbgen.tcl` says how many elements its arrays have, and what is done there,
            else `component.xml` how many bytes.
        said: Elements by name, where somebody says.

    Raises:
        InvalidRequest: What is said is about no array.
    """
    known = {block.name for block in blocks}
    for name, count in said.items():
        if name not in known or count < 1:
            raise InvalidRequest(f"--elements {name}={count}: no such array", field="elements", allowed=sorted(known))
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in about if path.name == f"{top}.tbgen.tcl"]
    counts = {name: int(count) for text in texts for name, count in _COUNT.findall(text)} | dict(said)
    ways = {name: way for text in texts for name, way in _WAY.findall(text)}
    slow = {name: int(cycles) for text in texts for name, cycles in _LATENCY.findall(text)}
    sizes = _component_sizes(about)
    arrays, refused = [], []
    for block in blocks:
        # How a tool pads other widths is not said.
        size = sizes.get(block.name.upper(), 0) if block.width == element_bits(block.width) else 0
        count = counts.get(block.name) or 8 * size // block.width
        count = count or (0 if block.bytewise else 1 << block.addr_width)
        wrong = _misfit(block, count, slow.get(block.name, 1))
        if wrong:
            refused.append(wrong)
        else:
            arrays.append(KernelArray(block, count, ways.get(block.name, "")))
    return tuple(arrays), refused


def _component_sizes(about: Sequence[Path]) -> dict[str, int]:
    """Bytes of arrays by their names in capitals, where the one `component.xml` says so."""
    found = [path for path in about if path.name == "component.xml"]
    texts = {path.read_text(encoding="utf-8", errors="replace") for path in found}
    return {name: int(size) for name, size in _SIZE.findall(texts.pop())} if len(texts) == 1 else {}


def _misfit(block: BlockInterface, count: int, latency: int) -> str:
    if len(block.sides) > 2:
        return f"{block.name} has {len(block.sides)} ports to one memory block; it has two at most"
    if block.width > MOST_WIDTH or (block.enables > 1 and block.enables * 8 != block.width):
        return f"{block.name} has elements of {block.width} bits and {block.enables} write enables"
    if latency > 1:
        return f"{block.name} awaits data {latency} cycles after it asks; let its interface have a latency of 1"
    if not count:
        return f"nothing tells how many elements {block.name} has; say --elements {block.name}=N"
    return ""


# The top --------------------------------------------------------------------------------------------------------------


def array_lines(array: KernelArray, number: int, bundle: int) -> Iterator[str]:
    """The memory of an array, on this bundle of the window, and the nets between it and the kernel."""
    a, block = f"a{number}", array.interface
    sides, width, enables = len(block.sides), block.width, block.enables
    shift = (array.element_bits // 8).bit_length() - 1 if block.bytewise else 0
    bits = max(block.addr_width - shift, 1)
    yield f"  // {block.name}: {array.count} elements of {width} bits."
    yield f"  logic [{sides - 1}:0] {a}_en;"
    yield f"  logic [{sides - 1}:0][{block.addr_width - 1}:0] {a}_from;"
    yield f"  logic [{sides - 1}:0][{bits - 1}:0] {a}_addr;"
    yield f"  logic [{sides - 1}:0][{enables - 1}:0] {a}_we;"
    yield f"  logic [{sides - 1}:0][{width - 1}:0] {a}_din, {a}_dout;"
    for side, ports in enumerate(block.sides):
        yield f"  assign {a}_addr[{side}] = {bits}'({a}_from[{side}] >> {shift});"
        for signal in ("we", "din"):
            if signal not in ports:
                yield f"  assign {a}_{signal}[{side}] = '0;"
    if not block.reads:
        yield f"  logic unused_{a};"
        yield f"  assign unused_{a} = ^{a}_dout;"
    yield f"  kernel_array #(.Width({width}), .Depth({array.count}), .AddrWidth({bits}), .Sides({sides}),"
    yield f"    .Enables({enables})) u_{a} ("
    yield "    .clk_i, .rst_ni, .running_i(running), .awaddr_i(bundle_awaddr),"
    yield f"    .awvalid_i(bundle_awvalid[{bundle}]), .awready_o(bundle_awready[{bundle}]), .wdata_i(bundle_wdata),"
    yield f"    .wstrb_i(bundle_wstrb), .wvalid_i(bundle_wvalid[{bundle}]), .wready_o(bundle_wready[{bundle}]),"
    yield f"    .bvalid_o(bundle_bvalid[{bundle}]), .bready_i(bundle_bready[{bundle}]), .araddr_i(bundle_araddr),"
    yield f"    .arvalid_i(bundle_arvalid[{bundle}]), .arready_o(bundle_arready[{bundle}]),"
    yield f"    .rdata_o(bundle_rdata[{bundle}]), .rvalid_o(bundle_rvalid[{bundle}]),"
    yield f"    .rready_i(bundle_rready[{bundle}]), .en_i({a}_en),"
    yield f"    .addr_i({a}_addr), .we_i({a}_we), .din_i({a}_din), .dout_o({a}_dout)"
    yield "  );"
    yield ""


def array_connections(array: KernelArray, number: int) -> Iterator[tuple[str, str]]:
    """Ports of the kernel and what each is connected to."""
    nets = {"addr": "from", "en": "en", "we": "we", "din": "din", "dout": "dout"}
    for side, ports in enumerate(array.interface.sides):
        for signal, port in ports.items():
            yield port.name, f"a{number}_{nets[signal]}[{side}]" if signal in nets else ""
