"""The hypervisor's machine as studies run it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from eddy.core.records import What
from eddy.hypervisor.job import Job
from eddy.hypervisor.machine import Machine, _rank
from eddy.hypervisor.messages import Configured, Input, ItemEnded, Launch, Outcome
from eddy.hypervisor.slot import Phase, Slot
from eddy.policy.dispatch.view import Configure


class StudyMachine(Machine):
    """A machine that says what a study assumes about modules left in slots.

    A task that finds its module in a slot needs no load, as live; but it is given the slot only while the configuration
    port is idle, so that configurations in a trace never overlap.
    """

    def _configure(self, decision: Configure) -> bool:
        if self._loading is not None:
            self._drop(self.jobs.get(decision.job), decision, "the configuration port is busy")
            return False
        return super()._configure(decision)


class ReloadingMachine(StudyMachine):
    """A machine that loads a task's image whenever it gives it a slot.

    So the text of [004] has it (2.1.2): a selected task's bitstream is read, then a reconfiguration is requested.
    """

    def _release(self, slot: Slot, job: Job, at_s: float, what: What) -> None:
        super()._release(slot, job, at_s, what)
        slot.distrust()


class PolledMachine(ReloadingMachine):
    """A machine that keeps the order of a loop which polls, as the published artefact of [004] does.

    A turn of the loop looks at every slot once: an item that ended is counted and its slot waits, a slot that waited is
    started. Then the policy decides, and what it loads blocks the loop; only the slot just loaded is started before the
    next turn. So the next item of a slot waits for a load that begins in between, and what ended during a load ended,
    for the loop, after it.
    """

    def step(self, now_s: float, inputs: Iterable[Input]) -> Outcome:
        """Turn the loop until it loads or stands still."""
        out = self._out = Outcome()
        self._now_s = now_s
        self._gone.clear()
        ended: dict[int, ItemEnded] = {}
        happened = False
        for message in inputs:
            happened = True
            if isinstance(message, ItemEnded):
                ended[message.slot] = dataclasses.replace(message, at_s=now_s)
                continue
            self._take(message)
            if isinstance(message, Configured):
                self._start(self.slots[message.slot])
        while happened:
            before = self._memory
            moved = self._poll(ended)
            ended = {}
            self._decide()
            happened = self._loading is None and (moved or self._memory != before)
        for number in sorted(out.jobs):
            job = self.jobs.get(number)
            if job is not None:
                self._settle(job, now_s)
        out.commands.sort(key=_rank)
        return out

    def _poll(self, ended: Mapping[int, ItemEnded]) -> bool:
        """Look at every slot once; whether anything moved."""
        moved = bool(ended)
        for slot in self.slots.values():
            if slot.index in ended:
                self._take(ended[slot.index])
            else:
                moved = self._start(slot) or moved
        return moved

    def _start(self, slot: Slot) -> bool:
        """Start the next item of a slot, if it waits and the item may start."""
        if slot.phase is not Phase.HELD or slot.job is None or slot.task is None:
            return False
        job = self.jobs[slot.job]
        item = job.next_item(slot.task, self.policy.pipelined)
        if item is None:
            return False
        slot.item = item
        job.held -= 1
        job.running += 1
        slot.enter(Phase.RUNNING, self._now_s)
        self._log(job, slot, self._now_s, What.LAUNCH, item=item)
        self._out.commands.append(Launch(slot.index, job.spec.id, slot.task, item))
        return True

    def _launch_ready(self) -> None:
        """Nothing: slots are started when they are looked at."""
