# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every board asks of a launch whose buffers come from another slot, or go to one."""

from __future__ import annotations

from eddy.board.port.port import Access, Launch
from eddy.core.errors import InvalidRequest


def check_streams(slot: int, launch: Launch, offered: bool, slots: int) -> None:
    """Check the streams of a launch.

    Args:
        slot: Where it is to run.
        launch: The launch.
        offered: Whether the board has streams between slots.
        slots: How many slots it has.

    Raises:
        InvalidRequest: The board has none, or not for such a launch; or one is no stream.
    """
    if not launch.streams:
        return
    if not offered:
        raise InvalidRequest("this board has no streams between slots; launch without", field="streams", allowed="()")
    if launch.held or launch.kernel is not None:
        raise InvalidRequest("only items of accelerators have streams; launch without", field="streams", allowed="()")
    ends = [_end(launch, stream.buffer) for stream in launch.streams]
    if None in ends or len(set(ends)) != len(ends):
        raise InvalidRequest(
            "a stream is a buffer that is granted either to read or to write; a launch has one of each at most",
            field="streams",
        )
    for stream in launch.streams:
        if not 0 <= stream.slot < slots or stream.slot == slot:
            raise InvalidRequest(f"no stream goes from slot {slot} to slot {stream.slot}", field="streams")


def _end(launch: Launch, buffer: int) -> Access | None:
    """Whether a launch reads or writes a buffer; None where neither, or both."""
    found = {grant.access for grant in launch.grants if grant.buffer == buffer}
    return found.pop() if found in ({Access.READ}, {Access.WRITE}) else None
