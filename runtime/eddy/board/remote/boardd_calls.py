# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a client of boardd asks for, carried out on the board: calls, and waits that are answered later."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eddy.board.port import wire
from eddy.board.pynq.pynq import PynqBoard
from eddy.board.remote.journal import Journal, JournalEntry
from eddy.core.errors import BoardFault, EddyError, InvalidRequest
from eddy.core.units import format_bytes

REPLY_WITHIN_S = 1.0
"""Wall time after which a wait is answered though nothing happened, so that the client knows that boardd lives."""
_SLICE_WALL_S = (0.02, 0.1)
"""A wait is cut into slices of board time that take this much wall time, so that a new client is not kept waiting."""
ALONE_S = 0.01
"""Board seconds, at most, of a slice that no client waits for: what is at work ends, and time stands still then.
A slice as long as a wait may have would carry a board on which nothing happens on by an hour."""


@dataclass(frozen=True)
class Wait:
    """A `wait` that has not been answered yet.

    Attributes:
        until_s: Board time at which it ends.
        acknowledge: Number of the last event the client has.
        asked_s: Wall time at which it came.
    """

    until_s: float
    acknowledge: int
    asked_s: float


class Calls:
    """Carries calls out, and lets board time pass in between.

    Args:
        board: The board.
        journal: Told what starts before it starts.
    """

    def __init__(self, board: PynqBoard, journal: Journal) -> None:
        self._board, self._journal = board, journal
        self._slice_s = 1e-3

    def answer(self, frame: wire.Frame) -> wire.Frame | Wait:
        """The answer to a call; for a `wait`, what `advance_wait` answers later."""
        try:
            name = frame.head.get("call", "")
            arguments = wire.arguments_of(name, frame.head.get("args", {}), frame.payload)
            if name == "wait":
                self._acknowledge(arguments["acknowledge"])
                return Wait(arguments["until_s"], arguments["acknowledge"], time.monotonic())
            if name == "read" and arguments["bytes"] > wire.CHUNK:
                raise InvalidRequest(
                    f"one read moves at most {format_bytes(wire.CHUNK)}", field="bytes", allowed=wire.CHUNK
                )
            with self._written_down(name, arguments):
                result = getattr(self._board, name)(**arguments)
        except EddyError as error:
            return wire.Frame({"error": wire.error_to_json(error)})
        except (OSError, RuntimeError, ValueError) as error:
            # The hardware or PYNQ failed in a way nobody foresaw: the client must hear of it, boardd goes on.
            fault = BoardFault(f"the board failed in {name}: {error}", cause="driver")
            return wire.Frame({"error": wire.error_to_json(fault)})
        if isinstance(result, bytes):
            return wire.Frame({"result": None}, result)
        return wire.Frame({"result": wire.to_json(result)})

    def advance_wait(self, wait: Wait) -> wire.Frame | None:
        """Let a slice of board time pass for a wait; its answer, or None where it goes on."""
        with self._slice() as length_s:
            end_s = min(wait.until_s, self._board.now_s() + length_s)
            try:
                events = self._board.wait(end_s, wait.acknowledge)
            except EddyError as error:
                return wire.Frame({"error": wire.error_to_json(error)})
        if events or self._board.now_s() >= wait.until_s:
            return wire.Frame({"result": wire.to_json(events)})
        if time.monotonic() - wait.asked_s > REPLY_WITHIN_S:
            return wire.Frame({"result": [], "again": True})
        return None

    def pass_time(self) -> None:
        """Let a slice of board time pass though no client waits."""
        with self._slice() as length_s:
            most_s = length_s if self._board.clock.free_running else ALONE_S
            self._board.advance(self._board.now_s() + min(length_s, most_s))

    @contextlib.contextmanager
    def _slice(self) -> Iterator[float]:
        """A slice of board time; the next one is longer or shorter after how long this one took."""
        start = time.monotonic()
        yield self._slice_s
        took_s = time.monotonic() - start
        if took_s < _SLICE_WALL_S[0]:
            # Time that passes by itself is slept through, and nobody is heard meanwhile.
            most_s = _SLICE_WALL_S[1] if self._board.clock.free_running else 3600.0
            self._slice_s = min(self._slice_s * 2, most_s)
        elif took_s > _SLICE_WALL_S[1]:
            self._slice_s = max(self._slice_s / 2, 1e-6)

    def _acknowledge(self, seq: int) -> None:
        if seq >= 0:
            kept = self._board.wait(-1.0)
            self._journal.acknowledge(event for event in kept if event.seq <= seq)

    @contextlib.contextmanager
    def _written_down(self, name: str, arguments: dict[str, Any]) -> Iterator[None]:
        """Journal what a call starts before it starts."""
        if name == "launch":
            started = JournalEntry(arguments["slot"], item=arguments["launch"].item)
        elif name == "load":
            started = JournalEntry(arguments["slot"], image=arguments["image"])
        else:
            yield
            return
        self._journal.begin(started)
        try:
            yield
        except BaseException:
            self._journal.drop_entry(started)
            raise
