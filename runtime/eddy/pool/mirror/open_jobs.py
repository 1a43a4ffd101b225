# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The jobs of a pool that have not ended, filed by what a head asks of them.

A change of one job changes what is filed of it and of jobs that come after it, and nothing else is looked at. So what
a decision costs follows what boards have and what they can be given, and not how many jobs wait.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from eddy.core.board_constraints import FIELDS
from eddy.core.submission_options import Condition, Predecessor
from eddy.hypervisor.intake.deadlines import CAUSE as DEADLINE_PASSED
from eddy.hypervisor.intake.dependency_hold import CAUSE as DEPENDENCY_FAILED
from eddy.hypervisor.intake.dependency_hold import NEVER as DEPENDENCY_NEVER
from eddy.pool.mirror.planning_order import Fits, interleave_queues, priority
from eddy.pool.records.records import CANCELLED, FAILED, QUEUED, SUCCEEDED, PoolJob


class PartnerBoards:
    """Boards of partners, for as long as an open job names them.

    Args:
        find: Finds a job that is not among the open ones.
    """

    def __init__(self, find: Callable[[int], PoolJob | None]) -> None:
        self._find = find
        self._followers: dict[int, set[int]] = {}
        self._board: dict[int, str] = {}

    @property
    def boards(self) -> Mapping[int, str]:
        """By number: the board that has it, or had it at its end; "" while none has. One that ended without a board,
        or whose record is gone, is missing: nothing of it is anywhere."""
        return self._board

    def named(self, number: int) -> bool:
        """Whether an open job goes with one."""
        return number in self._followers

    def add_record(self, job: PoolJob, before: PoolJob | None, known: Mapping[int, PoolJob]) -> None:
        """A job is new, or changed, or has ended.

        Args:
            before: As it was, if it was open.
            known: Jobs that have not ended, by number.
        """
        if job.id in self._followers:
            self.observe(job)
        partner = job.request.get("same_board_as")
        if partner is None:
            return
        if job.is_ended:
            self.drop(job)
        elif before is None:
            self._followers.setdefault(partner, set()).add(job.id)
            if (there := known.get(partner) or self._find(partner)) is not None:
                self.observe(there)

    def observe(self, partner: PoolJob) -> None:
        """Take in where a partner is."""
        if partner.is_ended and not partner.last_board:
            self._board.pop(partner.id, None)
        else:
            self._board[partner.id] = partner.last_board if partner.is_ended else partner.board

    def miss(self, number: int) -> None:
        """A partner's record is gone, or cannot be read."""
        self._board.pop(number, None)

    def drop(self, job: PoolJob) -> None:
        """A job that was to go with another has ended, or is gone."""
        partner = job.request.get("same_board_as")
        if partner is None or partner not in self._followers:
            return
        self._followers[partner].discard(job.id)
        if not self._followers[partner]:
            del self._followers[partner]
            self.miss(partner)


_Key = tuple[int, bool]
"""A job or an array: its number, and whether it is an array."""
_OPEN, _GOOD, _BAD = "open", "good", "bad"
"""How one stands that is waited for."""
_File = tuple[int, str, str, tuple[object, ...]]
"""Priority, tenant, what the jobs run (an application's name, or "" for kernels, which boards take all or none of), and
what they ask of boards."""


class Termination(NamedTuple):
    """A job that is to be ended, though no board says so.

    Attributes:
        state: As what it ends.
    """

    job: PoolJob
    error: Mapping[str, Any]
    state: str


@dataclass(slots=True)
class _Turns:
    """The jobs of an array of which boards have only so many at once.

    Attributes:
        given: Those that boards have.
        ready: Those that wait for nothing but their turn, by number.
        shown: Those of them whose turn it is.
    """

    most: int
    given: set[int] = field(default_factory=set)
    ready: SortedDict = field(default_factory=SortedDict)
    shown: dict[int, PoolJob] = field(default_factory=dict)


