# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Run every mutant of RTL, and record that all were found for the sources that are here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from mutants_kit import RECORD, write_record  # noqa: E402


def main() -> int:
    """Answer pytest's exit code; a record is written only where every mutant was found."""
    RECORD.unlink(missing_ok=True)
    options = ["-q", "-n", "2", "--dist", "loadgroup", "-m", "mutant"]
    command = [sys.executable, "-m", "pytest", *options, "sim/rtl", "tests/formal"]
    with subprocess.Popen([*command, *sys.argv[1:]], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        last = ""
        for line in run.stdout:
            print(line, end="", flush=True)
            last = line
    found = re.search(r"(\d+) passed", last)
    if run.returncode or found is None or re.search("failed|error|skipped", last):
        print("mutants: not all were found; there is no record", file=sys.stderr)
        return run.returncode or 1
    write_record(int(found[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
