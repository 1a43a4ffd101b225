# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Model of `fcfs`: one queue of ready tasks, in the order in which they were first seen ready."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.view import Configure, Dispatch, DispatchView
from unit.plain_dispatch.questions import grant, is_there, may_begin, preferred, unheld, unless_stuck


@dataclass(frozen=True)
class PlainFcfs:
    """[004] 3.1: first come, first served; who waits for the port keeps the slot it would load."""

    pipelined: bool = True
    name: str = "fcfs"

    def initial(self) -> list[tuple[int, int]]:
        return []

    def decide(self, view: DispatchView) -> Dispatch:
        jobs = {job.id: job for job in view.jobs}
        ready = [
            (job.id, task.id)
            for job in sorted(view.jobs, key=lambda job: (job.arrival_s, job.id))
            for task in job.tasks
            if task.slot is None and may_begin(job, task, self.pipelined)
        ]
        still = set(ready)
        line = list(dict.fromkeys([*(entry for entry in view.memory if entry in still), *ready]))
        port_free, slots, made = not view.port_busy, unheld(view), list[Configure]()
        for number, place in line:
            job, task = jobs[number], jobs[number].tasks[place]
            slot = preferred(slots, job, task)
            if slot is not None:
                slots.remove(slot)
                if is_there(slot, job, task):
                    made.append(grant(job, task, slot))
                elif port_free:
                    port_free = False
                    made.append(grant(job, task, slot))
        return Dispatch(unless_stuck(view, made, self.pipelined), line)
