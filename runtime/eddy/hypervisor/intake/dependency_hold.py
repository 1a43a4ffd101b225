# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that wait until something has become of others, or of all jobs of an array (`after`, `afterany`, `afternotok`).

The machine, and so every policy, sees a job once it is ready. Its arrival is then that moment: what it waited for
others gives it no precedence over who waited for a slot. What it wants of each is one of `Condition`:

- the success of a job or array that has failed, was cancelled, or is gone: the job fails with `dependency-failed`, and
  so do those that want its success;
- the failure of one that has succeeded: the job was not needed, and ends as cancelled, with `dependency-never`;
- an end: that always comes. What is gone has ended.

Whatever ends a job does so in the engine's thread, which asks here before and after; so none is missed. A restart asks
the store again.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Protocol

from eddy.core.jobs import JobState
from eddy.core.numbering import format_ids
from eddy.core.submission_options import Condition, Predecessor
from eddy.hypervisor.jobs import messages as m
from eddy.store.db.numbers import Numbers

CAUSE = "dependency-failed"
"""Why a job failed that wanted the success of one that did not succeed."""
NEVER = "dependency-never"
"""Why a job was cancelled that wanted the failure of one that succeeded."""
SAID = "waiting for "
"""What is said of a job that waits begins so."""
MAX_ARRAYS = 64
"""Arrays that have ended of which is remembered how: each job of an array may wait for another one."""


_HOW = {None: "is not on record any more", JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}
_VERBS = {Condition.SUCCESS: "succeed", Condition.END: "end", Condition.FAILURE: "fail"}
_Key = tuple[int, bool]
"""A job or an array: its id, and whether it is an array."""


class JobStateSource(Protocol):
    """What is asked of the store."""

    def states(self, jobs: Collection[int]) -> Mapping[int, JobState]:
        """In which state jobs are; those there are not are left out."""

    def states_of_array(self, array: int) -> Mapping[int, JobState]:
        """In which state the jobs of an array are; empty where there are none."""


@dataclass(slots=True)
class _Array:
    """An array that is waited for.

    Attributes:
        left: Its jobs that have not ended.
        known: Whether any of its jobs is on record.
        bad: One that did not succeed, and how it ended; None where there is none so far.
    """

    left: set[int]
    known: bool = True
    bad: tuple[int, JobState] | None = None


@dataclass(slots=True)
class _Held:
    """A job that waits.

    Attributes:
        left: What it still waits for.
    """

    arrival: m.Arrive
    left: dict[_Key, list[Predecessor]] = field(default_factory=dict)


