# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Convert a `.bit` file to the `.bit.bin` that Linux' fpga_manager takes, as `boardd` does it when it loads one.

tools/bit2bin.py FILE.bit [FILE.bit.bin]
"""

from __future__ import annotations

import sys
from pathlib import Path

from eddy.board.pynq.fpga_manager import to_binary
from eddy.core.errors import ImageRefused


def main() -> int:
    """Convert the file that is named."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) == 3 else source.with_name(f"{source.name}.bin")
    try:
        target.write_bytes(to_binary(source.read_bytes()))
    except ImageRefused as refused:
        print(f"{source}: {refused.message}", file=sys.stderr)
        return 1
    except OSError as failure:
        print(f"{failure.filename}: {failure.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
