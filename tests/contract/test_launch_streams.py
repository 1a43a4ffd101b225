# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A launch whose buffers come from another slot is refused where the board has no streams; nothing changes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from contract.harness import LIMIT_S, Harness
from eddy.board.port.port import Access, Grant, Launch, SlotPhase, Stream
from eddy.board.port.streams import check_streams
from eddy.core.errors import InvalidRequest

READS, WRITES, BOTH = Grant(1, Access.READ), Grant(2, Access.WRITE), Grant(3, Access.READ_WRITE)


def test_a_board_without_streams_takes_none(harness: Harness) -> None:
    harness.load(0)
    buffer = harness.board.allocate(4096, "test")
    streams = (Stream(buffer.id, 1),)
    with pytest.raises(InvalidRequest, match="no streams between slots"):
        harness.board.launch(0, Launch("item", (), (Grant(buffer.id, Access.WRITE),), LIMIT_S, streams=streams))
    assert harness.board.state().slots[0].phase is SlotPhase.IDLE


@pytest.mark.parametrize(
    ("streams", "held", "said"),
    [
        ((Stream(3, 1),), False, "granted either to read or to write"),
        ((Stream(4, 1),), False, "granted either to read or to write"),
        ((Stream(2, 1), Stream(2, 1)), False, "one of each"),
        ((Stream(2, 0),), False, "no stream goes from slot 0 to slot 0"),
        ((Stream(2, 2),), False, "no stream goes from slot 0 to slot 2"),
        ((Stream(2, 1),), True, "only items of accelerators"),
    ],
)
def test_what_is_no_stream_is_refused(streams: tuple[Stream, ...], held: bool, said: str) -> None:
    sound = Launch("item", (), (READS, WRITES, BOTH), LIMIT_S, streams=(Stream(1, 1), Stream(2, 1)))
    check_streams(0, sound, True, 2)
    launch = replace(sound, held=held, streams=streams)
    with pytest.raises(InvalidRequest, match=said):
        check_streams(0, launch, True, 2)
