# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds what is shipped compiled, for every platform it is shipped for, from its C files: the market's loops, the
fast cluster model of the study of [001], the queueing model of `eddy_slowdown`, and the OpenCL platform's library.

    .venv/bin/python tools/native_kernels.py           write the objects
    .venv/bin/python tools/native_kernels.py --check   build them again and compare, byte by byte

The `ziglang` wheel compiles for all of them on any of them, and makes the same bytes each time. The objects need no C
library, but for the OpenCL platform's, which needs glibc 2.17 (manylinux2014). Tests run the check.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

RUNTIME = Path(__file__).parents[1] / "runtime" / "eddy"
TARGETS = {
    "linux-x86_64": ("x86_64-linux-gnu", "x86_64"),
    "linux-x86_64-v3": ("x86_64-linux-gnu", "x86_64_v3"),
    "linux-aarch64": ("aarch64-linux-gnu", "cortex_a53"),
}
"""Name of an object: target and processor. A ZCU106's four cores are Cortex-A53."""
HOST_LIBRARY = ".2.17"
"""Oldest glibc of what uses one; behind the target's name."""


@dataclass(frozen=True)
class ShippedObject:
    """What is compiled together.

    Attributes:
        folder: Where its sources are, and where its objects go.
        math: Whether it computes with floating point, and may round as is fastest.
        hosted: Whether it uses the C library of the program that loads it.
    """

    folder: Path
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    math: bool
    hosted: bool = False


SHIPPED = (
    ShippedObject(RUNTIME / "market" / "native", ("market.c", "path.c"), tuple(TARGETS), True),
    ShippedObject(
        RUNTIME.parents[1] / "studies" / "eddy_studies" / "hsm" / "native",
        ("cluster.c", "memory.c"),
        ("linux-x86_64", "linux-aarch64"),
        False,
    ),
    ShippedObject(RUNTIME / "model" / "native", ("queue.c",), ("linux-x86_64", "linux-aarch64"), True),
    ShippedObject(
        RUNTIME / "opencl" / "native",
        tuple(sorted(path.name for path in (RUNTIME / "opencl" / "native").glob("*.c"))),
        ("linux-x86_64", "linux-aarch64"),
        math=False,
        hosted=True,
    ),
)
FLAGS = (
    *("-std=c11", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-g0"),
    *("-shared", "-s", "-Wall", "-Wextra", "-Wno-pass-failed"),
)
FREESTANDING = ("-O3", "-fno-builtin", "-nostdlib")
HOSTED = ("-O2", "-D_GNU_SOURCE", "-I../vortex/include", "-I../vortex/device")


def built(shipped: ShippedObject, name: str, folder: Path) -> Path:
    """The object of this name, built into the folder."""
    target, processor = TARGETS[name]
    output = folder / f"{name}.so"
    fast = ["-ffast-math"] if shipped.math else []
    if shipped.hosted:
        target += HOST_LIBRARY
    kind = HOSTED if shipped.hosted else FREESTANDING
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, f"-mcpu={processor}", *fast, *FLAGS, *kind]
    libraries = ("-lpthread",) if shipped.hosted else ()
    subprocess.run([*command, "-o", str(output), *shipped.sources, *libraries], cwd=shipped.folder, check=True)
    output.chmod(0o644)
    return output


def stale(shipped: ShippedObject) -> list[str]:
    """Names of shipped objects that are not what their source makes."""

    def same(name: str, scratch: str) -> bool:
        kept = shipped.folder / f"{name}.so"
        return kept.is_file() and built(shipped, name, Path(scratch)).read_bytes() == kept.read_bytes()

    with tempfile.TemporaryDirectory() as scratch:
        return [name for name in shipped.targets if not same(name, scratch)]


def main() -> int:
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    failed = False
    for shipped in SHIPPED:
        for name in stale(shipped) if check else ():
            print(
                f"{shipped.folder / name}.so is not what its sources make; run {Path(__file__).name}", file=sys.stderr
            )
            failed = True
        for name in () if check else shipped.targets:
            print(f"{built(shipped, name, shipped.folder)}: {(shipped.folder / f'{name}.so').stat().st_size} bytes")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
