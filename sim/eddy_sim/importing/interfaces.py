# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The protocols that a kernel's ports belong to, told by their names: AXI4, AXI4-Lite, AXI4-Stream, clocks, resets.

Names are those of HLS output and of IP (`m_axi_gmem_AWADDR`, `s_axil_awaddr`), of Chisel (`io_mem_aw_bits_addr`) and of
SpinalHDL (`io_mem_aw_payload_addr`); case does not matter, nor a suffix `_i` or `_o`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eddy_sim.importing.design import TopPort

_ADDRESS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "region", "user", "valid", "ready")
_FIELDS = {
    "aw": _ADDRESS,
    "w": ("id", "data", "strb", "last", "user", "valid", "ready"),
    "b": ("id", "resp", "user", "valid", "ready"),
    "ar": _ADDRESS,
    "r": ("id", "data", "resp", "last", "user", "valid", "ready"),
}
_NAMES = "|".join(
    rf"{channel}(?:_bits_|_payload_|_(?:{channel})?)?(?:{'|'.join(fields)})" for channel, fields in _FIELDS.items()
)
_TWICE = re.compile(
    rf"({'|'.join(_FIELDS)})_\1({'|'.join(dict.fromkeys(f for fields in _FIELDS.values() for f in fields))})"
)
"""A signal whose name says its channel twice: `aw_awaddr`. Of an interface whose own name ends so, as HLS calls it for
arguments `input` and `b` (`m_axi_input_r_RDATA`, `m_axi_b_BVALID`), it is said once."""
_AXI = re.compile(rf"(?P<prefix>.*?)_?(?P<signal>{_NAMES})(?:_[io])?", re.IGNORECASE)
_STREAM = re.compile(
    r"(?P<prefix>.*?)_?t(?P<signal>data|valid|ready|keep|strb|last|id|dest|user)(?:_[io])?", re.IGNORECASE
)
_CLOCK = re.compile(r"(.*_)?(a?clk|clock)(_\w+|\d*)?|i_clk", re.IGNORECASE)
_NO_CLOCK = re.compile(
    r"(.*_)?(en|ena|enable|sel|select|gate|stop)\d*(_.*)?|"
    r".*_(ce|mode|pol|polarity|value|valid|vld|req|ack|ok|done|ready|locked)(_.*)?",
    re.IGNORECASE,
)
"""Names that are of something about a clock or a reset rather than of itself: `clk_sel`, `clock_enable`."""
_RESET = re.compile(r"(.*_)?(a?re?se?tn?|arst|rst)(_\w+|n)?", re.IGNORECASE)
_ACTIVE_LOW = re.compile(r".*(_n|_ni|_n_i|_nin|re?se?tn|_rstn|^rstn)(_\w+)?|.*_n(_i)?", re.IGNORECASE)
_INTERRUPT = re.compile(r"(.*_)?(interrupt|irq|intr)(_[o\d]+|out)?", re.IGNORECASE)
BLOCK_PORTS = ("ap_start", "ap_done", "ap_idle", "ap_ready", "ap_continue")
"""Block-level control as ports, which HLS gives a kernel without `s_axilite` of `return`."""
_ONES = re.compile(r"ap_ce|ce|aclken|(ap_)?(clk|clock)_?(en|ena|enable)|.*_ap_(vld|ack)", re.IGNORECASE)
"""Enables, and handshakes of inputs and outputs that HLS gives a wire (`ap_vld`, `ap_hs`): tied to one."""
_FIFO = {
    "dout": ("tdata", False), "empty_n": ("tvalid", False), "read": ("tready", True),
    "din": ("tdata", True), "write": ("tvalid", True), "full_n": ("tready", False),
}  # fmt: skip
"""Ports of HLS's `ap_fifo`, the stream's signal that each is, and whether it is an output."""


@dataclass(frozen=True)
class AxiInterface:
    """An AXI4 or AXI4-Lite interface.

    Attributes:
        prefix: What its ports' names begin with.
        ports: By signal, in small letters: `awaddr`, `rdata`.
        manager: Whether the kernel asks and others answer.
    """

    prefix: str
    ports: Mapping[str, TopPort]
    manager: bool

    def width(self, signal: str, default: int = 0) -> int:
        """Bits of a signal; `default` where it has none of that name."""
        port = self.ports.get(signal)
        return port.width if port else default

    @property
    def data_width(self) -> int:
        """Bits of data."""
        return self.width("rdata") or self.width("wdata")

    @property
    def addr_width(self) -> int:
        """Bits of address."""
        return max(self.width("araddr"), self.width("awaddr"))

    @property
    def id_width(self) -> int:
        """Bits of its ids; 0 where it has none."""
        return max(self.width(name) for name in ("awid", "arid", "bid", "rid"))

    @property
    def reads(self) -> bool:
        """Whether it has the channels that read."""
        return "arvalid" in self.ports

    @property
    def writes(self) -> bool:
        """Whether it has the channels that write."""
        return "awvalid" in self.ports

    @property
    def bursts(self) -> bool:
        """Whether it is AXI4 rather than AXI4-Lite."""
        return "awlen" in self.ports or "arlen" in self.ports


