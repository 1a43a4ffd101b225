# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The built-in functions of OpenCL C as text: a source gets those it names, since declaring all of them takes long.

The headers `builtins_*.h` of the library are made of sections. Each begins with a line `//@ name ...` that says what it
defines, and is put before a source that has one of the names, with the sections that it names itself. A source that
pastes tokens may make any name, so the names are those that the preprocessor leaves; where it refuses, all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eddy.gpu.compilation.halves import PREFIX, by_way_of_float, where_used
from eddy.gpu.compilation.toolchain import LIBRARY
from eddy.gpu.programs.signature import TYPES

WIDTHS = ("", "2", "3", "4", "8", "16")
MODES = ("rte", "rtz", "rtp", "rtn")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_PASTES = re.compile(r"##|%:%:|\?\?=\?\?=")
_OWN = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(M_\w+)", re.M)
"""A constant of mathematics that a source defines itself; defined here too, every compilation would warn of it."""
_HEAD = "//@"
_LAST = "builtins_half.h"
"""What is made of the others."""
_REALS = ("float", "double", "half")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a header.

    Attributes:
        place: Its position among all; sections keep their order.
        names: What it defines.
        text: Its lines.
    """

    place: int
    names: tuple[str, ...]
    text: str


@functools.lru_cache(maxsize=1)
def sections() -> Mapping[str, Section]:
    """Every section, by each of the names it defines."""
    found: dict[str, Section] = {}
    paths = sorted(LIBRARY.glob("builtins_*.h"), key=lambda path: (path.name == _LAST, path.name))
    parts = [(path.name, part) for path in paths for part in path.read_text(encoding="utf-8").split(f"\n{_HEAD}")[1:]]
    for place, (of, part) in enumerate(parts):
        names, _, body = part.partition("\n")
        text = body.rstrip() + "\n"
        section = Section(place, tuple(names.split()), where_used(text) if of == _LAST else text)
        found |= dict.fromkeys(section.names, section)
    for place, (name, text) in enumerate((*conversions(), *by_way_of_float()), start=len(found)):
        found[name] = Section(place, (name,), where_used(text) if name.startswith(PREFIX) else text)
    return MappingProxyType(found)


def conversions() -> Iterator[tuple[str, str]]:
    """Name and text of every `as_T` and `convert_T`, `_sat` and rounding included."""
    for scalar in TYPES:
        for width in WIDTHS:
            kind = scalar + width
            yield f"as_{kind}", f"#define as_{kind}(x) __builtin_astype((x), {kind})\n"
            for saturates in ("",) if scalar in _REALS else ("", "_sat"):
                for mode in ("", *MODES):
                    name = f"convert_{kind}{saturates}{mode and '_'}{mode}"
                    yield name, f"#define {name}(x) {_conversion(scalar, width, bool(saturates), mode)}\n"


def _conversion(scalar: str, width: str, saturates: bool, mode: str) -> str:
    plain = (not saturates and not mode) or (scalar in _REALS and mode == "rte")
    if plain:
        return f"__builtin_convertvector((x), {scalar}{width})" if width else f"(({scalar})(x))"
    if not width:
        return _element(scalar, saturates, mode, "x")
    one = _element(scalar, saturates, mode, "eddy_x[eddy_i]")
    loop = f"for (int eddy_i = 0; eddy_i < {width}; eddy_i++) eddy_r[eddy_i] = {one};"
    return f"({{ const __auto_type eddy_x = (x); {scalar}{width} eddy_r; {loop} eddy_r; }})"


def _element(scalar: str, saturates: bool, mode: str, value: str) -> str:
    if scalar in _REALS:
        return f"eddy_{scalar}_{mode}({value})"
    whole = f"eddy_whole_{mode}({value})" if mode else value
    return f"eddy_sat_{scalar}({whole})" if saturates else f"(({scalar}){whole})"


def pastes(source: str) -> bool:
    """Whether a source may make names that it does not have."""
    return bool(_PASTES.search(_SPLICE.sub("", source)))


def text_for(source: str, made: str | None = "", halves: bool = False) -> str:
    """The sections a source needs, in their order.

    Args:
        source: What is compiled.
        made: Text with names that it makes; None where it may make any.
        halves: Whether it uses `half`.
    """
    known = sections()
    joined = _SPLICE.sub("", source)
    named = set(known) if made is None else {*_WORD.findall(joined), *_WORD.findall(made)} & known.keys()
    waiting = list(named.difference(_OWN.findall(joined)))
    needed: dict[int, str] = {}
    while waiting:
        section = known[waiting.pop()]
        if section.place not in needed:
            needed[section.place] = section.text
            waiting += set(_WORD.findall(section.text)) & known.keys()
            waiting += {f"{PREFIX}{name}" for name in section.names} & known.keys() if halves else ()
    return "".join(needed[place] for place in sorted(needed))
