# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What of a Verilated model is compiled: all of Verilator's output, the C++ around it and its data files, as one unit.

One unit, so that calls can be inlined. Data files are part of the shared object: it needs no file of the machine, and
two modules whose files have one name have each their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from eddy_sim.tools.filelist import data_files

CPP = Path(__file__).resolve().parents[1] / "cpp"
LITERAL_BYTES = 4096
"""Bytes of a data file in one string of the source."""
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')


def write_unit(unit: Path, generated: Path, main: Path, files: Iterable[Path]) -> None:
    """Write the unit of a model.

    Args:
        unit: The file.
        generated: Folder of Verilator's output.
        main: The C++ around the model.
        files: What the model was made of; its data files are taken.
    """
    # A block has no exports to C.
    parts = [part for part in sorted(generated.glob("*.cpp")) if not part.name.endswith("__Dpi.cpp")]
    included = "".join(f'#include "{part}"\n' for part in (*parts, main))
    unit.write_text(included + data_source(data_files(files)), encoding="utf-8")


def data_source(files: Iterable[Path]) -> str:
    """C++ that gives a model its data files; nothing where it has none."""
    entries = [f'    {{"{_name(file)}",\n{_literal(file.read_bytes())}}},\n' for file in files]
    if not entries:
        return ""
    return (
        f'#include "{CPP / "model_files.h"}"\nstatic const ModelFile eddy_files[] = {{\n{"".join(entries)}}};\n'
        f"static const ModelFiles eddy_given(eddy_files, {len(entries)});\n"
    )


def _literal(data: bytes) -> str:
    """A file's bytes as a string of C++, and their number."""
    pieces = [data[start : start + LITERAL_BYTES] for start in range(0, len(data), LITERAL_BYTES)] or [b""]
    lines = (f'     "{"".join(_letter(value) for value in piece)}"' for piece in pieces)
    return "\n".join(lines) + f",\n     {len(data)}"


def _name(file: Path) -> str:
    """A file's name inside a string of C++: a list of others may call it anything."""
    return "".join(map(_letter, os.fsencode(file.name)))


def _letter(value: int) -> str:
    # Three octal digits are never read together with a digit that follows.
    return chr(value) if value in _PLAIN else f"\\{value:03o}"
