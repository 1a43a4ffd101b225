# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Boards that drop what they are given: how that is noticed, and how long such a board gets nothing more.

A board that takes a job and ends its lease, does not work on it, or cannot run anything, is free again at once, so a
policy would choose it before all others. A second drop in a row, with nothing committed in between, holds it back, and
each further one for twice as long. One that says that it works and commits nothing
(`eddy.pool.placement.stall_timeout`) is held back at once, whatever else it commits. All of it follows from the records
of jobs, which every head reads.

What fails a job is named (`JOBS_OWN`). Whatever else a board says of a job gives it back, and a job that was given to
boards in vain too often is ended (`after_recall`), so that one which breaks every board it runs on does not go on.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.client.transport.errors import AnswerTimeout, ServerUnreachable
from eddy.core.errors import (
    BoardNotReady,
    BoardUnreachable,
    CompilationFailed,
    ForeignDesign,
    InvalidRequest,
    StorageDamaged,
    StorageFailed,
    StorageFull,
    StorageInUse,
    StorageReadOnly,
    Unauthorized,
)
from eddy.core.submission_options import ITS_OWN, NOT_ITS_FAULT
from eddy.pool.records.records import PoolBoard, PoolJob

LEASE_ENDED, NOT_WORKED_ON, UNABLE = "its lease ended", "it does not work on it", "it cannot run anything"
NOT_COMMITTED = "it committed nothing of it"
"""Why a job is taken from a board, where that is the board's doing: what reasons begin with."""
REFUSED = "it refused it"
"""The same, where the board may run other jobs: it is not held back, and the job goes to others first."""
HELD_BACK = "it dropped what it was given"
FLOODS = "it floods the pool with"
JOBS_OWN = frozenset((*ITS_OWN, InvalidRequest.code, CompilationFailed.code))
"""Causes and codes of refusals that say something of the job, wherever it runs: these alone fail it."""
BOARDS_OWN = frozenset(
    kind.code
    for kind in (
        *(BoardNotReady, BoardUnreachable, ForeignDesign, Unauthorized, ServerUnreachable, AnswerTimeout),
        *(StorageDamaged, StorageFailed, StorageFull, StorageInUse, StorageReadOnly),
    )
) | frozenset(NOT_ITS_FAULT)
"""Causes and codes of refusals that say something of the board and nothing of the job."""
IN_VAIN = "tried-too-often"
"""Cause of the end of a job that boards were given in vain."""
MAX_TRIES, FROM_BOARDS, MAX_OF_FEW = 8, 3, 32
"""A job is ended after so many tries in a row in vain, where these were of at least three boards or all refused it;
after 32 in any case. One board, or two of one bench, may lose power some times."""
NAMED_WITHIN_S = 10.0
"""Seconds in which a board that renews its lease names a job it was given among those it works on."""
ONE_DROP_S = 1.0
"""Jobs that a board drops within so many seconds are one drop: all it had, when it ends."""
MAX_KEPT = 16
"""Drops in a row that are remembered; the last of so many hold a board back for as long as any do."""
FIRST_S, MAX_S = 5.0, 600.0
"""Seconds that the second drop in a row holds a board back, and most that any does."""
SILENT_S, FORGIVEN_S = 60.0, 3600.0
"""Seconds that a board is held back at first where it committed nothing, and after which the next time is the first."""


@dataclass(slots=True)
class _Dropped:
    """Drops of a board in a row: when they were, in order."""

    at_s: list[float] = field(default_factory=list)

    def drop(self, at_s: float) -> None:
        """One more; they may come in any order, where records tell them."""
        at = bisect.bisect_left(self.at_s, at_s)
        if all(abs(at_s - each) >= ONE_DROP_S for each in self.at_s[max(at - 1, 0) : at + 1]):
            self.at_s.insert(at, at_s)
            del self.at_s[:-MAX_KEPT]

    def forgive(self, until_s: float) -> None:
        """What was until then counts no more."""
        del self.at_s[: bisect.bisect_right(self.at_s, until_s)]

    def held_s(self, first: int, first_s: float, now_s: float) -> float:
        """Seconds for which it holds the board back, where drop number `first` does so for `first_s`."""
        if len(self.at_s) < first:
            return 0.0
        held_s = min(first_s * 2.0 ** (len(self.at_s) - first), MAX_S)
        return max(self.at_s[-1] + held_s - now_s, 0.0)


def after_board_failure(job: PoolJob, token: int, error: Mapping[str, Any], now_s: float) -> PoolJob:
    """A job of which its board says that it failed: failed where that is the job's own matter, else given back.

    Args:
        token: Under which the board has it.
        error: What the board says: `code`, `cause` and `message`.
        now_s: Wall time, seconds since 1970.

    Raises:
        Fenced: The token is not the one in force.
    """
    cause = error["cause"] or error["code"]
    if cause in JOBS_OWN:
        return job.failed(token, error, now_s)
    because = f"{UNABLE if cause in BOARDS_OWN else REFUSED}: {cause}"
    return after_recall(job.return_refused(token, because, now_s), now_s)


