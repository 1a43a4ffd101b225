# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of a session between client and server: threads that wait stop none that go on; each is done once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from eddy.client.calls.command_exchange import AT_FIRST_S, GATHER_S, SOON, CommandExchange
from eddy.client.calls.session_events import SessionEvent, SessionFailed
from eddy.client.transport.errors import ServerUnreachable
from eddy.core.errors import NotFound
from eddy.core.frames import pack_frame, split_frame

MARKER = {"do": "marker"}


class Answer:
    """What a request brings."""

    def __init__(self, content: bytes) -> None:
        self.content = content


class Service:
    """A server of one session: commands end when the test says so, and long waits last until then.

    Attributes:
        came: Numbers of commands, as they came.
        waits: Set while somebody waits at length.
    """

    timeout_s = 5.0

    def __init__(self) -> None:
        self.life, self.came, self.state, self.gone = "one", list[int](), "resident", False
        self.away = False
        self.results: list[list[Any]] = []
        self.waits, self._told = threading.Event(), threading.Condition()
        self.before_answer: Callable[[], None] = lambda: None

    def end(self, number: int, code: str = "") -> None:
        """A command ends."""
        with self._told:
            self.results.append([len(self.results) + 1, number, code, code, [1, 2, 3, 4], 0, ""])
            self._told.notify_all()

    def restart(self) -> None:
        """Another life, which knows nothing."""
        with self._told:
            self.life, self.came, self.results = "two", [], []
            self._told.notify_all()

    def request(self, method: str, path: str, *, content: bytes, **_: Any) -> Answer:
        """As a transport."""
        head = json.loads(split_frame(content)[0])
        if self.away:
            raise ServerUnreachable("it does not answer")
        if self.gone:
            raise NotFound("it has ended", field="session", state="lost", cause="board-lost")
        numbers = [each["n"] for each in head["commands"]]
        with self._told:
            if head["life"] not in ("", self.life):
                numbers = []  # as the server: it was meant for another one
            expected = len(self.came) + 1
            assert numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else True
            assert not numbers or numbers[0] <= expected, "a gap"
            self.came += [number for number in numbers if number >= expected]
            if head.get("wait_s", 0) > AT_FIRST_S:
                assert not numbers, "who waits at length brings nothing"
                self.waits.set()
                life = self.life
                done = lambda: self.life != life or any(each[1] == head["until"] for each in self.results)  # noqa: E731
                assert self._told.wait_for(done, 30)
            known = head["known"] if head["life"] == self.life else 0
            told = {
                **{"life": self.life, "state": self.state, "cause": "", "accepted": len(self.came)},
                **{"results": [each for each in self.results if each[0] > known], "running": []},
            }
        self.before_answer()
        return Answer(pack_frame(told))


class Exchange(CommandExchange):
    """With its service, and a count of what was built again."""

    def __init__(self) -> None:
        self.service, self.rebuilt = Service(), 0
        super().__init__(
            cast(Any, self.service), cast(Any, {"session": "s", "state": "resident", "cause": ""}), self.again
        )

    def again(self) -> None:
        """Programs are built again."""
        assert not self.service.came, "before any command is sent again"
        self.rebuilt += 1

    def marker(self) -> SessionEvent:
        """A command."""
        return self.add(cast(Any, None), dict(MARKER))


def waiting(exchange: Exchange, event: Any) -> threading.Thread:
    """A thread that waits for a command; when this returns it does."""
    thread = threading.Thread(target=exchange.wait, args=(event,), daemon=True)
    thread.start()
    assert exchange.service.waits.wait(30)
    return thread


def test_who_waits_at_length_stops_nobody() -> None:
    exchange = Exchange()
    first = exchange.marker()
    reader = waiting(exchange, first)
    rest = [exchange.marker() for _ in range(3 * SOON)]
    exchange.flush()
    assert exchange.service.came == [first.number, *(each.number for each in rest)]
    for each in rest:
        exchange.service.end(each.number)
    exchange.send()
    assert all(each.is_ended for each in rest)
    assert not first.is_ended
    exchange.service.end(first.number)
    reader.join(30)
    assert first.state == "complete"
    assert not exchange.open


