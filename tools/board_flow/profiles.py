# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The slots of a board's profile: the lines between two marks of its file."""

from __future__ import annotations

import re

from board_flow.floorplan import ROOT, Board, Family, image_bytes

BEGIN = "# Derived from hw/vivado/boards.yaml by tools/board.py; measured image sizes will take their place."
END = "# End of what is derived."
_LINES = re.compile(rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", flags=re.DOTALL)


class MarksMissing(Exception):
    """A profile has no place for its slots; says which marks it needs."""


def slots_yaml(board: Board, family: Family) -> str:
    """The lines, marks included."""
    entries = (
        f"  - {{pool: {slot.pool}, image_bytes: {slot.measured_bytes or image_bytes(slot.boxes, family)},"
        f" clk_hz: {slot.clk_hz}}}\n"
        for slot in board.slots
    )
    return f"{BEGIN}\npart: {board.part}\nslots:\n{''.join(entries)}{END}\n"


def with_slots(text: str, board: Board, family: Family) -> str:
    """A profile's text with its slots as derived.

    Raises:
        MarksMissing: The text has no place for them.
    """
    if len(_LINES.findall(text)) != 1:
        raise MarksMissing(f"the profile of {board.name} needs the lines {BEGIN!r} and {END!r}, once")
    return _LINES.sub(lambda _: slots_yaml(board, family), text)


def profile_file(board: Board, family: Family) -> tuple[str, str]:
    """Path of a board's profile from the root, and what it should say."""
    path = f"runtime/eddy/board/profiles/{board.name}.yaml"
    return path, with_slots((ROOT / path).read_text(encoding="utf-8"), board, family)