class DependencyHold:
    """Jobs that are held back for others.

    Args:
        jobs: Knows how the others ended.
        doing: Where it is said what a job waits for, by job.

    Attributes:
        ready: Arrivals of jobs that wait no longer.
        failed: Messages of jobs that have waited in vain, and of those that end meanwhile.
    """

    def __init__(self, jobs: JobStateSource, numbers: Numbers, doing: MutableMapping[int, str]) -> None:
        self._jobs, self._numbers, self._doing = jobs, numbers, doing
        self._held: dict[int, _Held] = {}
        self._followers: dict[_Key, dict[int, None]] = {}
        """By job or array that is waited for: who does, in order."""
        self._arrays: dict[int, _Array] = {}
        """Arrays that are waited for, and the last ones that ended."""
        self._member_of: dict[int, int] = {}
        """Array of each job of `_arrays` that has not ended."""
        self.ready: deque[m.Arrive] = deque()
        self.failed: deque[m.Input] = deque()

    def clear(self) -> None:
        """Forget everything: store and board are recovered."""
        for job in self._held:
            self._doing.pop(job, None)
        for known in (self._held, self._followers, self._arrays, self._member_of, self.ready, self.failed):
            known.clear()

    def hold_job(self, arrival: m.Arrive, now_s: float) -> bool:
        """Keep a job that has arrived, where it is to wait; answers whether.

        Args:
            now_s: Board time.
        """
        job = arrival.job
        if not job.asked.after or arrival.ready_s is not None:
            return False
        if any(known.job.id == job.id for known in self.ready):
            return True  # it came twice, from the store and from whoever submitted it
        self._taken(job.id, now_s)
        held = self._held[job.id] = _Held(arrival)
        states = self._jobs.states([each.id for each in job.asked.after if not each.array])
        for each in job.asked.after:
            state = self._state_of_array(each) if each.array else states.get(each.id)
            if state is not None and not state.is_final:
                held.left.setdefault((each.id, each.array), []).append(each)
                self._followers.setdefault((each.id, each.array), {})[job.id] = None
            elif not self._satisfied(job.id, each, state, now_s):
                return True
        self._go_on(job.id, now_s)
        return True

    def release_dependents(self, number: int, state: JobState, now_s: float) -> None:
        """A job has ended: let those go that waited for nothing else, or end them."""
        self._note_end((number, False), state, now_s)
        array = self._member_of.pop(number, None)
        if array is None:
            return
        watched = self._arrays[array]
        watched.left.discard(number)
        if state is not JobState.SUCCEEDED:
            watched.bad = watched.bad or (number, state)
        if not watched.left:
            self._note_end((array, True), _end_of(watched), now_s)
        elif watched.bad is not None:
            self._cannot_succeed(array, watched.bad[1], now_s)

    def release(self, job: int, now_s: float) -> None:
        """Let a job go that is to end; nothing where it does not wait."""
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.failed.append(arrival)

    @property
    def pending(self) -> bool:
        """Whether there is something in `ready` or `failed`."""
        return bool(self.ready or self.failed)

    def _note_end(self, key: _Key, state: JobState, now_s: float) -> None:
        """A job has ended, or an array."""
        for job in self._followers.pop(key, ()):
            held = self._held.get(job)
            if held is None:
                continue
            wants = held.left.pop(key)
            if all(self._satisfied(job, each, state, now_s) for each in wants):
                self._go_on(job, now_s)

    def _cannot_succeed(self, array: int, state: JobState, now_s: float) -> None:
        """A job of an array did not succeed: who wants the success of all of it waits in vain."""
        for job in list(self._followers.get((array, True), ())):
            wants = self._held[job].left[array, True]
            for each in wants:
                if each.wanted is Condition.SUCCESS and not self._satisfied(job, each, state, now_s):
                    break

    def _satisfied(self, job: int, each: Predecessor, state: JobState | None, now_s: float) -> bool:
        """Whether what a job wants of one that has ended is so; else it ends.

        Args:
            state: How the other one ended; None where nothing is known of it any more.
            now_s: Board time.
        """
        succeeded = state is JobState.SUCCEEDED
        if each.wanted is Condition.END or (state is not None and (each.wanted is Condition.SUCCESS) == succeeded):
            return True
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.failed += [arrival, self._end(job, each, state)]
        return False

    def _end(self, job: int, each: Predecessor, state: JobState | None) -> m.JobFault:
        """How a job ends that waited in vain."""
        name = self._name(each)
        if state is JobState.SUCCEEDED:
            return m.JobFault(job, NEVER, f"{name}, which was to fail first, succeeded", ends=JobState.CANCELLED)
        how = _HOW[state]
        watched = self._arrays.get(each.id) if each.array else None
        if watched is not None and watched.bad is not None:
            how = f"did not: job {self._numbers.job.public_id(watched.bad[0])} of it {_HOW[watched.bad[1]]}"
        verb = _VERBS[each.wanted]
        return m.JobFault(job, CAUSE, f"{name}, which was to {verb} first, {how}")

    def _name(self, each: Predecessor) -> str:
        return f"{'array' if each.array else 'job'} {self._numbers.job.public_id(each.id)}"

    def _state_of_array(self, each: Predecessor) -> JobState | None:
        """How an array stands: a state that is not final while jobs of it go on that can matter to who waits."""
        watched = self._arrays.get(each.id) or self._watch(each.id)
        if not watched.known:
            return None
        if watched.left and (watched.bad is None or each.wanted is not Condition.SUCCESS):
            return JobState.RUNNING
        return _end_of(watched)

    def _watch(self, array: int) -> _Array:
        states = self._jobs.states_of_array(array)
        bad = {job: state for job, state in states.items() if state.is_final and state is not JobState.SUCCEEDED}
        watched = _Array({job for job, state in states.items() if not state.is_final}, bool(states))
        watched.bad = next(iter(sorted(bad.items())), None)
        for job in watched.left:
            self._member_of[job] = array
        over = [known for known, other in self._arrays.items() if not other.left]
        for known in over[: max(len(over) - MAX_ARRAYS + 1, 0)]:
            del self._arrays[known]
        self._arrays[array] = watched
        return watched

    def _go_on(self, job: int, now_s: float) -> None:
        held = self._held.get(job)
        if held is None:
            return
        if held.left:
            self._doing[job] = self._said(held)
            return
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.ready.append(arrival)

    def _said(self, held: _Held) -> str:
        """What a job waits for, for people."""
        parts = []
        left = [each for key in sorted(held.left) for each in held.left[key]]
        for array in (False, True):
            for wanted, verb in _VERBS.items():
                told = [self._numbers.job.public_id(e.id) for e in left if e.array is array and e.wanted is wanted]
                if told:
                    kind = ("array" if array else "job") + ("s" if len(told) > 1 else "")
                    parts.append(f"{kind} {format_ids(told)} to {verb}")
        return f"{SAID}{' and '.join(parts)}"

    def _taken(self, job: int, now_s: float) -> m.Arrive | None:
        held = self._held.pop(job, None)
        self._doing.pop(job, None)
        if held is None:
            return None
        for key in held.left:
            self._follow_no_more(job, key)
        arrival = held.arrival
        return dataclasses.replace(arrival, ready_s=max(now_s, arrival.job.arrival_s))

    def _follow_no_more(self, job: int, key: _Key) -> None:
        followers = self._followers.get(key)
        if followers is not None:  # it may have ended
            followers.pop(job, None)
            if not followers:
                del self._followers[key]


def _end_of(watched: _Array) -> JobState:
    return JobState.SUCCEEDED if watched.bad is None else watched.bad[1]
