# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Every order in which two heads, two boards and their messages may act on one job, with the record's own functions.

Heads may both believe that they lead, and that any board's lease has ended; they may end between any two steps.
Messages to boards may be lost, late, or told again. A board may end and begin again, and what it asks for may come
late, twice, or after the job was placed elsewhere. Time does not occur: whatever may happen at some time may happen at
any. The job has two items, a part each; tokens go up to a bound.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from eddy.core.errors import Conflict
from eddy.pool.records.records import PLACED, QUEUED, RUNNING, SUCCEEDED, JobPart, PoolJob

BOARDS, HEADS, ITEMS, MAX_TOKENS = ("a", "b"), 2, 2, 4
NO_REASON = ()
PAGE = Path(__file__).parents[4] / "docs" / "explanations" / "pool.md"


class Record(NamedTuple):
    """What of a job's record the protocol goes by."""

    state: str = QUEUED
    board: str = ""
    token: int = 0
    parts: tuple[tuple[int, str, int], ...] = ()


def _part(first: int, board: str, token: int) -> JobPart:
    return JobPart(first, 1, {}, board, token, 0.0, 0.0)


@functools.cache
def changed(it: Record, how: str, *arguments: Any) -> Record | None:
    """A record after one of its own changes; None where that is refused."""
    parts = tuple(_part(*part) for part in it.parts)
    job = PoolJob(1, "t", {"application": "a", "batch": ITEMS}, 0.0, it.state, it.board, it.token, parts=parts)
    try:
        job = getattr(job, how)(*([_part(*arguments)] if how == "commit_part" else arguments))
    except Conflict:
        return None
    return Record(job.state, job.board, job.token, tuple((part.first, part.board, part.token) for part in job.parts))


class World(NamedTuple):
    """Everything.

    Attributes:
        record: Of the job, as the servers keep it.
        plans: Of heads, in order: the token and board one saw, and where it would place the job ("" to take it back).
        told: By board: tokens of placements that are in its queue.
        runs: By board: token of its run and the next item; or None.
        asked: By board: what it asks a head to commit and has no answer for: token and item; or None.
    """

    record: Record = Record()
    plans: tuple[tuple[int, str, str], ...] = ()
    told: tuple[frozenset[int], ...] = (frozenset(), frozenset())
    runs: tuple[tuple[int, int] | None, ...] = (None, None)
    asked: tuple[tuple[int, int] | None, ...] = (None, None)


def _set(values: tuple, at: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:at], value, *values[at + 1 :])


def steps(now: World) -> Iterator[World]:
    """What may happen next."""
    yield from _of_heads(now)
    for at, board in enumerate(BOARDS):
        yield from _of_board(now, at, board)


def _of_heads(now: World) -> Iterator[World]:
    record = now.record
    if len(now.plans) < HEADS and record.token < MAX_TOKENS:
        targets = BOARDS if record.state == QUEUED else ("",) if record.state in (PLACED, RUNNING) else ()
        for target in targets:
            yield now._replace(plans=tuple(sorted((*now.plans, (record.token, record.board, target)))))
    if record.state == PLACED:  # some head tells the board of the placement, perhaps again
        at = BOARDS.index(record.board)
        yield now._replace(told=_set(now.told, at, now.told[at] | {record.token}))
    for at, (token, board, target) in enumerate(now.plans):
        done = now._replace(plans=(*now.plans[:at], *now.plans[at + 1 :]))
        yield done  # the head ended, or lost the lease
        if (record.token, record.board) == (token, board):  # `Leader._changed`: else another was first
            then = changed(record, "place_on", target, 0.0, NO_REASON) if target else changed(record, "recall", "", 0.0)
            if then is not None:
                yield done._replace(record=then)


def _of_board(now: World, at: int, board: str) -> Iterator[World]:
    record, run, asked = now.record, now.runs[at], now.asked[at]
    mine = record.board == board and record.state in (PLACED, RUNNING)
    for token in now.told[at]:  # it fetches a message; a head answers with the record, or that it is placed elsewhere
        left = now._replace(told=_set(now.told, at, now.told[at] - {token}))
        if mine and record.token == token and (run is None or run[0] < token):
            yield left._replace(runs=_set(left.runs, at, (token, len(record.parts))))
        else:
            yield left
    if run is None:
        if mine:  # its agent begins again, and asks for what is its own
            yield now._replace(runs=_set(now.runs, at, (record.token, len(record.parts))))
    else:
        yield now._replace(runs=_set(now.runs, at, None))  # it ends, or hears that the token is not in force
        if record.board == board and (then := changed(record, "start", run[0], 0.0)) is not None:
            yield now._replace(record=then)
        if asked is None and run[1] < ITEMS:
            yield now._replace(asked=_set(now.asked, at, run), runs=_set(now.runs, at, (run[0], run[1] + 1)))
    if asked is not None:
        yield now._replace(asked=_set(now.asked, at, None))  # lost
        token, first = asked
        if record.board == board and (then := changed(record, "commit_part", first, board, token)) is not None:
            yield now._replace(record=then)  # committed, and the answer lost: it comes again
            yield now._replace(record=then, asked=_set(now.asked, at, None))


