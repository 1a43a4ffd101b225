# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a register map says, read from SystemRDL into plain values that the writers share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, FieldNode, RegfileNode, RegNode
from systemrdl.rdltypes import AccessType, OnWriteType

LICENCE = "Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0"
"""What the first line of every source says, as a comment of its language."""


class RegisterMapError(ValueError):
    """A map the writers cannot express; the message says which register and what to change."""


@dataclass(frozen=True)
class EnumSpec:
    """An enumeration of field values."""

    name: str
    members: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class FieldSpec:
    """One field.

    Attributes:
        kind: `constant`, `input` (hardware drives what software reads), `storage`, `sticky` (hardware sets, software
            clears by writing 1), `pulse` (one cycle after a write of 1), or `external` (another block holds it).
    """

    name: str
    low: int
    width: int
    reset: int
    kind: str
    desc: str
    encode: str | None
    swacc: bool
    swmod: bool
    readable: bool
    writable: bool

    @property
    def high(self) -> int:
        """Highest bit."""
        return self.low + self.width - 1


@dataclass(frozen=True)
class RegSpec:
    """One register, or `count` of them every `stride` bytes."""

    name: str
    offset: int
    title: str
    desc: str
    fields: tuple[FieldSpec, ...]
    external: bool
    count: int = 1
    stride: int = 0
    group: str = ""

    @property
    def reset(self) -> int:
        """The word after reset, inputs reading zero."""
        return sum(f.reset << f.low for f in self.fields)


@dataclass(frozen=True)
class RegionSpec:
    """A range of addresses another block answers at."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class MapSpec:
    """One block's map."""

    name: str
    title: str
    desc: str
    registers: tuple[RegSpec, ...]
    regions: tuple[RegionSpec, ...]
    enums: tuple[EnumSpec, ...]


@dataclass
class _Reader:
    registers: list[RegSpec] = field(default_factory=list)
    regions: list[RegionSpec] = field(default_factory=list)
    enums: dict[str, EnumSpec] = field(default_factory=dict)

    def addrmap(self, node: AddrmapNode) -> MapSpec:
        for child in node.children(unroll=False):
            if isinstance(child, RegNode):
                self.register(child, child.raw_absolute_address, bool(child.external), 1, 0, "")
            elif isinstance(child, RegfileNode):
                self.regfile(child)
            else:
                raise RegisterMapError(f"{child.get_path()}: use reg or external regfile")
        spec = sorted(self.registers, key=lambda r: r.offset)
        return MapSpec(
            node.inst_name,
            _text(node.get_property("name")),
            _text(node.get_property("desc")),
            tuple(spec),
            tuple(self.regions),
            tuple(self.enums.values()),
        )

    def regfile(self, node: RegfileNode) -> None:
        if not node.external:
            raise RegisterMapError(f"{node.get_path()}: a regfile must be external; write registers one by one instead")
        count = node.array_dimensions[0] if node.is_array else 1
        stride = node.array_stride if node.is_array else node.size
        base = node.raw_absolute_address
        self.regions.append(RegionSpec(node.inst_name.lower(), base, count * (stride or 0)))
        for child in node.children(unroll=False):
            if isinstance(child, RegNode):
                self.register(child, base + child.raw_address_offset, True, count, stride or 0, node.inst_name)

    def register(self, node: RegNode, offset: int, external: bool, count: int, stride: int, group: str) -> None:
        if node.get_property("regwidth") != 32:
            raise RegisterMapError(f"{node.get_path()}: registers are 32 bits wide")
        fields = tuple(self.field(f, external) for f in node.fields())
        name = f"{group}_{node.inst_name}" if group else node.inst_name
        self.registers.append(
            RegSpec(
                name,
                offset,
                _text(node.get_property("name")),
                _text(node.get_property("desc")),
                fields,
                external,
                count,
                stride,
                group,
            )
        )

    def field(self, node: FieldNode, external: bool) -> FieldSpec:
        encode = node.get_property("encode")
        if encode is not None:
            name = encode.type_name
            members = tuple((m.name, int(m.value), _text(m.rdl_desc)) for m in encode)
            self.enums[name] = EnumSpec(name, members)
        return FieldSpec(
            node.inst_name,
            node.low,
            node.width,
            int(node.get_property("reset") or 0),
            "external" if external else _kind(node),
            _text(node.get_property("desc")),
            encode.type_name if encode is not None else None,
            bool(node.get_property("swacc")),
            bool(node.get_property("swmod")),
            node.is_sw_readable,
            node.is_sw_writable,
        )


def _text(value: object) -> str:
    return " ".join(str(value).split()) if value else ""


def _kind(node: FieldNode) -> str:
    hw = node.get_property("hw")
    if node.get_property("singlepulse"):
        return "pulse"
    if node.get_property("onwrite") == OnWriteType.woclr and node.get_property("hwset"):
        return "sticky"
    if hw == AccessType.na and not node.is_sw_writable:
        return "constant"
    if hw == AccessType.w and not node.is_sw_writable:
        return "input"
    if hw == AccessType.r and node.is_sw_writable and node.get_property("onwrite") is None:
        return "storage"
    raise RegisterMapError(
        f"{node.get_path()}: no writer for this mix of properties; use sw=rw hw=r, sw=r hw=w, "
        "sw=r hw=na, woclr with hwset, or singlepulse"
    )


def read_map(path: Path) -> MapSpec:
    """Read one `.rdl` file.

    Raises:
        RegisterMapError: It holds something the writers cannot express.
    """
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return _Reader().addrmap(compiler.elaborate().top)
