"""Builds the market's compiled kernel for every platform it is shipped for, from its C files.

    .venv/bin/python tools/market_kernel.py           write the objects
    .venv/bin/python tools/market_kernel.py --check   build them again and compare, byte by byte

The `ziglang` wheel compiles for all of them on any of them, and makes the same bytes each time. The objects need no C
library. A test runs the check.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "runtime" / "eddy" / "market" / "native"
SOURCES = ("market.c", "path.c")
BUILDS = {
    "linux-x86_64.so": ("x86_64-linux-gnu", "x86_64"),
    "linux-x86_64-v3.so": ("x86_64-linux-gnu", "x86_64_v3"),
    "linux-aarch64.so": ("aarch64-linux-gnu", "cortex_a53"),
}
"""File name: target and processor. A ZCU106's four cores are Cortex-A53."""
FLAGS = (
    *("-std=c11", "-O3", "-ffast-math", "-fno-builtin", "-fPIC", "-fvisibility=hidden", "-fno-sanitize=all", "-g0"),
    *("-shared", "-nostdlib", "-s", "-Wall", "-Wextra", "-Wno-pass-failed"),
)


def built(name: str, folder: Path) -> Path:
    """The object of this name, built into the folder."""
    target, processor = BUILDS[name]
    output = folder / name
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, f"-mcpu={processor}", *FLAGS]
    subprocess.run([*command, "-o", str(output), *SOURCES], cwd=FOLDER, check=True)
    output.chmod(0o644)
    return output


def stale() -> list[str]:
    """Names of shipped objects that are not what their source makes."""
    with tempfile.TemporaryDirectory() as scratch:
        return [
            name
            for name in BUILDS
            if not (FOLDER / name).is_file() or built(name, Path(scratch)).read_bytes() != (FOLDER / name).read_bytes()
        ]


def main() -> int:
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    if not parser.parse_args().check:
        for name in BUILDS:
            print(f"{built(name, FOLDER)}: {(FOLDER / name).stat().st_size} bytes")
        return 0
    different = stale()
    for name in different:
        print(f"{name} is not what {' and '.join(SOURCES)} make; run tools/market_kernel.py", file=sys.stderr)
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
