# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The order of a session's commands: which may begin, and what became of those that ended.

A command begins once all it comes after have ended: in order, the one before it; out of order, those its `after` names,
the last barrier, and those that use a buffer it creates or releases. One whose `after` names a command that failed
fails too, with code `dependency-failed`. A result is kept until the client says that it has it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from eddy.core.sessions import COMMAND_TRANSITIONS, CommandResult, CommandState
from eddy.hypervisor.sessions.commands import Command, Create, Marker, Release

MAX_WAITING = 4096
"""Commands of a session that have not ended; a batch that would make them more is refused."""
MAX_RESULTS = 8192
"""Results of a session that its client has not taken."""
REMEMBERED = 4096
"""Ends of commands that are remembered, for those that come after them; older ones are taken for complete."""


@dataclass(slots=True)
class Entry:
    """A command that has not ended.

    Attributes:
        times_s: Board seconds at which it was queued, submitted and begun.
        blockers: Commands it waits for.
        broken: A command that failed and that it was to come after; 0 for none.
    """

    command: Command
    state: CommandState = CommandState.QUEUED
    times_s: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    blockers: set[int] = field(default_factory=set)
    broken: int = 0

    def move(self, state: CommandState) -> None:
        """Go on along the table."""
        assert state in COMMAND_TRANSITIONS[self.state], f"no way from {self.state.value} to {state.value}"
        self.state = state


class CommandStream:
    """The commands of one session. One thread changes it; any may read `results` and the counts.

    Args:
        out_of_order: Whether `after` and barriers alone order them.

    Attributes:
        accepted: Number of the last command that was taken; all before it were.
        open: Those that have not ended, by number.
        ended: Results so far, those that were taken included.
    """

    def __init__(self, out_of_order: bool = False) -> None:
        self._out_of_order = out_of_order
        self.accepted = self.ended = 0
        self.open: dict[int, Entry] = {}
        self._dependents: dict[int, list[int]] = {}
        self._ready: list[int] = []
        self._barrier = 0
        self._users: dict[int, set[int]] = {}
        """By buffer: commands that use it and have not ended."""
        self._failed: dict[int, None] = {}
        self.results: deque[tuple[int, CommandResult]] = deque()
        """With their serial numbers, which count up by one."""
        self.data_bytes = 0
        """Of results that were not taken: what they read and printed."""

    def accept(self, command: Command, now_s: float) -> Entry | None:
        """Take a command; None where it was taken before.

        Args:
            command: Its number is the next one, or one that was taken before.
            now_s: Board time.
        """
        if command.number <= self.accepted:
            return None
        assert command.number == self.accepted + 1, "batches are checked"
        self.accepted = command.number
        entry = self.open[command.number] = Entry(command, times_s=[now_s, now_s, now_s])
        entry.blockers = {each for each in self._predecessors(command) if each in self.open}
        entry.broken = next((each for each in command.after if each in self._failed), 0)
        for each in entry.blockers:
            self._dependents.setdefault(each, []).append(command.number)
        for buffer in command.buffers:
            self._users.setdefault(buffer, set()).add(command.number)
        if isinstance(command.body, Marker) and command.body.barrier:
            self._barrier = command.number
        if not entry.blockers:
            heapq.heappush(self._ready, command.number)
        return entry

    def _predecessors(self, command: Command) -> Iterable[int]:
        if not self._out_of_order:
            return (command.number - 1, *command.after)
        found = {*command.after, self._barrier}
        if isinstance(command.body, (Release, Create)):
            found |= self._users.get(command.body.buffer, set())
        elif isinstance(command.body, Marker) and not command.after:
            found |= self.open.keys() - {command.number}
        else:
            for buffer in command.buffers:
                found |= {
                    each for each in self._users.get(buffer, ()) if isinstance(self.open[each].command.body, Create)
                }
        return found

    def head(self) -> Entry | None:
        """The oldest command that may begin; None where there is none."""
        return self.open[self._ready[0]] if self._ready else None

    def ready(self) -> tuple[Entry, ...]:
        """Commands that may begin, oldest first."""
        return tuple(self.open[number] for number in sorted(self._ready))

    def begin(self, entry: Entry, now_s: float) -> None:
        """A command that may begin is submitted."""
        number = entry.command.number
        if self._ready and self._ready[0] == number:
            heapq.heappop(self._ready)
        else:
            self._ready.remove(number)
            heapq.heapify(self._ready)
        entry.move(CommandState.SUBMITTED)
        entry.times_s[1] = now_s

    def end(
        self,
        entry: Entry,
        now_s: float,
        *,
        code: str = "",
        message: str = "",
        data: bytes = b"",
        log: str = "",
        started_s: float | None = None,
    ) -> None:
        """A command ended: those that come after it may begin."""
        number = entry.command.number
        if entry.state is CommandState.QUEUED and not code:
            entry.move(CommandState.SUBMITTED)
        entry.move(CommandState.FAILED if code else CommandState.COMPLETE)
        queued_s, submitted_s, _ = entry.times_s
        began_s = submitted_s if started_s is None else started_s
        times_s = queued_s, max(submitted_s, queued_s), max(began_s, queued_s), max(now_s, began_s)
        del self.open[number]
        if number in self._ready:
            self._ready.remove(number)
            heapq.heapify(self._ready)
        for buffer in entry.command.buffers:
            users = self._users[buffer]
            users.discard(number)
            if not users:
                del self._users[buffer]
        if code:
            self._failed[number] = None
            if len(self._failed) > REMEMBERED:
                del self._failed[next(iter(self._failed))]
        self.tell(CommandResult(number, code, message, times_s, data, log))
        self._release(number, failed=bool(code))

    def _release(self, number: int, failed: bool) -> None:
        for each in self._dependents.pop(number, ()):
            entry = self.open.get(each)
            if entry is None:
                continue
            entry.blockers.discard(number)
            if failed and number in entry.command.after:
                entry.broken = number
            if not entry.blockers:
                heapq.heappush(self._ready, each)

    def tell(self, result: CommandResult) -> None:
        """Have the client told of an end."""
        self.ended += 1
        self.data_bytes += _size(result)
        self.results.append((self.ended, result))

    def take(self, known: int) -> None:
        """The client has the results up to a serial number: they are forgotten."""
        while self.results and self.results[0][0] <= known:
            self.data_bytes -= _size(self.results.popleft()[1])

    def is_ended(self, number: int) -> bool:
        """Whether a command was taken and has ended."""
        return number <= self.accepted and number not in self.open


def _size(result: CommandResult) -> int:
    return len(result.data) + len(result.log)
