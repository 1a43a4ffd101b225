"""Run every benchmark of the project (`tools/bench_*.py`) and print what it measured.

First of all it says how fast the machine is beside the one the goals were set on; every goal is a ratio to something
measured in the same run (see `tools/yardstick.py`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def main() -> int:
    """Run the benchmarks whose names are given (`sim` for `benches.sim.py`), or all; exit 1 where one failed."""
    wanted = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    options = [argument for argument in sys.argv[1:] if argument.startswith("-")]
    scripts = sorted(FOLDER.glob("bench_*.py"))
    chosen = [script for script in scripts if not wanted or script.stem.removeprefix("bench_") in wanted]
    if not chosen:
        names = ", ".join(script.stem.removeprefix("bench_") for script in scripts)
        print(f"no such benchmark; there are: {names}", file=sys.stderr)
        return 1
    subprocess.run([sys.executable, str(FOLDER / "yardstick.py")], stdout=sys.stderr, check=True)
    codes = [subprocess.run([sys.executable, str(script), *options], check=False).returncode for script in chosen]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
