# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compiles and links C++ with the clang of the `ziglang` wheel, against a C++ library of its own.

A small model is compiled in less time than Verilator's headers are read. They are read once for each set of flags, and
kept as a precompiled header.

`zig c++` would build all of libc++ from source, optimised, before its first link: half of what a first start takes.
Models need a third of it, and nothing of it where they spend their time. So that third is compiled once, not optimised,
into an archive, and everything is linked against that.

No product runs destructors of static variables. They would only give back memory of a process that ends, and a thread
that still steps a board then would find its mutexes destroyed.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eddy_sim.tools.products import Progress, ignore_progress, product
from eddy_sim.tools.toolchain import BuildFailed, package_folder, run, verilator_root, versions

TARGET_FLAGS = ("-fPIC", "-mcpu=baseline", "-fno-sanitize=all", "-g0", "-fno-c++-static-destructors")
COMPILE_FLAGS = (
    *("-std=c++17", "-O3", "-fvisibility=hidden", *TARGET_FLAGS),
    *("-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-DVM_TIMING=0", "-Wno-everything"),
)
LINK_FLAGS = ("-shared", "-O3", "-nostdlib++", "-mcpu=baseline", "-fno-sanitize=all", "-Wl,-Bsymbolic")

LIBCXX = (
    *("algorithm", "call_once", "chrono", "condition_variable", "condition_variable_destructor", "error_category"),
    *("exception", "functional", "future", "hash", "ios", "ios.instantiations", "locale", "memory", "mutex", "new"),
    *("new_handler", "new_helpers", "optional", "stdexcept", "string", "system_error", "thread", "typeinfo"),
    *("variant", "vector", "verbose_abort"),
)
"""Sources of libc++ that Verilator's runtime and our own C++ need. One that is missing shows as an undefined symbol."""
_APART = ("condition_variable_destructor", "error_category", "memory")
"""Those of them that ask something else of the library's headers, and cannot be in a unit with others."""
LIBCXXABI = (
    *("abort_message", "cxa_aux_runtime", "cxa_default_handlers", "cxa_demangle", "cxa_exception"),
    *("cxa_exception_storage", "cxa_guard", "cxa_handlers", "cxa_personality", "cxa_thread_atexit", "cxa_vector"),
    *("cxa_virtual", "fallback_malloc", "private_typeinfo", "stdlib_exception", "stdlib_new_delete"),
    *("stdlib_stdexcept", "stdlib_typeinfo"),
)
_LIBRARY_FLAGS = (
    *("-c", "-std=c++23", "-O0", "-fvisibility=hidden", *TARGET_FLAGS, "-DNDEBUG", "-Wno-everything"),
    *("-D_LIBCPP_BUILDING_LIBRARY", "-DLIBCXX_BUILDING_LIBCXXABI", "-D_LIBCXXABI_BUILDING_LIBRARY"),
    "-DLIBCXXABI_USE_LLVM_UNWINDER",
)


def key(*parts: str) -> str:
    """Sixteen hex digits that stand for what a product is made of, tools and flags included."""
    digest = hashlib.sha256(repr((COMPILE_FLAGS, LINK_FLAGS, LIBCXX, LIBCXXABI, _LIBRARY_FLAGS, versions())).encode())
    for part in parts:
        digest.update(b"\0" + part.encode())
    return digest.hexdigest()[:16]


def compile_objects(sources: Iterable[Path], folder: Path, *flags: str) -> list[Path]:
    """Compile C++ files to one object each.

    Raises:
        BuildFailed: The compiler refused; the message holds what it said.
    """
    include = verilator_root() / "include"
    headers = (f"-I{include}", f"-I{include / 'vltstd'}")
    objects = []
    for source in sources:
        objects.append(folder / f"{source.stem}.o")
        command = ["c++", *COMPILE_FLAGS, *flags, *headers, "-c", str(source), "-o", str(objects[-1])]
        _zig(command, f"compiling {source.name}", folder)
    return objects


