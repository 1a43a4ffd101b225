"""A boardd in a process of its own, on the RTL: what the crash tests kill."""

from __future__ import annotations

import sys
from pathlib import Path

from eddy.board import boardd


def main() -> None:
    """Serve until killed; say on standard output when clients can connect."""
    socket, images = Path(sys.argv[1]), Path(sys.argv[2])
    boardd.serve("rtl", socket, "tiny", images=images, ready=lambda _: print("ready", flush=True))


if __name__ == "__main__":
    main()
