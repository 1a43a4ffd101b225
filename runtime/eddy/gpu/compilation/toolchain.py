# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The compiler of kernels: clang and lld of the `ziglang` wheel, and the flags of both floating-point variants."""

from __future__ import annotations

import functools
from importlib import metadata, util
from pathlib import Path
from typing import ClassVar

from eddy.core.errors import EddyError
from eddy.host.distribution import install_hint

LIBRARY = Path(__file__).resolve().parents[1] / "library"

TARGET = ("--target=riscv32-unknown-none-elf", "-mno-relax", "-mcmodel=medany")
# Atomics come with lr and sc, which the cores do not have; with amocas the compiler has no use for them on words.
HARD = ("-march=rv32imaf_zicsr_zacas", "-mabi=ilp32f")
SOFT = ("-march=rv32ima_zicsr_zacas", "-mabi=ilp32")
CODE = (
    *("-O3", "-ffreestanding", "-nostdinc", "-fno-math-errno", "-fno-pic", "-fno-ident"),
    # An access to address 0 faults as any other outside the windows, and what is never reached is a trap: otherwise
    # clang ends a function there, and lanes go on into whatever lies behind it.
    *("-fno-delete-null-pointer-checks", "-mllvm", "-trap-unreachable"),
    # Two roundings unless the program says otherwise (gpu/compilation/contraction.py).
    "-ffp-contract=off",
    *("-ffunction-sections", "-fdata-sections", "-msmall-data-limit=0"),
    # What bounds the stacks (gpu/compilation/stack.py) follows every way through a program, so none goes over a
    # computed address.
    *("-fno-jump-tables", "-mllvm", "-enable-machine-outliner=never"),
    # gp holds the launch block, tp the lane's context, t6 the work-item's local id.
    *("-ffixed-x3", "-ffixed-x4", "-ffixed-x31"),
    # Blocks in the order of the source: lanes that part meet again where their ways do, since the lowest address goes
    # first. Measured: twice as fast for k-means, nowhere slower.
    *("-mllvm", "-disable-block-placement"),
    # Loops of unknown length four rounds at a time, and instructions in the order that suits a pipeline in which loads
    # and products take a few cycles (docs/decisions/compiling-kernels.md).
    *("-Xclang", "-target-feature", "-Xclang", "+no-default-unroll", "-mllvm", "-unroll-max-count=4"),
    "-mtune=rocket-rv32",
)
OPENCL = (
    *("-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc"),
    # In C99 an inline function that is called and not inlined is undefined; programs expect it to be there.
    "-fgnu89-inline",
    *("-cl-kernel-arg-info", "-fno-color-diagnostics", "-ferror-limit=20", "-fno-crash-diagnostics"),
    # Built-in functions have up to 48 forms; named one by one they would leave no room for the next error.
    "-fshow-overloads=best",
    *("-Xclang", "-disable-pragma-debug-crash", "-Wno-builtin-macro-redefined", "-Wno-unused-function"),
    # What would tell when and where a kernel was compiled, and make compilations differ.
    *('-D__DATE__="Jan  1 1970"', '-D__TIME__="00:00:00"', '-D__TIMESTAMP__="Thu Jan  1 00:00:00 1970"'),
    *('-D__FILE__="kernel.cl"', '-D__BASE_FILE__="kernel.cl"', '-D__FILE_NAME__="kernel.cl"'),
)
_ATOMICS = ",".join(
    f"+cl_khr_{space}_int32_{kind}_atomics" for space in ("global", "local") for kind in ("base", "extended")
)
SINGLE_CONSTANTS = "-cl-single-precision-constant"
SINGLE = ("-Xclang", f"-cl-ext=-all,{_ATOMICS},+cl_khr_fp16", SINGLE_CONSTANTS)
DOUBLE = ("-Xclang", f"-cl-ext=-all,{_ATOMICS},+cl_khr_fp16,+cl_khr_fp64")
"""Extensions, and what a literal is: of sources without `double`, and with it."""
LATER = ("-cl-std=CL3.0", "-Xclang", "-cl-ext=+__opencl_c_generic_address_space")
"""For sources of OpenCL C 2.0 and 3.0. Every address space is the same memory, so pointers may be generic."""
LATER_DOUBLE = (*LATER, "-Xclang", "-cl-ext=+__opencl_c_fp64")
READ = ("-Xclang", "-disable-llvm-passes", "-fno-discard-value-names", "-S", "-emit-llvm", "-o", "-", "-")
"""A source as LLVM IR, as the front end leaves it."""


class CompilerMissing(EddyError):
    """The wheel with the compiler is not installed; the message names the command that brings it."""

    code: ClassVar[str] = "compiler-missing"


@functools.lru_cache(maxsize=1)
def executable() -> str:
    """Path of the program that is clang and lld.

    Raises:
        CompilerMissing: The wheel is not there.
    """
    spec = util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "zig"
        if path.is_file():
            return str(path.resolve())
    raise CompilerMissing(f"Kernels cannot be compiled here: install the compiler with: {install_hint('kernels')}")


@functools.lru_cache(maxsize=1)
def version() -> str:
    """Version of the wheel."""
    executable()
    return metadata.version("ziglang")


def machine(fpu: bool) -> tuple[str, ...]:
    """Flags of the cores' instruction set."""
    return (*TARGET, *(HARD if fpu else SOFT))
