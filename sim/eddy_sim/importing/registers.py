# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's registers, by what tools write of them: the comments in `*_control_s_axi.v` and `*_hw.h`, `kernel.xml`.

Ref: UG1399, "S_AXILITE Control Register Map"; UG1393, "RTL Kernel XML File".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eddy.core.errors import InvalidRequest

_ENTRY = re.compile(r"^\W*0x([0-9a-fA-F]+)\s*:\s*(.+?)\s*$")
_BITS = re.compile(r"^\W*bit\s+(\d+)(?:\s*~\s*(\d+))?\s*-\s*(\w+)(?:\[(\d+)(?::(\d+))?\])?\s*\(([^)]*)\)")
_RANGE = re.compile(r"^\W*0x([0-9a-fA-F]+)\s*~\s*$")
_MEMORY = re.compile(r"Memory '(\w+)' \((\d+) \* (\d+)b\)")
_ADDRESSES = re.compile(r"\bADDR_(\w+?)_DATA_(\d+)\s*=\s*\d*'h([0-9a-fA-F]+)")
_WIDTHS = re.compile(r"\bADDR_(\w+)_CTRL\s*=\s*\d*'h([0-9a-fA-F]+)")


@dataclass
class KernelRegister:
    """An argument in a register bundle.

    Attributes:
        name: As the kernel's author named it, or the tool for them.
        offset: Byte offset of its first word within the bundle.
        width: Its bits.
        output: Whether the kernel writes it.
        element_bits: Of an array in the bundle, the bits that each of its elements takes there; else 0.
        updated: Whether it is an array that the kernel reads and writes; then it is no output.
    """

    name: str
    offset: int
    width: int = 0
    output: bool = False
    element_bits: int = 0
    updated: bool = False


@dataclass
class RegisterBundle:
    """What is known of a bundle.

    Attributes:
        registers: Its arguments.
        start: Whether it has AP_CTRL at its beginning.
        chain: Whether that has a bit to continue.
    """

    registers: list[KernelRegister] = field(default_factory=list)
    start: bool = False
    chain: bool = False


@dataclass(frozen=True)
class ArgumentType:
    """What the source says of an argument.

    Attributes:
        type: In C: `int*`, `ap_uint<512>*`, `float`; "" where nobody says.
        pointer: Whether it is an address of memory.
    """

    type: str
    pointer: bool


def read_bundle(text: str) -> RegisterBundle | None:
    """What a text says of a bundle in comments, or in its decoder's addresses; None where it says nothing."""
    bundle, found, current, first = RegisterBundle(), False, KernelRegister("", 0), 0
    by_name: dict[str, KernelRegister] = {}
    for line in text.splitlines():
        entry, range_begins = _ENTRY.match(line), _RANGE.match(line)
        if range_begins:
            first = int(range_begins[1], 16)
        if entry:
            offset, what = int(entry[1], 16), entry[2]
            found, current = True, KernelRegister("", 0)
            if what.startswith("Data signal of "):
                name = what.split()[-1]
                current = by_name.setdefault(name, KernelRegister(name, offset))
            memory = _MEMORY.search(what)
            if memory:
                by_name[memory[1]] = _array(memory, first, text)
            continue
        bits = _BITS.match(line)
        if not bits:
            continue
        bundle.start |= bits[3] == "ap_start"
        bundle.chain |= bits[3] == "ap_continue"
        if current.name:
            current.width = max(current.width, int(bits[4]) + 1 if bits[4] else int(bits[1]) + 1)
            current.output = "Write" not in bits[6]
    bundle.registers = [register for register in by_name.values() if register.width]
    return bundle if found else _by_decoder(text)


def _array(said: re.Match[str], first: int, text: str) -> KernelRegister:
    """An array from an offset on; its elements share words where they are of 16 bits or fewer.

    Its direction is that of the ports to the kernel, in the bundle's own source; where there are none, it is an input.
    """
    name, count, bits = said[1], int(said[2]), int(said[3])
    element_bits = max(1 << (bits - 1).bit_length(), 8)
    reads, writes = (bool(re.search(rf"\b{name}_{port}\d\b", text)) for port in ("q", "we"))
    return KernelRegister(name, first, count * element_bits, writes and not reads, element_bits, reads and writes)


def _by_decoder(text: str) -> RegisterBundle | None:
    """What the names of a decoder's addresses say, as in HLS output that has lost its comments."""
    found: dict[str, list[int]] = {}
    for name, _, offset in _ADDRESSES.findall(text):
        found.setdefault(name, []).append(int(offset, 16))
    if not found or "ADDR_AP_CTRL" not in text:
        return None
    outputs = {name for name, _ in _WIDTHS.findall(text)}
    registers = [
        KernelRegister(name.lower(), min(offsets), 32 * len(offsets), name in outputs or name == "AP_RETURN")
        for name, offsets in found.items()
    ]
    return RegisterBundle(registers, True, "ap_continue" in text)