@dataclass(frozen=True)
class StreamInterface:
    """An AXI4-Stream interface; `manager` where the kernel sends."""

    prefix: str
    ports: Mapping[str, TopPort]
    manager: bool


@dataclass(frozen=True)
class BlockInterface:
    """Ports to a memory block: HLS's `ap_memory` and `bram`.

    Attributes:
        name: Of the array.
        sides: Ports of each side by signal: `addr`, `en`, `we`, `din`, `dout`, and `clk`, `rst` of a `bram`.
        bytewise: Whether addresses are of bytes (`bram`) rather than of elements.
    """

    name: str
    sides: tuple[Mapping[str, TopPort], ...]
    bytewise: bool

    @property
    def width(self) -> int:
        """Bits of an element."""
        return max(side[data].width for side in self.sides for data in ("din", "dout") if data in side)

    @property
    def addr_width(self) -> int:
        """Bits of an address."""
        return self.sides[0]["addr"].width

    @property
    def reads(self) -> bool:
        """Whether the kernel reads there."""
        return any("dout" in side for side in self.sides)

    @property
    def writes(self) -> bool:
        """Whether it writes there."""
        return any("din" in side and "we" in side for side in self.sides)

    @property
    def enables(self) -> int:
        """Write enables of a side: one, or one for each byte."""
        return max((side["we"].width for side in self.sides if "we" in side), default=1)


@dataclass(frozen=True)
class KernelPorts:
    """A top's ports, by what they are.

    Attributes:
        memories: AXI interfaces on which the kernel asks.
        controls: AXI interfaces on which it is asked.
        streams: AXI4-Stream interfaces.
        blocks: Ports to memory blocks.
        clocks: Its clocks.
        resets: Its resets, and whether a zero resets.
        interrupt: Its interrupt, or None.
        block: Ports of block-level control, by name.
        ones: Inputs to be tied to one.
        inputs: Inputs of which nothing tells what they are.
        outputs: Outputs of which nothing tells what they are; they stay open.
    """

    memories: tuple[AxiInterface, ...]
    controls: tuple[AxiInterface, ...]
    streams: tuple[StreamInterface, ...]
    blocks: tuple[BlockInterface, ...]
    clocks: tuple[TopPort, ...]
    resets: tuple[tuple[TopPort, bool], ...]
    interrupt: TopPort | None
    block: Mapping[str, TopPort]
    ones: tuple[TopPort, ...]
    inputs: tuple[TopPort, ...]
    outputs: tuple[TopPort, ...]


def group_ports(ports: Sequence[TopPort]) -> KernelPorts:
    """Tell what a top's ports are."""
    axi, streams, left = _groups(ports)
    blocks = _blocks(left)
    held = {port for block in blocks for side in block.sides for port in side.values()}
    others = [port for port in left if port not in held]
    plain = [port for port in others if _is_input(port) and not _NO_CLOCK.fullmatch(port.name)]
    clocks = tuple(port for port in plain if _CLOCK.fullmatch(port.name))
    resets = tuple(
        (port, bool(_ACTIVE_LOW.fullmatch(port.name)))
        for port in plain
        if port not in clocks and _RESET.fullmatch(port.name)
    )
    interrupts = [port for port in others if port.output and port.width == 1 and _INTERRUPT.fullmatch(port.name)]
    block = {port.name: port for port in others if port.name in BLOCK_PORTS}
    ones = tuple(port for port in others if _is_input(port) and _ONES.fullmatch(port.name))
    told = {*clocks, *(port for port, _ in resets), *interrupts[:1], *block.values(), *ones}
    untold = [port for port in others if port not in told]
    return KernelPorts(
        tuple(each for each in axi if each.manager),
        tuple(each for each in axi if not each.manager),
        tuple(streams),
        blocks,
        clocks,
        resets,
        interrupts[0] if interrupts else None,
        block,
        ones,
        tuple(port for port in untold if not port.output),
        tuple(port for port in untold if port.output),
    )


