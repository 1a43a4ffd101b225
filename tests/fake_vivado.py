# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stands for Vivado in a build of a board: runs the flow dry, and writes a `.bit` file wherever one was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eddy_sim.design import bitfile

ROOT = Path(__file__).resolve().parents[1]
LOG = "asked.log"
PAYLOAD_BYTES = 2048


def main() -> int:
    """Take Vivado's command line; what the tools were asked goes to `LOG`."""
    arguments = sys.argv[sys.argv.index("-tclargs") + 1 :]
    command = ["tclsh", str(ROOT / "hw/vivado/tcl/dryrun.tcl"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    Path(LOG).write_text(done.stdout, encoding="utf-8")
    part = next(line.split()[-1] for line in done.stdout.splitlines() if line.startswith("create_project"))
    for line in done.stdout.splitlines():
        if line.startswith("write_bitstream"):
            name = line.split()[-1]
            options = "PARTIAL=TRUE;" if "-cell" in line else ""
            head = bitfile.header(f"fabric;{options}UserID=0XFFFFFFFF;Version=none", part, PAYLOAD_BYTES)
            Path(name).write_bytes(head + name.encode().ljust(PAYLOAD_BYTES, b"."))
    return 0


if __name__ == "__main__":
    sys.exit(main())
