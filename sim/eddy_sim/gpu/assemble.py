# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Assembles test programs for the GPU with the clang of the `ziglang` wheel, each once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from eddy_sim.gpu.elf import ElfProgram, read_elf
from eddy_sim.tools.products import ignore_progress, product
from eddy_sim.tools.toolchain import BuildFailed, versions

TARGET = ("--target=riscv32-unknown-none-elf", "-march=rv32imf_zicsr_zifencei", "-mabi=ilp32f")
C_FLAGS = ("-O2", "-ffreestanding", "-nostdinc", "-ffp-contract=off", "-Wall", "-Werror")
LINKER_SCRIPT = """
ENTRY(_start)
SECTIONS {
  . = 0x80000000;
  .text : { *(.text.init) *(.text .text.*) }
  . = ALIGN(64);
  .tohost : { *(.tohost) }
  . = ALIGN(64);
  .data : { *(.data .data.* .rodata .rodata.* .sdata .sdata.*) }
  .bss : { *(.bss .bss.* .sbss .sbss.*) }
  . = ALIGN(64);
  _end = .;
}
"""


def assemble(text: str, c: str = "", flags: Sequence[str] = C_FLAGS) -> Path:
    """The ELF file of an assembly source (preprocessed as `.S`) and, if given, a C source beside it.

    Raises:
        BuildFailed: The assembler, compiler or linker refused; the message holds what it said.
    """
    digest = hashlib.sha256(repr((text, c, tuple(flags), TARGET, LINKER_SCRIPT, versions())).encode())

    def make(work: Path) -> None:
        (work / "program.S").write_text(text, encoding="utf-8")
        (work / "program.ld").write_text(LINKER_SCRIPT, encoding="utf-8")
        _tool(work, "clang", *TARGET, "-c", "program.S", "-o", "program.o")
        objects = ["program.o"]
        if c:
            (work / "more.c").write_text(c, encoding="utf-8")
            _tool(work, "clang", *TARGET, *flags, "-c", "more.c", "-o", "more.o")
            objects.append("more.o")
        _tool(work, "ld.lld", "-T", "program.ld", *objects, "-o", "out")

    return product(f"gpu_program-{digest.hexdigest()[:16]}.elf", make, ignore_progress)


def program(text: str, c: str = "", flags: Sequence[str] = C_FLAGS) -> ElfProgram:
    """Like `assemble`, read back."""
    return read_elf(assemble(text, c, flags))


def _tool(work: Path, *command: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ziglang", *command],
        cwd=work,
        env={**os.environ, "ZIG_LOCAL_CACHE_DIR": str(work / ".zig-cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        said = "\n".join(result.stdout.splitlines()[-30:])
        raise BuildFailed(f"{command[0]} failed (exit {result.returncode}):\n{said}", exit=result.returncode)