_BLOCK = {
    re.compile(r"(?P<name>.+)_(?P<signal>address|ce|we|d|q)(?P<side>\d)"): False,
    re.compile(r"(?P<name>.+)_(?P<signal>Addr|EN|WEN|Din|Dout|Clk|Rst)_(?P<side>[A-Z])"): True,
}
_BLOCK_SIGNALS = {
    **{"address": "addr", "ce": "en", "we": "we", "d": "din", "q": "dout"},
    **{"Addr": "addr", "EN": "en", "WEN": "we", "Din": "din", "Dout": "dout", "Clk": "clk", "Rst": "rst"},
}


def _blocks(ports: Sequence[TopPort]) -> tuple[BlockInterface, ...]:
    """Interfaces to memory blocks: whatever has an address, an enable and data to read or to write."""
    found: dict[tuple[str, bool], dict[str, dict[str, TopPort]]] = {}
    for port in ports:
        for pattern, bytewise in _BLOCK.items():
            told = pattern.fullmatch(port.name)
            if told and port.output == (told["signal"] not in ("q", "Dout")):
                sides = found.setdefault((told["name"], bytewise), {})
                sides.setdefault(told["side"], {})[_BLOCK_SIGNALS[told["signal"]]] = port
    blocks = []
    for (name, bytewise), sides in found.items():
        whole = [
            side for _, side in sorted(sides.items()) if {"addr", "en"} <= set(side) and {"din", "dout"} & set(side)
        ]
        if whole:
            blocks.append(BlockInterface(name, tuple(whole), bytewise))
    return tuple(blocks)


def _is_input(port: TopPort) -> bool:
    return not port.output and port.width == 1


def _groups(ports: Sequence[TopPort]) -> tuple[list[AxiInterface], list[StreamInterface], list[TopPort]]:
    """The AXI interfaces, the streams, and what belongs to neither."""
    axi: dict[str, dict[str, TopPort]] = {}
    streams: dict[str, dict[str, TopPort]] = {}
    own = _own_prefixes(ports)
    for port in ports:
        found = _AXI.fullmatch(port.name)
        if found:
            prefix, signal = found["prefix"], found["signal"].lower()
            twice = _TWICE.fullmatch(signal)
            if twice and _longer(found) in own:
                prefix = _longer(found)
            signal = re.sub(r"_(bits|payload)_|_", "", _TWICE.sub(r"\1\2", signal))
            axi.setdefault(prefix, {}).setdefault(signal, port)
        found = _STREAM.fullmatch(port.name)
        if found:
            streams.setdefault(found["prefix"], {}).setdefault("t" + found["signal"].lower(), port)
    whole = {
        prefix: each
        for prefix, each in axi.items()
        if {"arvalid", "rdata"} <= set(each) or {"awvalid", "wdata"} <= set(each)
    }
    flows = {prefix: each for prefix, each in streams.items() if {"tdata", "tvalid"} <= set(each)}
    flows |= {prefix: each for prefix, each in _fifos(ports).items() if prefix not in flows}
    taken = {port for each in (*whole.values(), *flows.values()) for port in each.values()}
    return (
        [AxiInterface(prefix, each, _asks(each)) for prefix, each in whole.items()],
        [StreamInterface(prefix, each, each["tvalid"].output) for prefix, each in flows.items()],
        [port for port in ports if port not in taken],
    )


def _longer(found: re.Match[str]) -> str:
    """The prefix of a signal that says its channel twice where the first is a part of the interface's name."""
    return found.string[: found.start("signal") + found["signal"].index("_")]


def _own_prefixes(ports: Sequence[TopPort]) -> set[str]:
    """Names of interfaces that have signals of several channels, each said once."""
    channels: dict[str, set[str]] = {}
    for port in ports:
        found = _AXI.fullmatch(port.name)
        if not found:
            continue
        twice = _TWICE.fullmatch(found["signal"].lower())
        prefix = _longer(found) if twice else found["prefix"]
        channel = twice[1] if twice else re.match("aw|ar|[wbr]", found["signal"].lower())[0]  # type: ignore[index]
        channels.setdefault(prefix, set()).add(channel)
    return {prefix for prefix, each in channels.items() if len(each) > 1}


def _fifos(ports: Sequence[TopPort]) -> dict[str, dict[str, TopPort]]:
    """FIFO interfaces as streams: what is read when it is not empty, and written when it is not full."""
    found: dict[str, dict[str, TopPort]] = {}
    for port in ports:
        for name, (signal, output) in _FIFO.items():
            if port.name.endswith(f"_{name}") and port.output == output:
                found.setdefault(port.name.removesuffix(f"_{name}"), {})[signal] = port
    return {prefix: each for prefix, each in found.items() if {"tdata", "tvalid", "tready"} <= set(each)}


def _asks(signals: Mapping[str, TopPort]) -> bool:
    return (signals.get("arvalid") or signals["awvalid"]).output
