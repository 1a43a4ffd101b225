# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Units of programs: a source with its headers and options, and several of them as one source (`clLinkProgram`).

The cluster's compiler sees a whole program at once, so units are linked as sources, one behind the other, each with its
own macros. What is only for itself in a unit (`static`, structures, macros of its text) is seen by those behind it.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eddy.opencl.wire import Reader, text

MACROS = (
    *("cl_khr_byte_addressable_store", "cl_khr_fp64", "cl_khr_integer_dot_product"),
    *("__opencl_c_integer_dot_product_input_4x8bit", "__opencl_c_integer_dot_product_input_4x8bit_packed"),
)
LINK_OPTIONS = frozenset({"-create-library", "-enable-link-options", "-cl-denorms-are-zero", "-cl-no-signed-zeros"})
LINK_OPTIONS |= {"-cl-unsafe-math-optimizations", "-cl-finite-math-only", "-cl-fast-relaxed-math"}


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """What is compiled together.

    Attributes:
        options: As `clCompileProgram` took them.
        source: OpenCL C.
        headers: By the names they are included by.
    """

    options: str
    source: str
    headers: Mapping[str, str]

    @classmethod
    def read(cls, reader: Reader) -> SourceUnit:
        """The next of a frame."""
        options, source = reader.text(), reader.text()
        return cls(options, source, {reader.text(): reader.text() for _ in range(reader.u32())})

    def encode(self) -> bytes:
        """As it travels."""
        headers = b"".join(text(name) + text(each) for name, each in self.headers.items())
        return text(self.options) + text(self.source) + struct.pack("<I", len(self.headers)) + headers


class DifferentHeaders(ValueError):
    """Units include different texts by one name."""


def join_units(units: Sequence[SourceUnit]) -> SourceUnit:
    """Several units as one.

    Raises:
        DifferentHeaders: Two include different texts by one name; the message says which.
    """
    if len(units) == 1:
        return units[0]
    headers: dict[str, str] = {}
    for unit in units:
        for name, header in unit.headers.items():
            if headers.setdefault(name, header) != header:
                raise DifferentHeaders(f"two units include different texts as {name!r}; give one of them another name")
    return SourceUnit(
        shlex.join(_without_defines(shlex.split(units[0].options))), "\n".join(map(_with_macros, units)), headers
    )


def with_extensions(options: str) -> str:
    """Options with the macros of the device's extensions that the compiler defines only where it is asked to."""
    defined = {name for name, _ in _defines(shlex.split(options))}
    return " ".join((*(f"-D{name}=1" for name in MACROS if name not in defined), options)).strip()


def _with_macros(unit: SourceUnit) -> str:
    macros = _defines(shlex.split(unit.options))
    begin = "".join(f"#define {name} {text}\n" for name, text in macros)
    return f"{begin}#line 1\n{unit.source}\n" + "".join(f"#undef {name.partition('(')[0]}\n" for name, _ in macros)


def _defines(words: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for at, word in enumerate(words):
        asked = words[at + 1] if word == "-D" and at + 1 < len(words) else word[2:] if word.startswith("-D") else ""
        name, equals, text = asked.partition("=")
        if name:
            found.append((name, text if equals else "1"))
    return found


def _without_defines(words: Sequence[str]) -> list[str]:
    return [word for at, word in enumerate(words) if not word.startswith("-D") and words[at - 1 : at] != ["-D"]]