def explore() -> Iterator[tuple[World, tuple[World, ...]]]:
    """Every world that can come about, and what may happen next in it."""
    found, todo = {World()}, [World()]
    while todo:
        now = todo.pop()
        following = tuple(dict.fromkeys(steps(now)))
        yield now, following
        todo += (new := {*following} - found)
        found |= new


@functools.cache
def explored() -> dict[World, tuple[World, ...]]:
    """All of it."""
    return dict(explore())


def check(now: World, following: tuple[World, ...]) -> None:
    """See that a world, and what may happen next in it, is as it should be."""
    record = now.record
    assert [part[0] for part in record.parts] == list(range(len(record.parts))), "each item once"
    assert (record.state == SUCCEEDED) == (len(record.parts) == ITEMS)
    for then in following:
        if then.record == record:
            continue
        assert record.state != SUCCEEDED, "a job that has ended changes no more"
        assert then.record.token >= record.token
        new = then.record.parts[len(record.parts) :]
        assert then.record.parts[: len(record.parts)] == record.parts, "what is committed stays"
        assert len(new) <= 1
        if new:
            assert new[0][1:] == (record.board, record.token), "who commits has the placement in force"
        if then.record.state == PLACED:
            assert then.record.token == record.token + 1, "each placement has a token of its own"


def check_all(worlds: Iterable[tuple[World, tuple[World, ...]]]) -> None:
    """`check` of each."""
    for now, following in worlds:
        check(now, following)


def test_no_order_of_events_counts_an_item_twice_or_under_an_old_token() -> None:
    check_all(explored().items())
    assert len(explored()) > 50_000


def test_a_protocol_that_does_not_fence_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds nothing wrong has to find something where something is."""
    monkeypatch.setattr(PoolJob, "_check", lambda job, token: None)
    changed.cache_clear()
    try:
        with pytest.raises(AssertionError, match=r"placement in force|each item once|no more"):
            check_all(explore())
    finally:
        changed.cache_clear()


def test_from_every_state_the_job_can_still_succeed() -> None:
    """Nothing that may happen leaves the job where nobody can go on, unless tokens were to end."""
    worlds = explored()
    before: dict[World, list[World]] = {}
    for now, following in worlds.items():
        for then in following:
            before.setdefault(then, []).append(now)
    good = {now for now in worlds if now.record.state == SUCCEEDED}
    todo = [*good]
    while todo:
        for now in before.get(todo.pop(), ()):
            if now not in good:
                good.add(now)
                todo.append(now)
    left = {now.record.token for now in worlds.keys() - good}
    assert left <= {MAX_TOKENS}, "only where this test allows no further placement"


def situation(now: World, at: int) -> tuple[str, str, str, str]:
    """How a board stands to the record: where the job is, and what of queue, run and request is in force."""
    record, run = now.record, now.runs[at]
    token = record.token if record.board == BOARDS[at] and record.state in (PLACED, RUNNING) else None

    def force(tokens: set[int]) -> str:
        return "none" if not tokens else "in force" if token in tokens else "old"

    asked = now.asked[at]
    place = "ended" if record.state == SUCCEEDED else "here" if token is not None else "elsewhere"
    return (
        place,
        force({*now.told[at]}),
        force(set() if run is None else {run[0]}),
        force(set() if asked is None else {asked[0]}),
    )


def test_the_page_has_every_situation_that_is_left() -> None:
    """As docs/explanations/pool.md tells them: nothing else comes about between a board and the record."""
    seen = Counter(situation(now, at) for now in explored() for at in range(len(BOARDS)))
    rows = re.findall(
        r"^\| (here|elsewhere|ended) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE.read_text(), re.M
    )
    told = {
        combination
        for place, *cells in rows
        for combination in itertools.product([place], *([each.strip() for each in cell.split(",")] for cell in cells))
    }
    assert set(seen) == told
