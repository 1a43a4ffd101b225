# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""From slot to slot: one slot reads much or nothing, another reads a word at a time, on the simulated board.

Both ask for their own memory only, within their windows, with the regulators that slots have where nothing is said. The
modules are in C++ (`cpp/channel.cpp`); what lies between them is the shell's RTL and the model of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from channels.decoder import ListenerAccesses
from eddy.board.port.profile import Profile
from eddy_sim.boards.board import SimBoard, StopReason
from eddy_sim.design import build
from system.board.board_rig import bank, load, module, run_for
from system.board.traffic import READ, Traffic, default_rate, give_memory, prepare

LISTENER, SENDER, BESIDE = 0, 1, 2
LISTENS = Traffic(1, directions=READ, stride=8, under_way=1)
"""A word at a time, each asked for when the one before has come."""
LATEST_CYCLE = 2_000
"""Cycles of the listener in which the message has begun."""
MOST_BITS = 1024
"""Of a message."""
_SYMBOL, _FROM, _MESSAGE, _SHOW, _SHOWN = 0x2C, 0x38, 0x40, 0xC0, 16


def transmit(
    profile: Profile,
    sent: npt.NDArray[np.uint8],
    symbol_cycles: int,
    one: Traffic,
    beside: Traffic | None = None,
) -> ListenerAccesses:
    """Send a message from slot 1, and listen in slot 0.

    Args:
        profile: The board.
        sent: Bits, `MOST_BITS` at most.
        symbol_cycles: Cycles of each.
        one: What is read while a bit is 1; reads without end.
        beside: What a third slot does all the while; None: nothing.

    Returns:
        The listener's reads, by cycles from its start on.
    """
    padded = np.zeros(MOST_BITS, np.uint8)
    padded[: sent.size] = sent
    words = np.packbits(padded, bitorder="little").view("<u4")
    with SimBoard(profile) as board:
        for slot in (LISTENER, SENDER):
            assert load(board, slot, build.build_channel()) == StopReason.CONFIG
            give_memory(board, slot, default_rate(profile))
        for index, word in enumerate(words):
            board.write32(module(SENDER, _MESSAGE + 4 * index), int(word))
        board.write32(module(SENDER, _SYMBOL), symbol_cycles)
        if beside is not None:
            prepare(board, BESIDE, default_rate(profile))
            beside.started(board, BESIDE)
        LISTENS.started(board, LISTENER)
        one.started(board, SENDER)
        run_for(board, symbol_cycles * sent.size + LATEST_CYCLE)
        board.write32(module(LISTENER, 0x18), 0)
        assert not any(board.read32(bank(slot, 0x020)) for slot in (LISTENER, SENDER)), "a slot has a fault"
        return ListenerAccesses.of_ends(np.fromiter(_answered(board), np.int64))


def _answered(board: SimBoard) -> Iterator[int]:
    """What the listener has kept."""
    first = 0
    while True:
        board.write32(module(LISTENER, _FROM), first)
        for index in range(_SHOWN):
            cycle = board.read32(module(LISTENER, _SHOW + 4 * index))
            if not cycle:
                return
            yield cycle
        first += _SHOWN
