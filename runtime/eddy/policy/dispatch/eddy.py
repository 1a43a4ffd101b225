# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Eddy's own policy: the least work left goes first, on latencies learned from items that ended, and those who would
have been served soon without sharing go before those who would not.

It takes from [004] pipelining, preemption at batch boundaries, priorities and the wish that every application soon has
one slot. What it does otherwise:

- Estimates are only a beginning: `eddy.model.latency` learns what items take. Work left ranks applications, so a
  factor of ten between estimate and truth is a factor of ten in rank.
- What sharing is measured by is the response without it. Whoever would have been served soon without sharing loses
  most by waiting, so work counts the less the sooner that would have been; see `unshared`.
- Slots are valued, not allotted: an application's next slot counts a little less the more it has. So of applications
  with about as much left one ends before the other, instead of both late; all slots go to one when it is alone.
- A slot in which a task would wait for its predecessors is worth a hundredth of one in which it would work. Such slots
  are given last and taken first.
- An application that will end last whatever is done, because its critical path is longer than all the work that waits
  would take on all slots, gets one slot at once.
- Waiting makes everyone more urgent in proportion to his own length, so that nobody starves.
- Of a job's own tasks, the one from whose next item the way to the job's end is longest goes first.
- Modules stay in slots that were given back, and are used again without a load; the one that is loaded over is that
  which is wanted last. Whoever would find his module in a slot soon does not load it again.
- The image of the load after the one under way is read into memory ahead of its turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.choosing.allocation import SlotAllocation
from eddy.policy.dispatch.choosing.forecast import finished_items
from eddy.policy.dispatch.choosing.memory import PolicyMemory
from eddy.policy.dispatch.choosing.rank import Constants
from eddy.policy.dispatch.views.view import Dispatch, DispatchView


@dataclass(frozen=True, slots=True)
class Eddy(Constants):
    """The least work left first; see the module. Ties go to the lower job id, then to the lower slot."""

    name: str = "eddy"

    def initial(self) -> PolicyMemory:
        """Nothing is known."""
        return PolicyMemory()

    def decide(self, view: DispatchView) -> Dispatch:
        """Give free slots, ask for one to be taken, or for an image to be read ahead."""
        memory: PolicyMemory = view.memory
        if not len(view.jobs):
            return Dispatch((), self._forget(memory, view))
        allocation = SlotAllocation(self, view, memory)
        allocation.allocate()
        return Dispatch(tuple(allocation.decisions), allocation.memory(), view.now_s + self.interval_s)

    def _forget(self, memory: PolicyMemory, view: DispatchView) -> PolicyMemory:
        """What stays when no job is left."""
        learned = memory.learned.observe(finished_items(view))
        predicted = memory.predicted if learned.version == memory.learned.version else {}
        return PolicyMemory(learned, predicted, memory.load_s, reuses=memory.reuses)
