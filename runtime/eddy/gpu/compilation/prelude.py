# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes before a tenant's source: launch tables, built-in functions of OpenCL C, the caller's definitions."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from eddy.core.errors import InvalidRequest
from eddy.gpu.compilation import builtins
from eddy.gpu.compilation.halves import uses_half
from eddy.gpu.compilation.toolchain import LIBRARY
from eddy.gpu.programs.layout import c_header

_SAMPLER = re.compile(
    r"//[^\n]*|/\*.*?\*/|[{}]|"
    r"^(?P<indent>[ \t]*)(?:static[ \t]+)?(?:const[ \t]+sampler_t\b|sampler_t\b(?=[ \t]+\w+[ \t]*=))",
    re.M | re.S,
)
"""A sampler of the program, which is a number here, outside comments; and braces, which tell what is of a function."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}(?:\([\w, ]{0,128}(?:\.\.\.)?\))?\Z", re.A)
"""A macro, with parameters or without."""
_OFF, _ON = "#pragma OPENCL FP_CONTRACT OFF\n", "\n#pragma OPENCL FP_CONTRACT DEFAULT"
_VALUE = re.compile(r"[ -~]{0,256}\Z")


@functools.lru_cache(maxsize=4)
def base(doubles: bool = False, halves: bool = False) -> str:
    """What every kernel source has before it.

    Args:
        doubles: Whether the source uses `double`.
        halves: Whether it uses `half`.
    """
    uses = ("#define EDDY_DOUBLES\n" if doubles else "") + ("#define EDDY_HALVES\n" if halves else "")
    return c_header() + uses + (LIBRARY / "opencl.h").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=1)
def everything() -> str:
    """All that may come before a source."""
    return base() + repr(builtins.sections())


def definitions(defines: Mapping[str, object]) -> str:
    """Macros of the caller, one line each.

    Raises:
        InvalidRequest: A name is no identifier, or a value is not one line of plain text.
    """
    lines = []
    for name, value in defines.items():
        text = str(value)
        if not _NAME.match(name) or not _VALUE.match(text) or text.endswith("\\"):
            message = f"Definition {name!r} must be an identifier with a value of at most 256 printable characters."
            raise InvalidRequest(message, field=f"defines.{name[:64]}")
        lines.append(f"#define {name} {text}\n")
    return "".join(lines)


def complete(
    source: str,
    defines: Mapping[str, object],
    doubles: bool = False,
    functions: bool = True,
    made: str | None = "",
) -> bytes:
    """A tenant's source with all that goes before it; its own lines keep their numbers, as `kernel.cl`.

    Args:
        source: OpenCL C.
        defines: Macros.
        doubles: Whether it uses `double`.
        functions: Whether it is to have the built-in functions it names.
        made: Text with names that it makes by pasting tokens; None where it may make any.
    """
    macros = definitions(defines)
    halves = made is None or uses_half(macros, source, made)
    named = builtins.text_for(macros + source, made, halves) if functions else ""
    source = _with_constant_samplers(source.removeprefix("\ufeff"))
    # What the library computes is rounded as its errors say, whatever the options are.
    text = (
        f'# 1 "opencl.h"\n{_OFF}{base(doubles, halves)}{named}{_ON}\n# 1 "defines"\n{macros}# 1 "kernel.cl"\n{source}\n'
    )
    return text.encode()


def _with_constant_samplers(source: str) -> str:
    """A source whose samplers outside functions are constants; one at the start of a line is always."""
    depth = 0

    def replace(found: re.Match[str]) -> str:
        nonlocal depth
        indent = found["indent"]
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        return found[0] if indent is None or (indent and depth > 0) else f"{indent}__constant sampler_t"

    return _SAMPLER.sub(replace, source) if "sampler_t" in source else source
