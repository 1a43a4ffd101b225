# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Reads ELF files of 32-bit RISC-V programs: what to load where, the entry, the symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM = struct.Struct("<8I")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_RISCV, _LOAD, _SYMTAB = 243, 1, 2


class ElfInvalid(EddyError):
    """Not an ELF file a GPU can run; says what is wrong with it."""

    code: ClassVar[str] = "elf-invalid"


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes to load.

    Attributes:
        address: GPU address of the first.
        data: The bytes of the file.
        size: Bytes in memory, the rest being zero.
    """

    address: int
    data: bytes
    size: int


@dataclass(frozen=True, slots=True)
class ElfProgram:
    """A program.

    Attributes:
        entry: Address of the first instruction.
        segments: What to load.
        symbols: Name to address.
    """

    entry: int
    segments: tuple[Segment, ...]
    symbols: dict[str, int] = field(default_factory=dict)

    @property
    def tohost(self) -> int | None:
        """Where the program says how it ended, in riscv-tests' convention, if it does."""
        return self.symbols.get("tohost")


def read_elf(path: Path) -> ElfProgram:
    """The program in a file.

    Raises:
        ElfInvalid: The file cannot be read, is damaged, or is not for 32-bit RISC-V.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ElfInvalid(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    return parse_elf(data, str(path))


def parse_elf(data: bytes, name: str = "the program") -> ElfProgram:
    """The program in a file's bytes.

    Raises:
        ElfInvalid: It is damaged, or not for 32-bit RISC-V.
    """
    try:
        return _parse(data, name)
    except struct.error as error:
        raise ElfInvalid(f"{name} is cut off or damaged: {error}", path=name) from error


def _parse(data: bytes, name: str) -> ElfProgram:
    ident, _, machine, _, entry, phoff, shoff, _, _, phsize, phnum, shsize, shnum, _ = _HEADER.unpack_from(data)
    if ident[:4] != b"\x7fELF":
        raise ElfInvalid(f"{name} is not an ELF file", path=name)
    if ident[4:6] != b"\x01\x01" or machine != _RISCV:
        raise ElfInvalid(f"{name} is not for little-endian 32-bit RISC-V", path=name)
    segments = []
    for k in range(phnum):
        kind, offset, _, physical, filesz, memsz, _, _ = _PROGRAM.unpack_from(data, phoff + k * phsize)
        if kind != _LOAD or not memsz:
            continue
        if offset + filesz > len(data):
            raise ElfInvalid(f"{name} is cut off: a segment ends behind the end of the file", path=name)
        segments.append(Segment(physical, data[offset : offset + filesz], memsz))
    if not segments:
        raise ElfInvalid(f"{name} has nothing to load", path=name)
    return ElfProgram(entry, tuple(segments), _symbols(data, shoff, shsize, shnum))


def _symbols(data: bytes, shoff: int, shsize: int, shnum: int) -> dict[str, int]:
    symbols: dict[str, int] = {}
    for k in range(shnum):
        _, kind, _, _, offset, size, link, *_ = _SECTION.unpack_from(data, shoff + k * shsize)
        if kind != _SYMTAB:
            continue
        strings = _SECTION.unpack_from(data, shoff + link * shsize)[4]
        for at in range(offset, offset + size, _SYMBOL.size):
            text, value, _, _, _, section = _SYMBOL.unpack_from(data, at)
            if text and section:
                begin = strings + text
                symbols[data[begin : data.index(b"\0", begin)].decode(errors="replace")] = value
    return symbols
