# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What of an overlay could go into a slot: the IP that its hardware handoff names, and how to import each.

A handoff (`.hwh`) says of every block of a design its name, its interfaces and their widths; it holds no source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from eddy.core.errors import InvalidRequest, NotFound

INFRASTRUCTURE = {
    **dict.fromkeys(("zynq_ultra_ps_e", "processing_system7"), "the chip's processor"),
    **dict.fromkeys(
        ("proc_sys_reset", "clk_wiz", "util_vector_logic", "xlconstant", "xlconcat", "xlslice"),
        "clocks, resets and wires",
    ),
    **dict.fromkeys(("axi_interconnect", "smartconnect", "axi_crossbar"), "an interconnect, which the shell has"),
    **dict.fromkeys(
        ("axi_intc", "axi_dma", "axi_register_slice", "axis_switch"), "what the shell or a slot's wrapper has"
    ),
}
"""What stays outside of slots, by the type of the block, and what it is."""


@dataclass(frozen=True)
class OverlayBlock:
    """A block of an overlay.

    Attributes:
        name: Its instance, as `/filter_0`.
        ip: Its vendor, library, name and version.
        top: Its top module.
        memories: Bits of data of each port on which it asks for memory, by name.
        controls: The same of each port on which it is asked.
        streams: The same of each stream.
        fits: Whether it could go into a slot.
        how: The command that imports it, or why it stays outside.
    """

    name: str
    ip: str
    top: str
    memories: dict[str, int]
    controls: dict[str, int]
    streams: dict[str, int]
    fits: bool
    how: str

    def report(self) -> dict[str, object]:
        """All of it, for `--json`."""
        return asdict(self)


def read_overlay(path: Path) -> tuple[OverlayBlock, ...]:
    """The blocks of an overlay's handoff, those that could go into a slot first.

    Raises:
        NotFound: There is no such file.
        InvalidRequest: It is no handoff.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise NotFound(f"{path} cannot be read ({error.strerror})", field="source") from error
    except ElementTree.ParseError as error:
        raise InvalidRequest(f"{path} is no hardware handoff: {error}", field="source") from error
    found = [_block(module) for module in root.iter("MODULE") if module.get("VLNV")]
    if not found:
        raise InvalidRequest(f"{path} names no block of a design; give the .hwh of an overlay", field="source")
    return tuple(sorted(found, key=lambda block: (not block.fits, block.name)))


def _block(module: ElementTree.Element) -> OverlayBlock:
    top, ip = module.get("MODTYPE", ""), module.get("VLNV", "")
    memories: dict[str, int] = {}
    controls: dict[str, int] = {}
    streams: dict[str, int] = {}
    for bus, kind, manager, bits in _buses(module):
        if kind == "axis":
            streams[bus] = bits
        elif kind == "aximm":
            (memories if manager else controls)[bus] = bits
    fits, how = _judge(ip, top, memories, controls, streams)
    return OverlayBlock(module.get("FULLNAME", ""), ip, top, memories, controls, streams, fits, how)


def _buses(module: ElementTree.Element) -> Iterator[tuple[str, str, bool, int]]:
    """A block's interfaces: name, kind, whether it asks or sends, bits of data."""
    settings = {each.get("NAME"): each.get("VALUE", "") for each in module.findall("./PARAMETERS/PARAMETER")}
    for bus in module.iter("BUSINTERFACE"):
        name, widths = bus.get("NAME", ""), {each.get("NAME"): each.get("VALUE", "") for each in bus.iter("PARAMETER")}
        stated = (bus.get("DATAWIDTH"), widths.get("DATA_WIDTH"), settings.get(f"C_{name.upper()}_DATA_WIDTH"))
        bits = next((int(each) for each in stated if each and each.isdigit()), 0)
        bits = bits or 8 * int(widths.get("TDATA_NUM_BYTES") or 0)
        yield name, _kind(bus), bus.get("TYPE", "").upper() in ("MASTER", "INITIATOR"), bits


def _kind(bus: ElementTree.Element) -> str:
    """What an interface is, by its name in the catalogue or, in handoffs of before 2015, by its signals."""
    name = bus.get("VLNV", "").split(":")
    if len(name) > 2:
        return name[2]
    signals = [(each.get("LOGICAL") or each.get("PHYSICAL") or "").lower() for each in bus.iter("PORTMAP")]
    if any(signal.endswith(("araddr", "awaddr")) for signal in signals):
        return "aximm"
    return "axis" if any(signal.endswith("tvalid") for signal in signals) else ""


def _judge(
    ip: str, top: str, memories: dict[str, int], controls: dict[str, int], streams: dict[str, int]
) -> tuple[bool, str]:
    if top in INFRASTRUCTURE:
        return False, INFRASTRUCTURE[top]
    if not memories and not controls and not streams:
        return False, "it has no AXI port"
    if not controls and not streams:
        return False, "nothing starts it: it has no registers"
    if any(bits not in (0, 32) for bits in controls.values()):
        return False, "its registers are no AXI4-Lite port of 32 bits"
    # Of IP of the vendor's own catalogue there is no source to give; of HLS and of one's own there is.
    if ip.startswith("xilinx.com:ip:"):
        return False, "IP of the vendor's catalogue, whose sources are encrypted or its own"
    return (
        True,
        f"eddy module import FOLDER --top {top}, where FOLDER holds its Verilog (impl/ip of the export, or ipshared)",
    )
