# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long a board is believed that names a job as running and commits nothing of it.

What is counted is time in which the board could have worked on the job, as the leading head sees it pass: while
renewals of leases would be heard, shared with the jobs of its own that the board tells of. A job is taken back once
that exceeds what its next part may take, and only where another board can run it. A job whose parts truly take longer
is given twice the time at each further try, so it ends on some board in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from eddy.pool.mirror.board_drops import NOT_COMMITTED
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.placement.placement import PoolView
from eddy.pool.records.records import AHEAD, RUNNING, PoolBoard, PoolJob

MIN_S = 300.0
"""Seconds that any part may take, beside `TIMES` what is expected of it."""
TIMES = 8.0
"""How many times the 90th percentile of its time a part may take."""
SLOWEST_BPS = 1e6
"""A link that sends inputs at this rate is one of the slowest."""
MAX_OWN = 63
"""Jobs of a board's own that count, at most."""


@dataclass(slots=True)
class _Watched:
    """A placement, as it was seen last.

    Attributes:
        done: Items committed.
        spent_s: Since that was seen to change.
        slowest_item_s: Longest that an item took on this board, by this count.
    """

    state: str
    done: int
    spent_s: float = 0.0
    slowest_item_s: float = 0.0

    def observe(self, job: PoolJob, passed_s: float) -> None:
        """Take in how the job is now, and that the board had so much time more for it."""
        self.spent_s += passed_s
        if (job.state, job.done) == (self.state, self.done):
            return
        if job.done > self.done:
            self.slowest_item_s = max(self.slowest_item_s, self.spent_s / (job.done - self.done))
        self.state, self.done, self.spent_s = job.state, job.done, 0.0


class StallTimeout:
    """One head's, with boards that commit nothing.

    Args:
        least_s: Seconds that any part may take, beside what is expected of it.
    """

    def __init__(self, least_s: float = MIN_S) -> None:
        self._least_s = least_s
        self._heard_s = float("inf")
        self._watched: dict[tuple[int, int], _Watched] = {}

    def jobs_to_recall(self, view: PoolView, heard_s: float) -> list[tuple[PoolJob, str]]:
        """Jobs to be taken back, each with the reason; asked again and again.

        Args:
            view: The pool. Of boards, those whose lease holds.
            heard_s: Time in which renewals of leases would have been heard, since any moment.
        """
        passed_s, self._heard_s = max(heard_s - self._heard_s, 0.0), heard_s
        before, self._watched = self._watched, {}
        boards = {board.name: board for board in view.boards}
        given = Counter(job.board for job in view.given)
        running = Counter(job.board for job in view.given if job.state == RUNNING)
        works = {work for work, _ in view.estimates.known}
        found = []
        for job in view.given:
            board = boards.get(job.board)
            if board is None or job.id not in board.running:
                continue  # its lease has ended, or it does not say that it works on this
            key = job.id, job.token
            watched = self._watched[key] = before.get(key) or _Watched(job.state, job.done)
            # What it was given tells what it said before; one that says less now is not waited for longer.
            width = max(board.width, given[board.name] - AHEAD)
            watched.observe(job, passed_s * _share(board, width, running[board.name]))
            expected_s = _expected_s(job, board, watched, view, works, running[board.name] < width)
            if expected_s is None:
                watched.spent_s = 0.0
            elif watched.spent_s > (self._least_s + TIMES * expected_s) * 2.0 ** _tries(job) and _elsewhere(job, view):
                found.append((job, f"{NOT_COMMITTED} in {watched.spent_s:.0f} s; {expected_s:.2g} s were expected"))
        return found


def _share(board: PoolBoard, width: int, running: int) -> float:
    """Of a board's time, what each job of the pool that it runs has at least."""
    own = min(max(board.load - len(board.running), 0), MAX_OWN)
    return min(width / max(running, 1), 1.0) / (1 + own)


def _expected_s(
    job: PoolJob, board: PoolBoard, watched: _Watched, view: PoolView, works: Collection[str], place_free: bool
) -> float | None:
    """Seconds until the next that should be heard of a job; None where that cannot be told.

    One that is not taken up waits for its inputs, unless all places of its board are taken. How long a kernel takes is
    in its arguments, and it is one part: what other runs took says nothing.
    """
    if job.state != RUNNING:
        bits = 8 * sum(view.sizes.get((job.tenant, sha), 0) for sha in job.blobs)
        return bits / SLOWEST_BPS if place_free else None
    if job.request.get("kernel") or job.work not in works:
        return None
    return _items(job) * max(_item_s(view.estimates, job, board), watched.slowest_item_s)


def _item_s(estimates: Estimates, job: PoolJob, board: PoolBoard) -> float:
    return estimates.item_s(job.timed, board.kind)[1]


def _items(job: PoolJob) -> int:
    """Most items that the next part has: one at first, and then at most twice as many as the part before."""
    last = job.parts[-1] if job.parts else None
    most = 2 * last.items if last is not None and last.token == job.token else 1
    return min(most, job.batch - job.done)


def _tries(job: PoolJob) -> int:
    """How often it was taken back for this."""
    return sum(str(move["because"]).startswith(NOT_COMMITTED) for move in job.moves)


def _elsewhere(job: PoolJob, view: PoolView) -> bool:
    """Whether another board may have it."""
    others = [board for board in view.boards if board.name != job.board and not board.drained and board.runs(job)]
    if not others:
        return False
    rules = view.rules()
    return any(rules.allow(job, board) for board in others)
