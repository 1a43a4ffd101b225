# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A compiled program: what to load, and the kernels in it. Plain data, so that it can be cached and sent."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from eddy.core.errors import InvalidRequest, NotFound
from eddy.gpu.programs.layout import LAYOUT, LOCAL_BASE, REGION_BASE
from eddy.gpu.programs.signature import Argument, Kernel

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_SEGMENT = struct.Struct("<8I")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_AMO = 0x2F
"""Opcode of atomic instructions."""


_SOFT_FLOAT = frozenset(
    {
        *(f"__{name}sf3" for name in ("add", "sub", "mul", "div")),
        *(f"__{name}sf2" for name in ("neg", "eq", "ne", "lt", "le", "gt", "ge", "unord")),
        *("__fixsfsi", "__fixunssfsi", "__floatsisf", "__floatunsisf", "sqrtf", "fmaf", "fminf", "fmaxf"),
    }
)
"""What a core without a unit calls instead of its instructions (library/softfloat.c), but what every printf has."""


@dataclass(frozen=True, slots=True)
class Program:
    """What the compiler made of a source.

    Attributes:
        digest: Name of the source, its definitions and the compiler: the cache's key.
        elf: The linked program.
        fpu: Whether it was compiled for cores with an FPU, which are then needed.
        kernels: By name.
        local_bytes: Local memory its `__local` variables take.
        prints: Whether any kernel of it calls printf.
        warnings: What the compiler said though it succeeded.
        made_by: Names the compiler and library it was made with (`library.digest`).
    """

    digest: str
    elf: bytes = field(repr=False)
    fpu: bool
    kernels: dict[str, Kernel]
    local_bytes: int = 0
    prints: bool = False
    warnings: str = ""
    made_by: str = ""

    @property
    def soft(self) -> bool:
        """Whether it computes floating point in software: whether anything of the library for that was linked in."""
        return not self.fpu and any(name in _SOFT_FLOAT for name in symbols(self.elf))

    @property
    def uses_global_atomics(self) -> bool:
        """Whether it may have instructions that read and write memory at once (RV32A): whatever looks like one counts,
        also where it works on local memory, or is data."""
        return any(
            word & 0x7F == _AMO
            for _, data, _ in segments(self.elf)
            for (word,) in struct.iter_unpack("<I", data[: len(data) // 4 * 4])
        )

    def kernel(self, name: str) -> Kernel:
        """A kernel of the program.

        Raises:
            NotFound: It has none of that name; the message lists those it has.
        """
        if name not in self.kernels:
            has = ", ".join(self.kernels) or "none"
            raise NotFound(f"The program has no kernel {name!r}; its kernels are: {has}.", field="kernel", allowed=has)
        return self.kernels[name]

    def image(self) -> bytes:
        """The program as it lies in memory from `REGION_BASE` on."""
        return flat_image(self.elf)

    def to_json(self) -> str:
        """For the cache and for messages."""
        return json.dumps({**asdict(self), "layout": LAYOUT, "elf": base64.b64encode(self.elf).decode()})

    @classmethod
    def from_json(cls, text: str) -> Program:
        """What `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: It is something else, or another version's.
        """
        raw = dict(json.loads(text))
        if raw.pop("layout") != LAYOUT:
            raise ValueError("its launch has another layout")
        kernels = {}
        for name, fields in dict(raw.pop("kernels")).items():
            arguments = tuple(Argument(**argument) for argument in fields["arguments"])
            sizes = {field: tuple(fields[field]) for field in ("group_size", "tile")}
            kernels[name] = Kernel(**{**fields, "arguments": arguments, **sizes})
        return cls(**{**raw, "elf": base64.b64decode(raw["elf"]), "kernels": kernels})


def segments(elf: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Address, bytes and size in memory of everything an ELF file loads.

    Raises:
        InvalidRequest: It is no ELF file for 32-bit RISC-V.
    """
    if elf[:6] != b"\x7fELF\x01\x01" or _HEADER.unpack_from(elf)[2] != 243:
        raise InvalidRequest("This is not an ELF file for little-endian 32-bit RISC-V.", field="program")
    header = _HEADER.unpack_from(elf)
    for k in range(header[10]):
        kind, offset, address, _, stored, size, _, _ = _SEGMENT.unpack_from(elf, header[5] + k * header[9])
        if kind == 1 and size:
            yield address, elf[offset : offset + stored], size


def flat_image(elf: bytes) -> bytes:
    """What lies from `REGION_BASE` on, in one piece."""
    image = bytearray()
    for address, data, size in segments(elf):
        if REGION_BASE <= address < LOCAL_BASE:
            at = address - REGION_BASE
            image.extend(bytes(max(0, at + size - len(image))))
            image[at : at + len(data)] = data
    return bytes(image)


def _sections(elf: bytes) -> list[tuple[int, ...]]:
    header = _HEADER.unpack_from(elf)
    return [_SECTION.unpack_from(elf, header[6] + k * header[11]) for k in range(header[12])]


def section_sizes(elf: bytes) -> dict[str, int]:
    """Name to bytes of the sections of an ELF file, in their order."""
    sections = _sections(elf)
    names = sections[_HEADER.unpack_from(elf)[13]][4]
    found: dict[str, int] = {}
    for section in sections:
        begin = names + section[0]
        found[elf[begin : elf.index(b"\0", begin)].decode(errors="replace")] = section[5]
    return found


def symbols(elf: bytes) -> dict[str, int]:
    """Name to address of the symbols an ELF file defines; in an object file, their places in their sections."""
    sections = _sections(elf)
    found: dict[str, int] = {}
    for section in sections:
        if section[1] != 2:
            continue
        strings = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, value, _, _, _, index = _SYMBOL.unpack_from(elf, at)
            if name and index:
                end = elf.index(b"\0", strings + name)
                found[elf[strings + name : end].decode(errors="replace")] = value
    return found


def local_bytes(elf: bytes) -> int:
    """Local memory the program's `__local` variables take."""
    return max((address + size - LOCAL_BASE for address, _, size in segments(elf) if address >= LOCAL_BASE), default=0)