class OpenJobs(Mapping[int, PoolJob]):
    """Jobs by number.

    Args:
        jobs: Those that are there at first.
        is_failed: Whether the job of a number, or one of the array, is known elsewhere to have ended without success.
        find: Finds a job that has ended.

    Attributes:
        failed: Numbers of jobs of which that is known here alone.
        partners: Boards of jobs that others go with.
    """

    def __init__(
        self,
        jobs: Iterable[PoolJob] = (),
        is_failed: Callable[[int, bool], bool] = lambda *_: False,
        find: Callable[[int], PoolJob | None] = lambda _: None,
    ) -> None:
        self.failed: set[int] = set()
        self._is_failed = is_failed
        self.partners = PartnerBoards(find)
        self._jobs: dict[int, PoolJob] = {}
        self._of: Counter[str] = Counter()
        self._on: dict[str, dict[int, PoolJob]] = {}
        self._ready: dict[_File, SortedDict] = {}
        self._followers: dict[_Key, set[int]] = {}
        self._members: dict[int, set[int]] = {}
        """By array: its jobs that have not ended."""
        self._failed_arrays: set[int] = set()
        self._turns: dict[int, _Turns] = {}
        self._lost: dict[int, Condition] = {}
        """Jobs that wait in vain, and for what."""
        self._dates: list[tuple[float, int]] = []
        self._late: set[int] = set()
        for job in jobs:
            self.add_record(job)

    def __getitem__(self, number: int) -> PoolJob:
        return self._jobs[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)

    def add_record(self, job: PoolJob) -> None:
        """A job is new, or changed; one that has ended is kept no longer."""
        before = self._jobs.pop(job.id, None)
        self.failed.discard(job.id)  # it may have another end, of servers that lost the first
        if before is not None:
            self._unfile(before)
        elif job.late_end and job.deadline_s is not None and not job.is_ended:
            heapq.heappush(self._dates, (job.submitted_unix_s + job.deadline_s, job.id))
        if not job.is_ended:
            self._jobs[job.id] = job
            self._file(job)
        elif job.state != SUCCEEDED and not self._is_failed(job.id, False):
            self.failed.add(job.id)
        self.partners.add_record(job, before, self._jobs)
        self._note_in_array(job)
        if job.is_ended or before is None:
            self._look_again((job.id, False))
            if job.array is not None:
                self._look_again((job.array.id, True))

    def drop_record(self, number: int) -> None:
        """A job's record is gone, or cannot be read: it is kept no longer, and counts as one that did not succeed."""
        self.failed.add(number)
        self.partners.miss(number)
        if (before := self._jobs.pop(number, None)) is not None:
            self._unfile(before)
            self.partners.drop(before)
            self._note_in_array(replace(before, state=FAILED))
        self._look_again((number, False))
        if before is not None and before.array is not None:
            self._look_again((before.array.id, True))

    def names(self, number: int, array: int | None) -> bool:
        """Whether a job that has not ended waits for one, or for its array, or goes with it."""
        waited_for = (number, False) in self._followers or (array, True) in self._followers
        return waited_for or self.partners.named(number)

    def _look_again(self, key: _Key) -> None:
        """What waits for a job or an array is filed again: something became of that."""
        for number in self._followers.get(key, ()):
            self._unfile_waiting(self._jobs[number])
            self._file_waiting(self._jobs[number])

    def _note_in_array(self, job: PoolJob) -> None:
        """Keep what is known of the array of a job that is new, or changed."""
        if job.array is None:
            return
        members = self._members.setdefault(job.array.id, set())
        if not job.is_ended:
            members.add(job.id)
            return
        members.discard(job.id)
        if job.state != SUCCEEDED and not self._is_failed(job.array.id, True):
            self._failed_arrays.add(job.array.id)
        if not members:
            del self._members[job.array.id]

    def _file(self, job: PoolJob) -> None:
        self._of[job.tenant] += 1
        if job.board:
            self._on.setdefault(job.board, {})[job.id] = job
            self._turn(job, given=True)
        if job.state == QUEUED:
            for each in job.after:
                self._followers.setdefault((each.id, each.array), set()).add(job.id)
            self._file_waiting(job)

    def _unfile(self, job: PoolJob) -> None:
        self._of[job.tenant] -= 1
        if not self._of[job.tenant]:
            del self._of[job.tenant]
        if job.board:
            _without(self._on, job.board, job.id)
            self._turn(job, given=False)
        if job.state == QUEUED:
            for key in {(each.id, each.array) for each in job.after}:
                self._followers[key].discard(job.id)
                if not self._followers[key]:
                    del self._followers[key]
            self._unfile_waiting(job)

    def _file_waiting(self, job: PoolJob) -> None:
        stands = [self._stands(each) for each in job.after]
        for each, how in zip(job.after, stands, strict=True):
            if (each.wanted is Condition.SUCCESS and how == _BAD) or (
                each.wanted is Condition.FAILURE and how == _GOOD
            ):
                self._lost[job.id] = each.wanted
                return
        if all(how in (_GOOD, _BAD) for how in stands):
            self._turn(job, ready=True)

    def _stands(self, each: Predecessor) -> str:
        """How a job or array stands that is waited for; of one that is not known it is taken that it succeeded."""
        if not each.array:
            failed = each.id in self.failed or self._is_failed(each.id, False)
            return _OPEN if each.id in self._jobs else _BAD if failed else _GOOD
        failed = each.id in self._failed_arrays or self._is_failed(each.id, True)
        if self._members.get(each.id) and not (failed and each.wanted is Condition.SUCCESS):
            return _OPEN
        return _BAD if failed else _GOOD

    def _unfile_waiting(self, job: PoolJob) -> None:
        self._lost.pop(job.id, None)
        self._turn(job, ready=False)

    def _turn(self, job: PoolJob, ready: bool | None = None, given: bool | None = None) -> None:
        """A job is ready for a board, or a board has it, or that is so no longer: whose turn it is may change.

        Args:
            ready: Whether it waits for a board alone; None where that is as before.
            given: Whether a board has it; None where that is as before.
        """
        if job.array is None or job.max_running is None:
            if ready is not None:
                self._show(job, ready)
            return
        turns = self._turns.setdefault(job.array.id, _Turns(job.max_running))
        if ready is not None:
            turns.ready.pop(job.id, None)
        if given is not None:
            turns.given.discard(job.id)
        if ready:
            turns.ready[job.id] = job
        if given:
            turns.given.add(job.id)
        now = dict(itertools.islice(turns.ready.items(), max(turns.most - len(turns.given), 0)))
        for number in turns.shown.keys() - now.keys():
            self._show(turns.shown[number], False)
        for number in now.keys() - turns.shown.keys():
            self._show(now[number], True)
        turns.shown = now
        if not (turns.ready or turns.given):
            del self._turns[job.array.id]

    def _show(self, job: PoolJob, shown: bool) -> None:
        """File a job among those that may be placed, or take it out of there."""
        if shown:
            self._ready.setdefault(_file_of(job), SortedDict())[job.id] = job
        elif job.id in self._ready.get(_file_of(job), ()):
            _without(self._ready, _file_of(job), job.id)

    @property
    def jobs_on_boards(self) -> list[PoolJob]:
        """Jobs that boards have, by number."""
        return sorted((job for jobs in self._on.values() for job in jobs.values()), key=lambda job: job.id)

    def on(self, board: str) -> list[PoolJob]:
        """Jobs that a board has, by number."""
        return sorted(self._on.get(board, {}).values(), key=lambda job: job.id)

    def count_tenant(self, tenant: str) -> int:
        """How many a tenant has."""
        return self._of[tenant]

    @property
    def placeable_jobs(self) -> list[PoolJob]:
        """Jobs that may be placed, by number: they wait for a board, and for no other job."""
        return sorted((job for jobs in self._ready.values() for job in jobs.values()), key=lambda job: job.id)

    def in_turn(
        self, given: Iterable[PoolJob], weights: Mapping[str, float], most: int | None, fits: Fits = lambda _: True
    ) -> list[PoolJob]:
        """`by_weight` of those that may be placed, without a look at the others.

        Args:
            given: Jobs that boards have.
            weights: Of tenants; 1 where a name is missing.
            most: How many are wanted, from the front; all where it is None.
            fits: Whether a job counts at all; asked for one of those that run the same.
        """
        queues: dict[tuple[int, str], list[Iterable[PoolJob]]] = {}
        for (level, tenant, *_), jobs in self._ready.items():
            if fits(jobs.peekitem(0)[1]):
                queues.setdefault((level, tenant), []).append(jobs.values())
        merged = {key: heapq.merge(*of_each, key=lambda job: job.id) for key, of_each in queues.items()}
        return interleave_queues(merged, given, weights, most)

    def jobs_to_end(self, now_unix_s: float) -> list[Termination]:
        """Jobs to be ended, by number: too late, or waiting in vain for what others came to.

        Args:
            now_unix_s: Wall time.
        """
        while self._dates and self._dates[0][0] < now_unix_s:
            self._late.add(heapq.heappop(self._dates)[1])
        self._late &= self._jobs.keys()
        late = {number for number in self._late if _is_late(self._jobs[number], now_unix_s)}
        jobs = [self._jobs[number] for number in sorted(late | self._lost.keys())]
        return [self._ending(job, job.id in late) for job in jobs]

    def _ending(self, job: PoolJob, late: bool) -> Termination:
        if late:
            error = _error(DEADLINE_PASSED, f"Its deadline of {job.deadline_s:g} s has passed.")
            return Termination(job, error, FAILED)
        if self._lost[job.id] is Condition.FAILURE:
            error = _error(DEPENDENCY_NEVER, "What was to fail first succeeded.", "job-cancelled")
            return Termination(job, error, CANCELLED)
        return Termination(job, _error(DEPENDENCY_FAILED, "A job that it comes after did not succeed."), FAILED)


def _is_late(job: PoolJob, now_unix_s: float) -> bool:
    """Whether a job is to be ended because its deadline has passed."""
    return job.late_end and job.deadline_s is not None and now_unix_s > job.submitted_unix_s + job.deadline_s


def _error(cause: str, message: str, code: str = "job-failed") -> Mapping[str, Any]:
    return {"code": code, "cause": cause, "message": message}


def _file_of(job: PoolJob) -> _File:
    work = "" if job.request.get("kernel") else job.work
    return priority(job), job.tenant, work, tuple(map(job.request.get, FIELDS)) if _asks(job) else ()


def _asks(job: PoolJob) -> bool:
    return any(name in job.request for name in FIELDS)


def _without(files: dict[Any, Any], key: object, number: int) -> None:
    """Take a job out of its file, and the file away where that was the last."""
    del files[key][number]
    if not files[key]:
        del files[key]
