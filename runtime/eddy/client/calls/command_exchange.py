# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of a session on their way to the server, and what comes back: numbered, in order, each done once.

Two locks, so that a thread that waits stops none that goes on: `_lock` is held while the account changes and never over
the network; `_sending` while commands travel, since they arrive in the order of their numbers. Who waits for an end
holds neither, but for a moment where the request that brings commands waits for it as well.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.calls.session_events import SessionCalls, SessionEvent, SessionFailed
from eddy.client.transport.errors import ServerUnreachable
from eddy.core.errors import NotFound
from eddy.core.frames import MEDIA_TYPE, pack_frame, split_frame
from eddy.core.sessions import MAX_AFTER, CommandState

if TYPE_CHECKING:
    from eddy.client.transport.transport import Transport

AT_ONCE, AT_ONCE_BYTES = 256, 8 << 20
"""Commands of one request, and bytes that writes among them bring, about."""
SOON = 64
"""Commands that gather before they are sent."""
PIECE_BYTES = 4 << 20
"""Bytes of one command; what is more is written and read in pieces."""
MAX_OPEN, MAX_OPEN_BYTES = 2048, 64 << 20
"""Commands that have not ended, and bytes they bring, beyond which a call waits for some to end."""
ASK_S = 20.0
"""Wall seconds one request waits at most; the next one goes on."""
AT_FIRST_S = 0.02
"""Wall seconds a request waits that brings commands: other threads' commands cannot travel meanwhile."""
GATHER_S = 0.01
"""Wall seconds in which ends gather before they are asked for again while `SOON` commands or more have not ended: a
request costs more than a launch does."""
OVER = ("closed", "lost")


