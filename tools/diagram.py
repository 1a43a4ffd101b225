# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Draw the pictures that explain into docs/images; `--check` says which are not as their source draws them.

tools/diagram.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from diagrams.pictures import PICTURES

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def stale(folder: Path = IMAGES) -> list[str]:
    """Names of pictures whose file is missing, or another."""
    found = []
    for name, draw in PICTURES.items():
        file = folder / f"{name}.svg"
        if not file.is_file() or file.read_text(encoding="utf-8") != draw().svg():
            found.append(name)
    return found


def main() -> int:
    """Draw them, or say which are stale."""
    if "--check" in sys.argv[1:]:
        for name in (old := stale()):
            print(f"docs/images/{name}.svg is stale: run tools/diagram.py")
        return 1 if old else 0
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
    print(f"{len(PICTURES)} pictures in {IMAGES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
