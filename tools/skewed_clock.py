# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Run a module under a date that is off by the seconds in a file: python tools/skewed_clock.py FILE MODULE ..."""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path


def main() -> None:
    """Take the file and the module from the arguments; the module gets the rest."""
    real, file = time.time, Path(sys.argv[1])

    def skewed() -> float:
        return real() + float(file.read_text(encoding="utf-8") or 0)

    time.time = skewed
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
