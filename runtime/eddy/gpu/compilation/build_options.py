# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Build options as `clBuildProgram` takes them: one line of text into macros, folders and the fate of warnings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from eddy.core.errors import InvalidRequest

MAX_OPTION_CHARACTERS = 4096
_FIELD = "options"
_ALREADY = frozenset(
    {
        *("-cl-fp32-correctly-rounded-divide-sqrt", "-cl-kernel-arg-info"),
        *("-cl-std=CL1.0", "-cl-std=CL1.1", "-cl-std=CL1.2"),
    }
)
"""What is so without being asked for."""
_LATER = frozenset({"-cl-std=CL2.0", "-cl-std=CL3.0"})
"""What makes a source one of OpenCL C 3.0, whose features are optional, with those that there are."""
_PERMISSIONS = frozenset(
    {
        *("-cl-denorms-are-zero", "-cl-opt-disable", "-cl-strict-aliasing", "-cl-no-signed-zeros"),
        "-cl-finite-math-only",
    }
)
"""What the compiler may do then, and does not: results stay the same bit for bit."""
_CONTRACT = frozenset({"-cl-mad-enable", "-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math"})
"""What lets a product and a sum of one expression be rounded once."""
_NO_MEANING = re.compile(r"-g|-O[0-3]|-cl-nv-[a-z-]+(?:=\d+)?")
"""What other implementations take beside the specification, and what has no meaning here."""
_SINGLE_CONSTANTS = "-cl-single-precision-constant"
_WARNINGS = {"-w": "none", "-Werror": "errors"}


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What a line of options says.

    Attributes:
        defines: Macros.
        folders: Where headers are looked for besides beside the file that names them; names, of nothing on any disk.
        warnings: What becomes of them: "said", "none" or "errors".
        single_constants: Whether literals are `float` also in a source that uses `double`.
        contract: Whether a product and a sum of one expression are rounded once.
        later: Whether the source is of OpenCL C 2.0 or 3.0.
    """

    defines: dict[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    warnings: str = "said"
    single_constants: bool = False
    contract: bool = False
    later: bool = False


def parse(text: str) -> BuildOptions:
    """The options of a line.

    Raises:
        InvalidRequest: One of them is not known, or its value is missing; the message names it.
    """
    if len(text) > MAX_OPTION_CHARACTERS:
        raise _refused(f"Build options have {len(text)} characters; {MAX_OPTION_CHARACTERS} are allowed.")
    try:
        words = iter(shlex.split(text))
    except ValueError as error:
        raise _refused(f"Build options cannot be read: {error}. Close every quote.") from None
    defines: dict[str, str] = {}
    folders: list[str] = []
    warnings, single_constants, contract, later = "said", False, False, False
    for word in words:
        if word.startswith("-D"):
            name, equals, value = _value("-D", word, words).partition("=")
            defines[name] = value if equals else "1"
        elif word.startswith("-I"):
            folders.append(_value("-I", word, words))
        elif word == _SINGLE_CONSTANTS:
            single_constants = True
        elif word in _WARNINGS:
            warnings = _WARNINGS[word]
        elif word in _LATER:
            later = True
        elif word in _CONTRACT:
            contract = True
            defines |= {"__FAST_RELAXED_MATH__": "1"} if word == "-cl-fast-relaxed-math" else {}
        elif word not in _ALREADY | _PERMISSIONS and not _NO_MEANING.fullmatch(word):
            plain = (_SINGLE_CONSTANTS, *_WARNINGS, *_PERMISSIONS, *_CONTRACT, *_ALREADY, *_LATER)
            known = sorted(("-D NAME[=TEXT]", "-I FOLDER", "-O0 to -O3", "-g", *plain))
            raise _refused(f"Build option {word[:64]!r} is not known; there are {', '.join(known)}.", known)
    return BuildOptions(defines, tuple(folders), warnings, single_constants, contract, later)


def _value(option: str, word: str, rest: Iterator[str]) -> str:
    value = word.removeprefix(option) or next(rest, "")
    if not value:
        raise _refused(f"Build option {option} takes a value.")
    return value


def _refused(message: str, allowed: object = None) -> InvalidRequest:
    return InvalidRequest(message, field=_FIELD, **({} if allowed is None else {"allowed": allowed}))
