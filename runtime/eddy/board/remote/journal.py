# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What boardd writes down so that its successor can say what was lost.

The journal holds the items and loads whose end no client has acknowledged yet, and the event number reached. It lies
beside the socket, in memory on a board (`/run`): a power cut takes the slots with it, and then there is nothing to
report.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from eddy.board.port.port import BoardEvent, EventKind
from eddy.host.files import PRIVATE

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JournalEntry:
    """Something that was started: an item (`item` set) or a load (`image` set)."""

    slot: int
    item: str = ""
    image: str = ""


class Journal:
    """The file, and what it says.

    Args:
        path: Where it is kept; read if it exists.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next_seq = 0
        self._started: list[JournalEntry] = []
        self._failing = False
        self._read()

    @property
    def lost(self) -> tuple[JournalEntry, ...]:
        """What is not acknowledged: to a new boardd, what was lost."""
        return tuple(self._started)

    def first_seq(self) -> int:
        """A number no event has carried: the last one known, and one for each end nobody acknowledged."""
        return self._next_seq + len(self._started)

    def reset(self, next_seq: int) -> None:
        """Start over: nothing started, events numbered from here."""
        self._started, self._next_seq = [], next_seq
        self._write()

    def begin(self, started: JournalEntry) -> None:
        """Write down that something is about to start."""
        self._started.append(started)
        self._write()

    def drop_entry(self, started: JournalEntry) -> None:
        """It did not start after all."""
        self._started.remove(started)
        self._write()

    def acknowledge(self, events: Iterable[BoardEvent]) -> None:
        """A client has these events: what they ended needs no report any more."""
        ended = {
            JournalEntry(event.slot, event.item, event.image)
            for event in events
            if event.kind is not EventKind.INTERRUPT
        }
        if not ended:
            return
        self._started = [started for started in self._started if started not in ended]
        self._next_seq = max([self._next_seq, *(event.seq + 1 for event in events)])
        self._write()

    def _read(self) -> None:
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
            self._started = [JournalEntry(**entry) for entry in data["started"]]
            self._next_seq = int(data["next_seq"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            # A damaged journal must not keep the board from starting; only the report is lost.
            self._started, self._next_seq = [], 0
            _log.warning("journal %s cannot be read (%s): what ran before is not reported as lost", self._path, error)

    def _write(self) -> None:
        data = {"next_seq": self._next_seq, "started": [asdict(started) for started in self._started]}
        try:
            self._replace(json.dumps(data).encode())
        except OSError as error:
            # The items matter, the report does not: on a full disk they go on, and the next entry tries again.
            if not self._failing:
                _log.error("journal %s cannot be written (%s): what boardd loses is not reported", self._path, error)
            self._failing = True
            return
        if self._failing:
            _log.warning("journal %s is written again", self._path)
        self._failing = False

    def _replace(self, data: bytes) -> None:
        temporary = self._path.with_name(self._path.name + ".tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(self._path)