class CommandExchange:
    """The commands of one session; any thread may use it.

    Args:
        transport: To the server.
        answer: The session as the server describes it.
        rebuild: Builds the session's programs again: the server was restarted.

    Attributes:
        state, cause: Where the session is in its life, and why it ended, as the server's last answer had it.
        accepted: Number of the last command the server has.
        next: Number of the next command.
        open: Commands that have not ended, by number.
        failures: The last command that failed since `finish`.
    """

    def __init__(self, transport: Transport, answer: answers.Session, rebuild: Callable[[], None]) -> None:
        self._transport, self._rebuild = transport, rebuild
        self._path = f"/v1/sessions/{answer['session']}/commands"
        self.state: str = answer["state"]
        self.cause = answer["cause"]
        self.open: dict[int, SessionEvent] = {}
        self.failures: deque[SessionEvent] = deque(maxlen=1)
        self._open_bytes = 0
        self._joints: dict[int, tuple[frozenset[SessionEvent], SessionEvent]] = {}
        """Markers that stand for many commands, by the block of numbers they are of, each with those it comes after."""
        self._life, self._known = "", 0
        self._told_s = 0.0
        """Wall time of the last answer."""
        self._moved = False
        """Whether a server of another life answered one who waited: the next one who sends sees to the programs."""
        self._lock, self._sending = threading.RLock(), threading.Lock()
        self.accepted = self.next = 0
        self.send()
        self.next = self.accepted + 1

    # Any thread ---------------------------------------------------------------------------------------------------

    def add(
        self,
        session: SessionCalls,
        head: dict[str, Any],
        data: bytes = b"",
        after: Iterable[SessionEvent] = (),
        parts: Sequence[SessionEvent] = (),
    ) -> SessionEvent:
        """A command more; waits only while too many have not ended.

        Args:
            session: Whose.
            head: What it says.
            data: What it brings.
            after: What must have succeeded first.
            parts: Commands before it that belong to the same call.

        Raises:
            SessionFailed: The session has ended.
        """
        after = self._shorten_waits(session, after)
        while (event := self._numbered(session, head, data, after, parts)) is None:
            self._turn(min([*self.open], default=0), ASK_S)
        gathered = event.number - self.accepted
        if (gathered >= SOON and gathered % SOON == 0) or len(data) >= PIECE_BYTES:
            with contextlib.suppress(ServerUnreachable):  # it is taken: who waits for it is told
                self.send(patiently=False)
        return event

    def _shorten_waits(self, session: SessionCalls, after: Iterable[SessionEvent]) -> tuple[SessionEvent, ...]:
        """As few as one command may name; beyond that markers stand for blocks of them.

        A queue's barrier has all that come after it wait for all that came before, so blocks are of numbers, which
        later commands have alike, and a marker serves as long as what it comes after has not ended otherwise.
        """
        waits = tuple(each for each in dict.fromkeys(after) if not _is_complete(each))
        if len(waits) <= MAX_AFTER:
            return waits
        blocks: dict[int, list[SessionEvent]] = {}
        for each in waits:
            blocks.setdefault(each.number // MAX_AFTER, []).append(each)
        few = [self._joint(session, number, of) if len(of) > 1 else of[0] for number, of in blocks.items()]
        while len(few) > MAX_AFTER:
            few = [*few[MAX_AFTER:], self.add(session, {"do": "marker"}, after=few[:MAX_AFTER])]
        return tuple(few)

    def _joint(self, session: SessionCalls, block: int, waits: list[SessionEvent]) -> SessionEvent:
        known = self._joints.get(block)
        if known is not None:
            members, marker = known
            if members.issuperset(waits) and all(map(_is_complete, members.difference(waits))):
                return marker
        marker = self.add(session, {"do": "marker"}, after=waits)
        self._joints = {each: kept for each, kept in self._joints.items() if not kept[1].is_ended}
        self._joints[block] = frozenset(waits), marker
        return marker

    def _numbered(
        self,
        session: SessionCalls,
        head: dict[str, Any],
        data: bytes,
        after: Sequence[SessionEvent],
        parts: Sequence[SessionEvent],
    ) -> SessionEvent | None:
        """The command with its number; None where too many have not ended."""
        with self._lock:
            self.check_open()
            if len(self.open) >= MAX_OPEN or (self.open and self._open_bytes + len(data) > MAX_OPEN_BYTES):
                return None
            number, self.next = self.next, self.next + 1
            waits = [each.number for each in after if not _is_complete(each)]
            whole = {"n": number, **head, **({"after": waits} if waits else {})}
            event = self.open[number] = SessionEvent(session, number, whole, data, parts)
            self._open_bytes += len(data)
            return event

    def check_open(self) -> None:
        """Refuse what comes after the session's end.

        Raises:
            SessionFailed: It has ended.
        """
        if self.state in OVER:
            raise SessionFailed(f"The session has ended: {self.cause or self.state}.", command_code=self.cause)

    def wait(self, event: SessionEvent, timeout_s: float | None = None) -> None:
        """Return once a command has ended.

        Raises:
            TimeoutError: It has not in so many wall seconds.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not event.is_ended:
            left = ASK_S if until is None else until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"command {event.number} has not ended within {timeout_s:g} s")
            if len(self.open) >= SOON and self.accepted >= event.number:
                time.sleep(min(left, max(0.0, self._told_s + GATHER_S - time.monotonic())))
            self._turn(event.number, min(left, ASK_S))

    def flush(self) -> None:
        """Send what has gathered; does not wait for it."""
        while self._unsent():
            self.send()

    def finish(self, timeout_s: float | None = None) -> SessionEvent | None:
        """Wait until every command has ended; the last that failed since the last call.

        Raises:
            TimeoutError: They have not in so many wall seconds.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while last := max(self.open.copy().items(), default=()):
            self.wait(last[1], None if until is None else until - time.monotonic())
        with self._lock:
            return self.failures.pop() if self.failures else None

    # Requests -----------------------------------------------------------------------------------------------------

    def _unsent(self) -> bool:
        return self.next - 1 > self.accepted and self.state not in OVER

    def _turn(self, until: int, wait_s: float) -> None:
        """One request: with what has gathered, or, where all was sent, to wait for a command."""
        if self._unsent() or self._moved:
            self.send(until, min(wait_s, AT_FIRST_S))
        else:
            self.ask(until, wait_s)

    def ask(self, until: int = 0, wait_s: float = 0.0) -> None:
        """A request that brings nothing, and takes what has come; beside those of other threads that bring something.

        Args:
            until: Command to wait for.
            wait_s: Wall seconds for that.
        """
        life = self._life
        came = self._ask({"commands": [], "life": life, "known": self._known}, (), until, wait_s)
        with self._lock:
            if came is not None:
                self._take(life, *came)

    def send(self, until: int = 0, wait_s: float = 0.0, patiently: bool = True) -> None:
        """Send some of what has gathered, and take what came of it.

        Args:
            until: Command to wait for, where all was sent.
            wait_s: Wall seconds for that.
            patiently: Whether to wait for another thread that sends; else nothing is sent then.
        """
        if not self._sending.acquire(blocking=patiently):
            return
        try:
            with self._lock:
                heads, parts, more = self._batch()
                life, head = self._life, {"life": self._life, "known": self._known}
            head = {"commands": heads, **head}
            came = self._ask(head, parts, until, 0.0 if more else wait_s)
            if came is None:
                return
            found, data = came
            if life and found["life"] != life:
                self._rebuild()
            with self._lock:
                if found["life"] != life:
                    self._life, self._known, self.accepted, self._moved = found["life"], 0, 0, False
                self._take(found["life"], found, data)
        finally:
            self._sending.release()

    def _batch(self) -> tuple[list[Mapping[str, Any]], list[bytes], bool]:
        """What the next request says and brings, and whether there is more.

        A server that was restarted may ask for a read whose end was told before: a marker takes its number.
        """
        heads: list[Mapping[str, Any]] = []
        parts: list[bytes] = []
        size = 0
        for number in range(self.accepted + 1, self.next):
            event = self.open.get(number)
            data = b"" if event is None else event.data
            if len(heads) == AT_ONCE or (size > 0 and size + len(data) > AT_ONCE_BYTES):
                return heads, parts, True
            heads.append({"n": number, "do": "marker"} if event is None else event.head)
            parts.append(data)
            size += len(data)
        return heads, parts, False

    def _ask(
        self, head: Mapping[str, Any], parts: Sequence[bytes], until: int, wait_s: float
    ) -> tuple[Mapping[str, Any], bytes] | None:
        """One request; None where the answer is that the session has ended, which its commands are told."""
        waits = {"until": until, "wait_s": wait_s} if wait_s else {}
        try:
            answer = self._transport.request(
                "POST",
                self._path,
                content=pack_frame({**head, **waits}, parts),
                headers={"Content-Type": MEDIA_TYPE},
                answer_s=wait_s + self._transport.timeout_s if wait_s else None,
            )
        except NotFound as error:
            state = error.details.get("state")
            if not self._life or state not in OVER:
                raise
            self.lose(str(state), str(error.details.get("cause") or state))
            return None
        text, data = split_frame(answer.content)
        return json.loads(text), data

    def _take(self, life: str, head: Mapping[str, Any], data: bytes) -> None:
        """Take an answer to what was asked in a life of the server; answers may overtake each other."""
        if head["life"] != life or life != self._life:
            self._moved = self._moved or head["life"] != self._life
            return
        if self.state in OVER:
            return
        self.state, self.cause, self.accepted = head["state"], head["cause"], max(self.accepted, head["accepted"])
        self._told_s = time.monotonic()
        at = 0
        for serial, number, code, message, profile, size, log in head["results"]:
            event = self.open.pop(number, None)
            if event is not None:
                self._open_bytes -= len(event.data)
                event.end(code, message, profile, data[at : at + size], log)
                if code:
                    self.failures.append(event)
            self._known, at = max(self._known, serial), at + size
        running = set(head["running"])
        for number, event in self.open.items():
            if number <= self.accepted:
                event.current = CommandState.RUNNING if number in running else CommandState.SUBMITTED
        if self.state in OVER:
            self.lose(self.state, self.cause)

    def lose(self, state: str, cause: str) -> None:
        """The session has ended: nothing more will be answered."""
        with self._lock:
            self.state, self.cause = state, cause
            for event in self.open.values():
                event.end(f"session-{state}", f"the session has ended: {cause}", (0, 0, 0, 0), b"", "")
                self.failures.append(event)
            self.open.clear()
            self._open_bytes = 0


def _is_complete(event: SessionEvent) -> bool:
    return event.is_ended and event.error is None