def test_who_waits_sees_a_restart_and_everything_is_sent_again_after_its_programs() -> None:
    exchange = Exchange()
    events = [exchange.marker() for _ in range(3)]
    reader = waiting(exchange, events[-1])
    exchange.service.waits.clear()
    exchange.service.restart()
    assert exchange.service.waits.wait(30), "it waits again, of the new life"
    assert exchange.rebuilt == 1
    assert exchange.service.came == [1, 2, 3]
    for each in events:
        exchange.service.end(each.number)
    reader.join(30)
    assert [each.state for each in events] == ["complete"] * 3


def test_an_answer_that_was_overtaken_takes_nothing_back() -> None:
    exchange = Exchange()
    first = exchange.marker()
    reader = waiting(exchange, first)
    overtaken, go_on = threading.Event(), threading.Event()

    def held() -> None:
        if threading.current_thread() is reader:
            overtaken.set()
            assert go_on.wait(30)

    exchange.service.before_answer = held
    exchange.service.end(first.number)  # its answer is under way, and knows of one command
    assert overtaken.wait(30)
    second = exchange.marker()
    exchange.flush()
    exchange.service.end(second.number)
    exchange.send()
    go_on.set()
    reader.join(30)
    assert exchange.accepted == 2
    assert first.profile == second.profile == (1, 2, 3, 4)
    third = exchange.marker()
    exchange.flush()
    assert exchange.service.came == [1, 2, third.number]


def test_the_last_failure_is_told_once_and_nothing_comes_after_the_end() -> None:
    exchange = Exchange()
    bad: SessionEvent = exchange.marker()
    good = exchange.marker()
    exchange.flush()
    exchange.service.end(bad.number, "memory-exhausted")
    exchange.service.end(good.number)
    assert exchange.finish(10) is bad, "not what ended well after it"
    assert bad.error == ("memory-exhausted", "memory-exhausted")
    assert exchange.finish(10) is None
    exchange.service.state = "lost"
    under_way: SessionEvent = exchange.marker()
    exchange.flush()
    assert under_way.error == ("session-lost", "the session has ended: ")
    with pytest.raises(SessionFailed, match="has ended"):
        exchange.marker()


def test_a_session_that_ended_meanwhile_tells_its_commands() -> None:
    exchange = Exchange()
    event = exchange.marker()
    exchange.flush()
    exchange.service.gone = True
    exchange.wait(event, 10)
    assert event.error == ("session-lost", "the session has ended: board-lost")
    assert (exchange.state, exchange.cause) == ("lost", "board-lost")


def test_while_the_server_is_away_commands_are_taken_and_who_waits_is_told() -> None:
    exchange = Exchange()
    exchange.service.away = True
    events = [exchange.marker() for _ in range(2 * SOON)]
    with pytest.raises(ServerUnreachable):
        exchange.wait(events[-1], 10)
    exchange.service.away = False
    exchange.flush()
    assert exchange.service.came == [each.number for each in events]


def test_a_server_that_knows_less_than_it_told_is_given_markers_for_what_ended() -> None:
    exchange = Exchange()
    first = exchange.marker()
    exchange.flush()
    exchange.service.end(first.number)
    exchange.wait(first, 10)
    exchange.service.restart()
    second = exchange.marker()
    exchange.flush()
    assert exchange.service.came == [first.number, second.number]
    exchange.service.end(first.number)
    exchange.service.end(second.number)
    exchange.wait(second, 10)
    assert not exchange.open


def test_while_many_are_to_end_ends_gather_and_while_few_are_they_are_asked_for_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exchange, slept = Exchange(), list[float]()
    ended = iter(range(1, SOON + 10))

    def turn(until: int, wait_s: float) -> None:
        """An answer with the next end alone."""
        exchange.service.end(next(ended))
        CommandExchange.ask(exchange, until)

    monkeypatch.setattr("eddy.client.calls.command_exchange.time.sleep", slept.append)
    monkeypatch.setattr("eddy.client.calls.command_exchange.time.monotonic", lambda: 1000.0)
    events = [exchange.marker() for _ in range(SOON + 2)]
    exchange.send()
    monkeypatch.setattr(exchange, "_turn", turn)
    for event in events:
        exchange.wait(event)
    assert slept == pytest.approx([GATHER_S] * 3)
