"""Run every check of the project, cheapest first, and say what runs and how long it took."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

Step = tuple[str, list[str]]
STATIC: list[Step] = [
    ("lint", [str(BIN / "ruff"), "check", "."]),
    ("format", [str(BIN / "ruff"), "format", "--check", "."]),
    ("types", [str(BIN / "mypy"), "runtime", "drivers", "sim", "tests", "tools"]),
    ("layering", [str(BIN / "lint-imports")]),
    ("import cycles", [sys.executable, "-m", "pytest", "-q", "tests/unit/test_import_cycles.py"]),
    ("generated files", [sys.executable, "tools/regs.py", "--check"]),
    ("words", [sys.executable, "-m", "pytest", "-q", "tests/unit/test_words.py"]),
]
TESTS: list[Step] = [("tests", [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup"])]
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


def run(name: str, command: list[str]) -> bool:
    """Run one step with its output passed through; answer whether it succeeded."""
    print(f"── {name}: {' '.join(Path(part).name if part.startswith('/') else part for part in command)}", flush=True)
    start = time.monotonic()
    ok = subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode == 0
    print(f"── {name}: {'ok' if ok else 'FAILED'} in {time.monotonic() - start:.0f} s", flush=True)
    return ok


def main() -> int:
    """Run the steps asked for; the exit status is 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(CHOICES))
    options, rest = parser.parse_known_args()
    steps = CHOICES[options.only] if options.only else [*STATIC, *TESTS]
    steps = [(name, [*command, *rest] if (name, command) in TESTS else command) for name, command in steps]
    failed = [name for name, command in steps if not run(name, command)]
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
