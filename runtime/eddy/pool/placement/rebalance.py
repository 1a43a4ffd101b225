# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which jobs an operator's `rebalance` takes from their boards: a function of what a head knows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from eddy.pool.mirror.board_drops import FLOODS, HELD_BACK
from eddy.pool.placement.placement import LINK_BPS, PoolView, remaining_s
from eddy.pool.records.records import RUNNING, JobFenced, PoolBoard, PoolJob

PAYS = 0.8
"""A running job is taken only where it would take less than this part of its time elsewhere, with sending."""


@dataclass(frozen=True, slots=True)
class RecalledJob:
    """A job to be taken from its board."""

    job: PoolJob
    because: str

    def applied(self, now: PoolJob, at_unix_s: float) -> PoolJob:
        """The job's record, taken back.

        Raises:
            Fenced: It is not as it was when this was decided.
        """
        if (now.token, now.state) != (self.job.token, self.job.state):
            raise JobFenced(f"Job {now.id} has gone on meanwhile.", job=now.id)
        return now.recall(self.because, at_unix_s)


def jobs_to_move(view: PoolView, running: bool) -> list[RecalledJob]:
    """Jobs that wait on a board while another that can run them has a place free, and all that wait on drained boards.
    A board that is held back for what it did counts as drained here, and keeps what it runs.

    Args:
        view: The pool; `waiting` counts against free places, as the head gives them to those first.
        running: Running jobs too, where a board with a free place would have done sooner, and from boards that an
            operator drained wherever another can run them; what they committed stays.
    """
    boards = {board.name: board for board in view.boards}
    has = Counter(job.board for job in view.given)
    places = _FreePlaces(view)
    for job in view.waiting:
        places.take(job)
    found = []
    runs = {job.id for job in view.given if job.state == RUNNING}
    for job in sorted(view.given, key=lambda job: job.id, reverse=True):
        here = boards.get(job.board)
        if here is None or job.id in runs:
            continue
        if here.drained:
            found.append(RecalledJob(job, f"{here.name} is {'held back' if _held_back(here) else 'drained'}"))
        elif has[here.name] > here.width and (place := places.take(job)):
            found.append(RecalledJob(job, f"{place} has a place free"))
            has[here.name] -= 1
    for job in sorted(view.given, key=lambda job: job.id) if running else ():
        here = boards.get(job.board)
        if here is not None and job.id in runs:
            if here.drained and not _held_back(here):
                if any(not each.drained and places.rules.allow(job, each) for each in boards.values()):
                    places.take(job)
                    found.append(RecalledJob(job, f"{here.name} is drained"))
                continue
            least_s = PAYS * remaining_s(job, here, view.estimates)
            if place := places.take(job, least_s - _sending_s(view, job)):
                found.append(RecalledJob(job, f"{place} would end it sooner"))
    return found


def _held_back(board: PoolBoard) -> bool:
    """Whether a board gets nothing for what it did, and not because an operator says so."""
    return board.drained.startswith((HELD_BACK, FLOODS))


class _FreePlaces:
    """Places of boards that no job has: those it runs at once, of boards that are not drained.

    Attributes:
        rules: Which boards may have which jobs; what takes a place is added.
    """

    def __init__(self, view: PoolView) -> None:
        has = Counter(job.board for job in view.given)
        self._boards = {board.name: board for board in view.boards if not board.drained}
        self._free = {name: max(board.width - has[name], 0) for name, board in self._boards.items()}
        self._estimates, self.rules = view.estimates, view.rules()

    def take(self, job: PoolJob, within_s: float = float("inf")) -> str:
        """The board with a free place where a job ends soonest, in less than so long; its place is taken then. Or
        ""."""
        free = [self._boards[name] for name, places in self._free.items() if places > 0]
        times = [(remaining_s(job, each, self._estimates), each.name) for each in free if self.rules.allow(job, each)]
        took_s, name = min(times, default=(float("inf"), ""))
        if not took_s < within_s:
            return ""
        self._free[name] -= 1
        self.rules.add(job, name)
        return name


def _sending_s(view: PoolView, job: PoolJob) -> float:
    """Seconds to send a job's inputs again, all of them."""
    return 8.0 * sum(view.sizes.get((job.tenant, sha), 0) for sha in job.blobs) / min(view.egress_bps, LINK_BPS)