def verilated_headers(optimisation: str = "-O3", progress: Progress = ignore_progress) -> tuple[str, str]:
    """Flags of `compile_shared` for a unit that starts with Verilator's headers: they need not be read again.

    Args:
        optimisation: The `-O` flag with which the unit is compiled.
        progress: Told what is being built.

    Raises:
        BuildFailed: The compiler refused; the message holds what it said.
    """
    return precompile_header("verilated.h", (*COMPILE_FLAGS, optimisation), progress)


def precompile_header(header: str, flags: Sequence[str], progress: Progress = ignore_progress) -> tuple[str, str]:
    """Flags that give the compiler one of Verilator's headers, and what it includes, as read before.

    Args:
        header: Name of the header; its unit must include it, or what it includes, before anything else.
        flags: What the unit is compiled with.
        progress: Told what is being built.

    Raises:
        BuildFailed: The compiler refused; the message holds what it said.
    """
    include = verilator_root() / "include"
    library = package_folder("ziglang") / "lib" / "libcxx" / "include" / "__config"
    # The compiler refuses what it read from files that were replaced since, though they have the same text.
    found = [f"{path} {path.stat().st_mtime_ns}" for path in (include / header, library)]

    def make(work: Path) -> None:
        headers = (f"-I{include}", f"-I{include / 'vltstd'}", "-include", "verilated_dpi.h")
        command = ["c++", *flags, *headers, "-x", "c++-header", str(include / header), "-o", str(work / "out")]
        _zig(command, f"reading {header}", work)

    return "-include-pch", str(product(f"headers-{key(header, *flags, *found)}.pch", make, progress))


def compile_shared(
    sources: Iterable[Path],
    output: Path,
    *flags: str,
    objects: Iterable[Path] = (),
    progress: Progress = ignore_progress,
) -> None:
    """Compile C++ files and link them to a shared object, with further objects where given.

    Raises:
        BuildFailed: The compiler or the linker refused; the message holds what it said.
    """
    library = cxx_library(progress)
    compiled = compile_objects(sources, output.parent, *flags)
    linked = [*map(str, (*compiled, *objects, library)), "-lunwind", "-o", str(output)]
    _zig(["c++", *LINK_FLAGS, *linked], f"linking {output.name}", output.parent)


def cxx_library(progress: Progress = ignore_progress) -> Path:
    """The C++ library as an archive, built where missing. Its files are a few units: headers are read as often.

    Raises:
        BuildFailed: The compiler refused; the message holds what it said.
    """

    def make(work: Path) -> None:
        root = package_folder("ziglang") / "lib"
        headers = (f"-I{root / 'libcxxabi' / 'include'}", f"-I{root / 'libcxx' / 'src'}")
        together = [root / "libcxx" / "src" / f"{name}.cpp" for name in LIBCXX if name not in _APART]
        apart = [[root / "libcxx" / "src" / f"{name}.cpp"] for name in _APART]
        abi = [root / "libcxxabi" / "src" / f"{name}.cpp" for name in LIBCXXABI]

        def compile_unit(number: int, sources: Sequence[Path]) -> str:
            unit = work / f"unit{number}.cpp"
            unit.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
            output = str(unit.with_suffix(".o"))
            command = ["c++", *_LIBRARY_FLAGS, *headers, str(unit), "-o", output]
            _zig(command, f"compiling the C++ library's {sources[0].stem}", work)
            return output

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_unit, itertools.count(), (together, abi, *apart)))
        _zig(["ar", "rcs", str(work / "out"), *objects], "archiving the C++ library", work)

    return product(f"cxx-{key('library')}.a", make, progress)


def _zig(arguments: Sequence[str], what: str, folder: Path) -> None:
    run([sys.executable, "-m", "ziglang", *arguments], what, {"ZIG_LOCAL_CACHE_DIR": str(folder / ".zig-cache")})


__all__ = [
    "BuildFailed",
    "compile_objects",
    "compile_shared",
    "cxx_library",
    "key",
    "precompile_header",
    "verilated_headers",
]
