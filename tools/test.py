# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Run every check of the project, cheapest first, and say what runs and how long it took."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

Step = tuple[str, list[str]]
STATIC: list[Step] = [
    ("lint", [str(BIN / "ruff"), "check", "."]),
    ("format", [str(BIN / "ruff"), "format", "--check", "."]),
    ("types", [str(BIN / "mypy"), "runtime", "drivers", "sim", "studies", "tests", "tools"]),
    # Whoever runs tests needs what this leaves behind: their byte code, with assertions that say what they compared.
    ("collection", [sys.executable, "-m", "pytest", "--collect-only", "-qqq"]),
    ("layering", [str(BIN / "lint-imports")]),
    ("import cycles", [sys.executable, "-m", "pytest", "-q", "tests/unit/repository/test_import_cycles.py"]),
    ("generated files", [sys.executable, "tools/regs.py", "--check"]),
    ("hardware", [sys.executable, "-m", "pytest", "-q", "-m", "not rtl", "tests/unit/sim/test_lint_rtl.py"]),
    ("words", [sys.executable, "-m", "pytest", "-q", "tests/unit/repository/test_words.py"]),
]
LONGEST = ("types", "collection")
SILENT = ("collection",)
"""What these say, a line for each of hundreds of files, is of interest when they fail."""
IN_TESTS = ("import cycles", "hardware", "words")
"""What is among the tests: whoever runs them all need not run these before."""
TESTS: list[Step] = [("tests", [sys.executable, "-m", "pytest", "-n", "3", "--dist", "loadgroup"])]
"""One worker more than CI has cores: a seventh of the time a worker waits, for servers, leases and time-outs."""
CHOICES = {
    "static": STATIC,
    "tests": TESTS,
    "lint": [step for step in STATIC if step[0] in ("lint", "format", "layering", "import cycles")],
    "types": [step for step in STATIC if step[0] == "types"],
}
"""What `--only` takes."""


def environment() -> dict[str, str]:
    """This process's, except that byte code is kept: development containers often forbid it, and then each of the
    servers that tests start compiles a thousand files again."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run(step: Step, *, whole: bool = False) -> bool:
    """Run one step and answer whether it succeeded; its output is passed through, or with `whole` comes at its end."""
    name, command = step
    head = f"── {name}: {' '.join(Path(part).name if part.startswith('/') else part for part in command)}"
    if not whole:
        print(head, flush=True)
    start = time.monotonic()
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if whole else {}
    done = subprocess.run(command, cwd=ROOT, env=environment(), check=False, text=True, **said)  # type: ignore[call-overload]
    ok = bool(done.returncode == 0)
    took = f"── {name}: {'ok' if ok else 'FAILED'} in {time.monotonic() - start:.0f} s"
    output = "" if ok and name in SILENT else done.stdout
    print(f"{head}\n{output}{took}" if whole else took, flush=True)
    return ok


def failures(steps: Sequence[Step]) -> list[str]:
    """Run steps, and answer which failed. The static ones use one core each, so two run at once."""
    static = [step for step in steps if step in STATIC]
    with ThreadPoolExecutor(2) as pool:
        # The longest first.
        static.sort(key=lambda step: step[0] not in LONGEST)
        ok = list(pool.map(lambda step: run(step, whole=True), static))
    found = [name for (name, _), good in zip(static, ok, strict=True) if not good]
    return found + [step[0] for step in steps if step not in static and not run(step)]


def main() -> int:
    """Run the steps asked for; the exit status is 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(CHOICES))
    options, rest = parser.parse_known_args()
    whole = [*(step for step in STATIC if step[0] not in IN_TESTS), *TESTS]
    steps = CHOICES[options.only] if options.only else whole
    steps = [(name, [*command, *rest] if (name, command) in TESTS else command) for name, command in steps]
    failed = failures(steps)
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
