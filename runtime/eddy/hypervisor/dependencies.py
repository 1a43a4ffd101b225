"""Jobs that wait until others have succeeded (`after`).

The machine, and so every policy, sees a job once it is ready. Its arrival is then that moment: what it waited for
others gives it no precedence over who waited for a slot. Where one of the others fails, is cancelled, or is gone, the
job fails with the cause `dependency-failed`, and so do those that wait for it.

Whatever ends a job does so in the engine's thread, which asks here before and after; so none is missed. A restart asks
the store again.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Mapping, MutableMapping
from typing import Protocol

from eddy.core.jobs import JobState
from eddy.core.numbering import listed
from eddy.hypervisor import messages as m
from eddy.store.numbers import Numbers

CAUSE = "dependency-failed"
"""Why a job failed that waited for one that did not succeed."""


_HOW = {None: "is not on record any more", JobState.FAILED: "failed", JobState.CANCELLED: "was cancelled"}


class States(Protocol):
    """What is asked of the store."""

    def states(self, jobs: Collection[int]) -> Mapping[int, JobState]:
        """In which state jobs are; those there are not are left out."""


class Dependencies:
    """Jobs that are held back for others.

    Args:
        jobs: Knows how the others ended.
        numbers: How jobs are told.
        doing: Where it is said what a job waits for, by job.

    Attributes:
        ready: Arrivals of jobs that wait no longer.
        failed: Messages of jobs that have waited in vain, and of those that end meanwhile.
    """

    def __init__(self, jobs: States, numbers: Numbers, doing: MutableMapping[int, str]) -> None:
        self._jobs, self._numbers, self._doing = jobs, numbers, doing
        self._held: dict[int, m.Arrive] = {}
        self._left: dict[int, set[int]] = {}
        """By job that is held: those it still waits for."""
        self._followers: dict[int, dict[int, None]] = {}
        """By job that is waited for: who does, in order."""
        self.ready: deque[m.Arrive] = deque()
        self.failed: deque[m.Input] = deque()

    def clear(self) -> None:
        """Forget everything: store and board are recovered."""
        for job in self._held:
            self._doing.pop(job, None)
        for known in (self._held, self._left, self._followers, self.ready, self.failed):
            known.clear()

    def holds(self, arrival: m.Arrive, now_s: float) -> bool:
        """Keep a job that has arrived, where it is to wait; answers whether.

        Args:
            arrival: Of the job.
            now_s: Board time.
        """
        job = arrival.job
        if not job.asked.after or arrival.ready_s is not None:
            return False
        if any(known.job.id == job.id for known in self.ready):
            return True  # it came twice, from the store and from whoever submitted it
        states = self._jobs.states(job.asked.after)
        left = {number for number in job.asked.after if number in states and not states[number].is_final}
        self._held[job.id], self._left[job.id] = arrival, left
        for number in left:
            self._followers.setdefault(number, {})[job.id] = None
        for number in job.asked.after:
            state = states.get(number)
            if state is None or (state.is_final and state is not JobState.SUCCEEDED):
                self._fail(job.id, number, state, now_s)
                return True
        self._go_on(job.id, now_s)
        return True

    def ended(self, number: int, state: JobState, now_s: float) -> None:
        """A job has ended: let those go that waited for nothing else, or end them."""
        for job in self._followers.pop(number, ()):
            if job not in self._held:
                continue
            if state is not JobState.SUCCEEDED:
                self._fail(job, number, state, now_s)
            else:
                self._left[job].discard(number)
                self._go_on(job, now_s)

    def release(self, job: int, now_s: float) -> None:
        """Let a job go that is to end; nothing where it does not wait."""
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.failed.append(arrival)

    @property
    def pending(self) -> bool:
        """Whether there is something in `ready` or `failed`."""
        return bool(self.ready or self.failed)

    def _go_on(self, job: int, now_s: float) -> None:
        left = sorted(self._left[job])
        if left:
            names = listed([self._numbers.job.told(each) for each in left])
            self._doing[job] = f"waiting for {'job' if len(left) == 1 else 'jobs'} {names} to succeed"
            return
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.ready.append(arrival)

    def _fail(self, job: int, number: int, state: JobState | None, now_s: float) -> None:
        arrival = self._taken(job, now_s)
        if arrival is not None:
            self.failed += [
                arrival,
                m.JobFault(
                    job, CAUSE, f"job {self._numbers.job.told(number)}, which was to succeed first, {_HOW[state]}"
                ),
            ]

    def _taken(self, job: int, now_s: float) -> m.Arrive | None:
        arrival = self._held.pop(job, None)
        for number in self._left.pop(job, ()):
            self._follow_no_more(job, number)
        self._doing.pop(job, None)
        return None if arrival is None else dataclasses.replace(arrival, ready_s=max(now_s, arrival.job.arrival_s))

    def _follow_no_more(self, job: int, number: int) -> None:
        followers = self._followers.get(number)
        if followers is not None:  # it may have ended
            followers.pop(job, None)
            if not followers:
                del self._followers[number]