def read_bundles(top: str, prefixes: Sequence[str], texts: Mapping[Path, str]) -> dict[str, RegisterBundle]:
    """The bundles of a top, by the prefix of their ports.

    Args:
        top: Its name.
        prefixes: Of the interfaces that hold registers.
        texts: Sources and headers that may say something of them.

    Raises:
        InvalidRequest: Files that count alike say different registers.
    """
    found: dict[str, RegisterBundle] = {}
    read = {path: bundle for path, text in texts.items() if (bundle := read_bundle(text)) is not None}
    for prefix in prefixes:
        name = re.sub(r"^s_axi_?", "", prefix, flags=re.IGNORECASE).lower()
        stems = {path: path.stem.lower() for path in read}
        own = [path for path, stem in stems.items() if stem == f"{top}_{name}_s_axi".lower()]
        decoders = [path for path, stem in stems.items() if f"_{stem}".endswith(f"_{name}_s_axi")]
        headers = [path for path in read if path.name.endswith("_hw.h")]
        drivers = [path for path in headers if path.name.lower() == f"x{top}_hw.h".lower()]
        others = [drivers, headers, [*read]] if len(prefixes) == 1 else []
        places = next((each for each in (own, decoders, *others) if each), [])
        if places:
            telling = [path for path in places if read[path] != RegisterBundle()] or places
            found[prefix] = _agreed(prefix, {path: read[path] for path in sorted(telling)})
    return found


def _agreed(prefix: str, read: Mapping[Path, RegisterBundle]) -> RegisterBundle:
    """What files say that count alike.

    Raises:
        InvalidRequest: They say different things.
    """
    (first, bundle), *others = read.items()
    for path, other in others:
        if other != bundle:
            raise InvalidRequest(
                f"{first} and {path} say different registers of {prefix}, and nothing tells which is this kernel's:"
                " take away the one that is not, or name the folder of the kernel's own solution",
                field="source",
            )
    return bundle


def read_types(paths: Iterable[Path], top: str) -> dict[str, ArgumentType]:
    """What a solution's data, or an RTL kernel's XML, says of the types of a top's arguments.

    What names this kernel comes first, then what names none. XML that names another counts where nothing names this
    one: a kernel written by hand may be called otherwise than its top.

    Raises:
        InvalidRequest: Files that count alike say different things.
    """
    said: dict[Path, tuple[set[str], dict[str, ArgumentType]]] = {}
    for path in paths:
        if path.name == "kernel.xml":
            said[path] = _of_xml(path)
        elif path.suffix == ".json":
            said[path] = _of_json(path)
    own = [path for path, (names, _) in said.items() if top in names]
    others = [path for path, (names, _) in said.items() if not names or (not own and path.suffix == ".xml")]
    found: dict[str, ArgumentType] = {}
    places: dict[str, Path] = {}
    for path in others:
        for name, each in said[path][1].items():
            if found.setdefault(name, each) != each:
                raise InvalidRequest(
                    f"{places[name]} and {path} say different types of {name}, and nothing tells which is of {top}:"
                    " take away the one that is not, or name the folder of the kernel's own solution",
                    field="source",
                )
            places.setdefault(name, path)
    for path in own:
        found |= said[path][1]
    return found


def _of_xml(path: Path) -> tuple[set[str], dict[str, ArgumentType]]:
    """The names that a file has for its kernel, and the types of the arguments."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return set(), {}
    kernel = next(root.iter("kernel"), root)
    return {kernel.get("name", "")} - {""}, {
        arg.get("name", ""): ArgumentType(arg.get("type", ""), arg.get("addressQualifier") == "1")
        for arg in kernel.iter("arg")
    }


def _of_json(path: Path) -> tuple[set[str], dict[str, ArgumentType]]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        names = {str(said.get(key, "")) for key in ("Top", "RtlTop")} - {""}
        names |= {f"{said.get('RtlPrefix', '')}{name}" for name in names}
        return names, {name: _of_argument(each) for name, each in said.get("Args", {}).items()}
    except (ValueError, AttributeError, OSError):
        return set(), {}


def _of_argument(each: Mapping[str, Any]) -> ArgumentType:
    """What a solution's data says of an argument; before 2020 it stands under `type`."""
    kind = each.get("type")
    if not isinstance(kind, Mapping):
        pointer = any(ref.get("usage") == "address" for ref in each.get("hwRefs", []))
        return ArgumentType(str(each.get("srcType", "")), pointer)
    name, width = str(kind.get("dataType", "")), kind.get("dataWidth", "")
    if name not in ("float", "double", "half"):
        name = f"{'u' if 'unsigned' in name else ''}int{width}_t"
    return ArgumentType(name, str(kind.get("interfaceRef", "")).lower().startswith("m_axi"))
