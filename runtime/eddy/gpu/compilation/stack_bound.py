# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stacks of kernels: as large as they need; one that needs too much, or without bound, is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from eddy.core.errors import CompilationFailed
from eddy.core.units import format_bytes
from eddy.gpu.compilation.stack import StackNeeds, StackUnbounded, UnsupportedInstruction
from eddy.gpu.programs.layout import MAX_STACK_BYTES, STACK_BYTES
from eddy.gpu.programs.program import flat_image, symbols
from eddy.gpu.programs.signature import Kernel
from eddy.gpu.work_items.ir_pieces import source_name

_FUNCTION = re.compile(
    r'^!\d+ = distinct !DISubprogram\(name: "(\w+)"(?:, linkageName: "(\w+)")?.*?, file: (!\d+), line: (\d+)', re.M
)
_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "([^"]*)"', re.M)


def lines(ir: str) -> dict[str, tuple[str, str, int]]:
    """Name in the program to name, file and line in the source, of the functions of a module with line tables."""
    files = dict(_FILE.findall(ir))
    return {
        linked or name: (name, files.get(file, ""), int(line)) for name, linked, file, line in _FUNCTION.findall(ir)
    }


def with_stacks(kernels: Mapping[str, Kernel], elf: bytes, ir: Callable[[], str]) -> dict[str, Kernel]:
    """Kernels with the stack their work-items need.

    Args:
        kernels: By name, their stubs known.
        elf: The program.
        ir: Gives the source's LLVM IR with line tables.

    Raises:
        CompilationFailed: The cores do not have an instruction of it, or a need has no bound or is above
            `MAX_STACK_BYTES`; `details` has `asked`, bytes or "unbounded", and `allowed`, bytes.
    """
    needs = StackNeeds(flat_image(elf), symbols(elf))
    made = {}
    for name, kernel in kernels.items():
        try:
            stubs = (kernel.stub, kernel.loop_stub, kernel.tile_stub, kernel.join_stub)
            asked = max(needs.of_kernel(stub) for stub in stubs if stub)
        except UnsupportedInstruction as error:
            function = needs.name(int(error.details["function"]))
            raise _refused(error.message, function, ir(), "lr") from error
        except StackUnbounded as error:
            function = needs.name(int(error.details["function"]))
            raise _refused(
                f"{error.message}; at most {format_bytes(MAX_STACK_BYTES)} are allowed", function, ir()
            ) from error
        if asked > MAX_STACK_BYTES:
            why = f"needs {format_bytes(asked)} of stack a work-item, and {format_bytes(MAX_STACK_BYTES)} are allowed;"
            why += " use global memory"
            raise _refused(why, name, ir(), asked)
        made[name] = replace(kernel, stack_bytes=max(asked, STACK_BYTES), frame_bytes=asked)
    return made


def _refused(why: str, function: str, ir: str, asked: int | str = "unbounded") -> CompilationFailed:
    linked = source_name(function)
    name, file, line = lines(ir).get(linked, (linked, "", 0))
    file = file or "kernel.cl"
    message = f"'{name}' {why}"
    entry = {"file": file, "line": line, "column": int(line > 0), "severity": "error", "message": message}
    where = f"{file}:{line}:1" if line else file
    said = f"{where}: error: {message}"
    return CompilationFailed(said, diagnostics=[entry], asked=asked, allowed=MAX_STACK_BYTES)
