"""The hypervisor's machine as studies run it."""

from __future__ import annotations

from eddy.core.records import What
from eddy.hypervisor.job import Job
from eddy.hypervisor.machine import Machine
from eddy.hypervisor.pools import PoolState
from eddy.hypervisor.slot import Slot
from eddy.policy.dispatch.view import Configure


class StudyMachine(Machine):
    """A machine that says what a study assumes about modules left in slots.

    A task that finds its module in a slot needs no load, as live; but it is given the slot only while the configuration
    port is idle, so that configurations in a trace never overlap.
    """

    def _configure(self, decision: Configure, pool: PoolState) -> bool:
        if self._loading is not None:
            self._drop(self.jobs.get(decision.job), decision, "the configuration port is busy")
            return False
        return super()._configure(decision, pool)


class ReloadingMachine(StudyMachine):
    """A machine that loads a task's image whenever it gives it a slot.

    So the text of [004] has it (2.1.2): a selected task's bitstream is read, then a reconfiguration is requested.
    """

    def _release(self, slot: Slot, job: Job, at_s: float, what: What) -> None:
        super()._release(slot, job, at_s, what)
        slot.distrust()
