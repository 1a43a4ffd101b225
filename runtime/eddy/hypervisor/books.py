"""The books of the state machine: who holds which slot, who waits for memory, who ends, and the log of it all.

`Machine` adds what moves them: what the board reports, and what the policy decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, What
from eddy.hypervisor.job import Graph, Job
from eddy.hypervisor.memory import MemoryQueue
from eddy.hypervisor.messages import Allocate, Free, JobSpec, Outcome, Stop
from eddy.hypervisor.slot import Phase, Slot


class Books:
    """Slots, jobs and their memory, kept consistent; every change is noted in the outcome of the step.

    Args:
        slots: By index.
    """

    def __init__(self, slots: Iterable[Slot]) -> None:
        self.slots = {slot.index: slot for slot in slots}
        self.jobs: dict[int, Job] = {}
        """Not ended."""
        self._gone: dict[int, Job] = {}
        """Ended in the last step."""
        self._graphs: dict[str, tuple[object, Graph]] = {}
        self._loading: Slot | None = None
        self._memory = MemoryQueue()
        self._out = Outcome()
        self._now_s = 0.0

    def record(self, number: int) -> Job:
        """A job that has not ended, or ended in the last step.

        Raises:
            KeyError: There is none of that number.
        """
        return self.jobs[number] if number in self.jobs else self._gone[number]

    def graph(self, spec: JobSpec) -> Graph:
        """The edges of a job's application, shared by all its jobs."""
        known = self._graphs.get(spec.application.name)
        if known is None or known[0] is not spec.application:
            known = self._graphs[spec.application.name] = (spec.application, Graph(spec.application))
        return known[1]

    def adopt_job(self, job: Job) -> None:
        """Take up a job as it was."""
        self.jobs[job.spec.id] = job
        self._memory.adopt(job)
        self._show_anew(job)

    def adopt_slot(self, known: Slot) -> None:
        """Take up a slot as it was; its job, if any, was taken up before."""
        slot = self.slots[known.index] = known
        if slot.phase is Phase.LOADING and not slot.scrubbing:
            self._loading = slot
        job = self.jobs.get(slot.job) if slot.job is not None else None
        if job is None or slot.task is None:
            return
        job.slot_of[slot.task] = slot.index
        job.touch(slot.task)
        self._show_anew(job)
        if slot.phase is Phase.LOADING:
            job.loading += 1
        elif slot.phase is Phase.RUNNING:
            job.running += 1
        else:
            job.held += 1

    def _add(self, job: Job) -> None:
        self.jobs[job.spec.id] = job
        self._show_anew(job)
        self._changed(job)

    def _show_anew(self, job: Job) -> None:
        """What policies are shown of a job is not true any more."""
        raise NotImplementedError

    def _end(self, job: Job, state: JobState, at_s: float, cause: str = "", detail: str = "") -> None:
        """Begin a job's end: stop what runs, give back what does not; it is over when it holds no slot."""
        job.ending, job.cause, job.detail = state, cause, detail
        self._show_anew(job)
        self._changed(job)
        for slot in self._slots_of(job):
            if slot.phase is Phase.RUNNING:
                slot.stopping = True
                self._out.commands.append(Stop(slot.index))
                self._out.slots.add(slot.index)
            elif slot.phase is Phase.HELD:
                self._release(slot, job, at_s, What.RELEASE)
        self._settle(job, at_s)

    def _slots_of(self, job: Job) -> list[Slot]:
        return [self.slots[index] for index in job.slot_of if index is not None] if job.slots else []

    def _settle(self, job: Job, at_s: float) -> None:
        """Move a job to the state that follows from what it holds, and let go of it where that is final."""
        before = job.state, job.bucket
        for state in job.advance(job.derive(), at_s):
            self._note(job, at_s, What.STATE, state=state, detail=job.cause if state.is_final else "")
        if before != (job.state, job.bucket):
            self._changed(job)
            if not job.slots and not job.state.is_final:
                self._note(job, at_s, What.WAIT, detail=job.bucket)
        if job.state.is_final and job.spec.id in self.jobs:
            del self.jobs[job.spec.id]
            self._out.ended.append(job.spec.id)
            self._gone[job.spec.id] = job
            self._show_anew(job)
            if self._memory.leave(job):
                self._out.commands.append(Free(job.spec.id))
            self._ask_for_waiting()

    def _ask(self, job: Job) -> None:
        """Ask for a job's buffers, unless older jobs stand in the queue."""
        if self._memory.ask(job):
            self._out.commands.append(Allocate(job.spec.id))
        else:
            self._show_anew(job)
            self._changed(job)

    def _ask_for_waiting(self) -> None:
        """Let the head of the queue for memory ask; the others stay behind it."""
        number = self._memory.next()
        if number is not None:
            self._out.commands.append(Allocate(number))

    def _release(self, slot: Slot, job: Job, at_s: float, what: What) -> None:
        """Take a slot in which nothing runs from its job."""
        if slot.phase is Phase.LOADING:
            job.loading -= 1
        else:
            job.held -= 1
        self._log(job, slot, at_s, what)
        if what is What.PREEMPT:
            job.preemptions += 1
            job.preempted = True
        if slot.task is not None:
            job.slot_of[slot.task] = None
            job.touch(slot.task)
            self._show_anew(job)
        slot.let_go(at_s)

    def _changed(self, job: Job) -> None:
        self._out.jobs.add(job.spec.id)

    def _log(
        self,
        job: Job,
        slot: Slot,
        at_s: float,
        what: What,
        item: int | None = None,
        started_s: float | None = None,
        detail: str = "",
    ) -> None:
        """Note what happened in a slot, and that both changed."""
        self._out.slots.add(slot.index)
        self._out.jobs.add(job.spec.id)
        self._out.log.append(
            JobEvent(0, job.spec.id, job.spec.tenant, at_s, what, None, slot.index, slot.task, item, started_s, detail)
        )

    def _note(
        self,
        job: Job,
        at_s: float,
        what: What,
        state: JobState | None = None,
        item: int | None = None,
        detail: str = "",
    ) -> None:
        """Note what happened to a job."""
        event = JobEvent(0, job.spec.id, job.spec.tenant, at_s, what, state, None, None, item, None, detail)
        self._out.log.append(event)

    @staticmethod
    def _name(job: Job, task: int) -> str:
        return job.spec.application.tasks[task].name
