# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs that have arrived and wait outside the machine, and those that end at their deadline.

A job is held back while something must become of others first (`dependencies`), then while as many of its array are in
the machine as may be (`array_bounds`), then while the board makes what it needs (`preparing`). One that is to end is
let go at once, so that the machine ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.hypervisor.intake.array_hold import SAID as TURN
from eddy.hypervisor.intake.array_hold import ArrayHold
from eddy.hypervisor.intake.deadlines import CAUSE as LATE
from eddy.hypervisor.intake.deadlines import Deadlines
from eddy.hypervisor.intake.dependency_hold import SAID as OTHERS
from eddy.hypervisor.intake.dependency_hold import DependencyHold
from eddy.hypervisor.intake.preparation_hold import PreparationHold
from eddy.hypervisor.jobs import messages as m


def hold_reason(doing: str) -> str:
    """What keeps a job out of the machine: `predecessor`, `array` or `building`.

    Args:
        doing: What is said of it.
    """
    if doing.startswith(TURN):
        return "array"
    return "predecessor" if doing.startswith(OTHERS) else "building"


class AdmissionHold:
    """What stands between jobs that arrive and the machine.

    Args:
        preparing: Asks the board whether it has what jobs need.
        dependencies: Knows which jobs wait for others.
        bounds: Knows which jobs wait for others of their array.
        note: Keeps what followers are told of a job that is held.
        came: Called with a job that has arrived.
    """

    def __init__(
        self,
        preparing: PreparationHold,
        dependencies: DependencyHold,
        bounds: ArrayHold,
        note: Callable[[JobEvent], None],
        came: Callable[[int], None],
    ) -> None:
        self._preparing, self._dependencies, self._bounds = preparing, dependencies, bounds
        self._note, self._came = note, came
        self._deadlines = Deadlines()

    def clear(self) -> None:
        """Forget everything: store and board are recovered."""
        for part in (self._preparing, self._dependencies, self._bounds, self._deadlines):
            part.clear()

    def resume(self, jobs: Iterable[m.JobSpec]) -> None:
        """Watch the deadlines of jobs that were recovered into the machine, and count them among their arrays."""
        for job in jobs:
            self._deadlines.watch(job)
            self._bounds.resume(job)

    def release_dependents(self, job: int, state: JobState, now_s: float) -> None:
        """A job has ended: those that waited for it go on, or end."""
        self._deadlines.forget(job)
        self._dependencies.release_dependents(job, state, now_s)
        self._bounds.release_next(job, now_s)

    def check_preparations(self) -> None:
        """See how it stands with what the board makes.

        Raises:
            BoardUnreachable: Nobody can say.
        """
        self._preparing.check_preparations()

    @property
    def pending(self) -> bool:
        """Whether some job is held no longer, and the machine has not been told."""
        return bool(self._preparing.released or self._dependencies.pending or self._bounds.pending)

    @property
    def next_s(self) -> float:
        """Board time of the next deadline; infinity where there is none."""
        return self._deadlines.next_s

    def take_admitted(self, messages: Iterable[m.Input], known: Collection[int], now_s: float) -> list[m.Input]:
        """What the machine is told now: jobs that wait for others, or for the board, are not in it; one that is to end
        is.

        Args:
            known: Jobs that the machine has.
            now_s: Board time.
        """
        inputs: list[m.Input] = []
        for message in messages:
            if isinstance(message, m.Arrive):
                if message.job.id in known:
                    continue
                self._came(message.job.id)
                self._deadlines.watch(message.job)
                if self._holds(message, now_s):
                    continue
            if isinstance(message, m.Cancel):
                self._let_go(message.job, now_s)
            inputs += self._released(now_s)
            inputs.append(message)
        return inputs + self._released(now_s)

    def expire_jobs(self, now_s: float) -> list[m.Input]:
        """What ends jobs whose deadline has passed, held or not."""
        inputs: list[m.Input] = []
        for job, deadline_s in self._deadlines.take_due(now_s):
            self._let_go(job, now_s)
            why = f"it had not ended at its deadline, {deadline_s:g} s of board time"
            inputs += [*self._released(now_s), m.JobFault(job, LATE, why)]
        return inputs

    def _let_go(self, job: int, now_s: float) -> None:
        """Hold a job no longer that is to end."""
        self._dependencies.release(job, now_s)
        self._bounds.release(job, now_s)
        self._preparing.release(job)

    def _holds(self, arrival: m.Arrive, now_s: float) -> bool:
        """Keep a job back where it waits; answers whether. Its event log says so."""
        held = self._dependencies.hold_job(arrival, now_s) or self._bounds.hold_job(arrival)
        if not (held or self._preparing.hold_job(arrival)):
            return False
        job = arrival.job
        detail = self._preparing.doing.get(job.id)
        if detail:
            self._note(JobEvent(0, job.id, job.tenant, now_s, JobEventKind.WAIT, detail=detail))
        return True

    def _released(self, now_s: float) -> list[m.Input]:
        """Messages of jobs that are held no longer, in order."""
        found: list[m.Input] = []
        for ready in (self._dependencies.ready, self._bounds.ready):
            while ready:
                arrival = ready.popleft()
                found += [] if self._holds(arrival, now_s) else [arrival]
        for waiting in (self._dependencies.failed, self._bounds.released, self._preparing.released):
            found += waiting
            waiting.clear()
        return found
