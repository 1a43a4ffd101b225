# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Derive what follows from the floorplans: the profiles' slots, and what a board's build reads.

tools/board.py           write what has changed, and say what
tools/board.py --check   exit 1 and name what is out of date, and every part that is too small; write nothing
tools/board.py --identities BOARD FILE [MODULE ...]   both, then write the identities of all parts, or of those modules
tools/board.py --pack BOARD FROM TO [--key KEY]   pack what a build left in FROM into the folder TO
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from board_flow.constraints import floorplan_xdc, timing_xdc
from board_flow.floorplan import (
    ROOT,
    Board,
    Family,
    lacking,
    read_area,
    read_boards,
    read_family,
    resources,
    slot_needs,
    static_needs,
    unmeasured,
)
from board_flow.overlay import overlay_source
from board_flow.package import PackingFailed, pack, write_identities
from board_flow.profiles import profile_file
from board_flow.runs import runs_tcl
from eddy.board.images.signing import load_key
from eddy.board.port.profile import load_profile
from eddy.core.errors import EddyError


def derived() -> dict[str, str]:
    """Every derived file: path from the root, and what it should say."""
    family = read_family()
    files = {}
    for board in read_boards().values():
        path, text = profile_file(board, family)
        files[path] = text
        profile = load_profile(board.name)
        folder = f"hw/vivado/{board.name}"
        files[f"{folder}/floorplan.xdc"] = floorplan_xdc(board)
        files[f"{folder}/timing.xdc"] = timing_xdc(board, profile.shell_hz)
        files[f"{folder}/eddy.dtso"] = overlay_source()
        files[f"{folder}/runs.tcl"] = runs_tcl(board, profile)
    return files


def stale() -> list[str]:
    """Derived files that say something else than they should, or are missing."""
    found = []
    for path, text in derived().items():
        file = ROOT / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            found.append(path)
    return found


def too_small() -> list[str]:
    """Parts of the floorplans that do not hold what they must at the stated fill, each with what is missing."""
    family = read_family()
    return [line for board in read_boards().values() for line in _too_small(board, family)]


def _too_small(board: Board, family: Family) -> list[str]:
    area = read_area()
    parts = [("static", board.static, static_needs(board, area))]
    parts += [(f"slot{slot.index}", slot.boxes, slot_needs(board, slot, area)) for slot in board.slots]
    found = []
    for name, boxes, needs in parts:
        short = lacking(resources(boxes, family), needs, family.fill)
        if short:
            found.append(f"{board.name} {name}: lacks {', '.join(f'{by} {kind}' for kind, by in short.items())}")
    return found


def _told(step: Callable[[], None]) -> int:
    """A step's exit status; why it failed is printed."""
    try:
        step()
    except (PackingFailed, EddyError) as error:
        print(f"board: {error}", file=sys.stderr)
        return 1
    return 0


def _identities(name: str, file: str, *only: str) -> None:
    write_identities(_board(name), Path(file), only)


def _board(name: str) -> Board:
    boards = read_boards()
    if name not in boards:
        raise PackingFailed(f"no board {name}; there are: {', '.join(boards)}")
    return boards[name]


def _pack(words: list[str], key: Path | None) -> None:
    name, built, folder = words
    signing = None if key is None else load_key(key)
    packed = pack(_board(name), load_profile(name), Path(built), Path(folder), signing)
    signed = "signed" if key is not None else "not signed (KEY=FILE signs it)"
    print(f"board: packed {packed.images} partial images into {packed.folder}, {signed}")
    if packed.absent:
        print(f"board: not built, and not in it: {', '.join(packed.absent)}")


def main() -> int:
    """Run; the exit status is 1 where something is out of date or too small."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--identities", metavar=("BOARD", "FILE"), nargs="+")
    parser.add_argument("--pack", metavar=("BOARD", "FROM", "TO"), nargs=3)
    parser.add_argument("--key", type=Path, help="private key that signs a package")
    arguments = parser.parse_args()
    if arguments.pack:
        return _told(lambda: _pack(arguments.pack, arguments.key))
    status = _check() if arguments.check else _derive()
    if status == 0 and arguments.identities:
        return _told(lambda: _identities(*arguments.identities))
    return status


def _check() -> int:
    return _complain([*(f"{path} is out of date: tools/board.py" for path in stale()), *too_small()])


def _derive() -> int:
    texts = derived()
    for path in stale():
        file = ROOT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts[path], encoding="utf-8")
        print(f"board: wrote {path}")
    if new := unmeasured(read_area()):
        print(
            f"board: not synthesized yet, so the build says whether a slot holds it: {', '.join(new)} (tools/area.py)"
        )
    return _complain(too_small())


def _complain(lines: list[str]) -> int:
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