def after_recall(job: PoolJob, now_s: float) -> PoolJob:
    """A job that was taken from a board; ended where that happened too often in a row with nothing committed."""
    tries = _in_vain(job)
    refused = all(str(move["because"]).startswith(REFUSED) for move in tries)
    few = len({move["from"] for move in tries}) < FROM_BOARDS and not refused
    if len(tries) < (MAX_OF_FEW if few else MAX_TRIES):
        return job
    last = dict.fromkeys(f"{move['from']}: {move['because']}" for move in tries[-MAX_TRIES:])
    message = f"Boards were given it {len(tries)} times and committed nothing more of it. The last: {'; '.join(last)}."
    return job.stop({"code": "job-failed", "cause": IN_VAIN, "message": message}, now_s)


def refused_by(job: PoolJob) -> frozenset[str]:
    """Boards that refused a job since something of it was committed."""
    return frozenset(str(move["from"]) for move in _in_vain(job) if str(move["because"]).startswith(REFUSED))


def _in_vain(job: PoolJob) -> list[Mapping[str, Any]]:
    """Tries since something of a job was committed. That a board committed nothing in time has a measure of its own."""
    reasons = (LEASE_ENDED, NOT_WORKED_ON, UNABLE, REFUSED)
    return [move for move in job.moves if move.get("done") == job.done and str(move["because"]).startswith(reasons)]


class BoardDrops:
    """What boards dropped.

    Args:
        clock: Seconds that never jump.
        date: Wall time, seconds since 1970; tells how long ago something was that this head did not see happen.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, date: Callable[[], float] = time.time) -> None:
        self._clock, self._date = clock, date
        self._committed: dict[str, float] = {}
        self._dropped: dict[str, _Dropped] = {}
        self._silent: dict[str, _Dropped] = {}
        self._seen: dict[int, tuple[int, int]] = {}
        self._unnamed: dict[tuple[int, int], float] = {}

    def learn(self, job: PoolJob, news: bool = True) -> None:
        """Take in what a job's record says that was not seen yet; one told again says nothing new.

        Args:
            news: Whether it happened now; else it counts as of its date, as for a head that has just started.
        """
        if job.is_ended and job.id not in self._seen:
            return
        moves, parts = self._seen.get(job.id, (0, 0))
        for part in job.parts[parts:]:
            at_s = self._at_s(part.ended_unix_s, news)
            self._committed[part.board] = max(self._committed.get(part.board, at_s), at_s)
            if part.board in self._dropped:
                self._dropped[part.board].forgive(at_s)
        for move in job.moves[moves:]:
            self._moved(str(move["from"]), str(move["because"]), self._at_s(float(move.get("at_unix_s", 0.0)), news))
        self._seen[job.id] = len(job.moves), len(job.parts)
        if job.is_ended:
            del self._seen[job.id]

    def _at_s(self, unix_s: float, news: bool) -> float:
        """When something was, by the clock: now, where it is news; else as it was dated, and never later than now."""
        return self._clock() - (0.0 if news else max(self._date() - unix_s, 0.0))

    def _moved(self, board: str, because: str, at_s: float) -> None:
        if because.startswith((LEASE_ENDED, NOT_WORKED_ON, UNABLE)):
            if at_s >= self._committed.get(board, float("-inf")):
                self._dropped.setdefault(board, _Dropped()).drop(at_s)
        elif because.startswith(NOT_COMMITTED):
            silent = self._silent.setdefault(board, _Dropped())
            last_s = silent.at_s[-1] if silent.at_s else at_s
            if at_s - last_s > FORGIVEN_S:
                silent.at_s.clear()
            if last_s - at_s <= FORGIVEN_S:
                silent.drop(at_s)

    def hold_back_s(self, board: str) -> float:
        """Seconds for which a board gets nothing more; 0 where it may have something."""
        now_s, none = self._clock(), _Dropped()
        dropped_s = self._dropped.get(board, none).held_s(2, FIRST_S, now_s)
        return max(dropped_s, self._silent.get(board, none).held_s(1, SILENT_S, now_s))

    def unnamed_jobs(self, jobs: Iterable[PoolJob], boards: Mapping[str, PoolBoard]) -> list[PoolJob]:
        """Jobs that their boards have not named for `NAMED_WITHIN_S` in their leases.

        Args:
            jobs: On boards whose lease holds; asked for all of them each time.
            boards: As they last said, by name.
        """
        now_s = self._clock()
        before, self._unnamed = self._unnamed, {}
        found = []
        for job in jobs:
            if job.id not in boards[job.board].running:
                since_s = self._unnamed[job.id, job.token] = before.get((job.id, job.token), now_s)
                if now_s - since_s >= NAMED_WITHIN_S:
                    found.append(job)
        return found
