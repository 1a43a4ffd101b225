# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the model of `eddy` expects of one job: its work, its critical path, and what its tasks would do in a slot."""

from __future__ import annotations

from functools import cached_property, lru_cache

from eddy.policy.dispatch.views.view import JobView, TaskView
from unit.plain_dispatch.questions import delivered, items_left, may_begin, placeable, sources


class Prospect:
    """One job, and what is believed about it.

    Args:
        job: As the view has it.
        item_s: Seconds an item of each task takes, as far as is known.
        load_s: Seconds a load takes.
        pipelined: Whether its tasks may work on different items at once.
    """

    def __init__(self, job: JobView, item_s: tuple[float, ...], load_s: float, pipelined: bool) -> None:
        self.job, self.item_s, self.load_s, self.pipelined = job, item_s, load_s, pipelined
        self.open = [task for task in job.tasks if items_left(job, task)]

    def lasts_s(self, task: TaskView) -> float:
        """Seconds all items of a task take that are left."""
        return items_left(self.job, task) * self.item_s[task.id]

    @cached_property
    def work_s(self) -> float:
        """Items of all tasks end to end, and a load for each task without a slot."""
        unplaced = len([task for task in self.open if task.slot is None])
        return sum(self.lasts_s(task) for task in self.open) + self.load_s * unplaced

    @cached_property
    def path_s(self) -> float:
        """The critical path: every item as early as its task and its sources allow, each task in a slot of its own."""
        ends_s: dict[tuple[int, int], float] = {}
        for task in self.open:
            for item in range(task.items_done + 1, self.job.batch + 1):
                before = [(task.id, item - 1), *((number, item) for number in task.predecessors)]
                begins_s = max(ends_s.get(earlier, 0.0) for earlier in before)
                ends_s[task.id, item] = begins_s + self.item_s[task.id]
        return max(ends_s.values(), default=0.0)

    def soon_done(self, task: TaskView) -> int:
        """Items a task will have done after the time of a load, the tasks that have slots going on in them."""
        if task.slot is None or not items_left(self.job, task):
            return task.items_done
        in_time = task.items_done + int(self.load_s / max(self.item_s[task.id], 1e-9))
        return min([in_time, self.job.batch, *map(self.soon_done, sources(self.job, task))])

    def supply(self, task: TaskView) -> int:
        """Items a task could do in a slot without a pause, were it loaded now."""
        if not self.pipelined:
            return delivered(self.job, task) - task.items_done
        return min([self.job.batch, *map(self.soon_done, sources(self.job, task))]) - task.items_done

    def busy(self, task: TaskView) -> bool:
        """Whether a task in a slot has something to do there, or will within the time of a load."""
        return self.supply(task) > 0 if self.pipelined else may_begin(self.job, task, False)

    def all_there(self, task: TaskView) -> bool:
        """Whether a task could do the rest of its batch though its sources did nothing more."""
        return delivered(self.job, task) == self.job.batch

    @cached_property
    def ready(self) -> list[TaskView]:
        """Tasks that would have half a load's time of items to do, or all of theirs: the longest way first."""
        worth = []
        for task in placeable(self.job, self.pipelined):
            supply = self.supply(task)
            rest = supply >= items_left(self.job, task)
            if supply > 0 and (rest or 2 * supply * self.item_s[task.id] >= self.load_s):
                worth.append(task)
        return sorted(worth, key=self.way_s, reverse=True)

    @cached_property
    def early(self) -> list[TaskView]:
        """The other tasks that could have a slot: they would wait there for their sources."""
        return [task for task in placeable(self.job, self.pipelined) if task not in self.ready]

    def followers(self, task: TaskView) -> list[TaskView]:
        """The tasks that need the results of one."""
        return [other for other in self.job.tasks if task.id in other.predecessors]

    def drain_s(self, task: TaskView) -> float:
        """From a task's last item to the job's last: one item of each task behind it."""
        return max((self.item_s[f.id] + self.drain_s(f) for f in self.followers(task)), default=0.0)

    def way_s(self, task: TaskView) -> float:
        """The way from a task's next item to the job's end, along its own items or those who need its very next one."""
        hungry = [follower for follower in self.followers(task) if follower.items_done >= task.items_done]
        onwards_s = self.item_s[task.id] + max(map(self.way_s, hungry), default=0.0)
        return max(onwards_s, self.lasts_s(task) + self.drain_s(task))


prospect_of = lru_cache(maxsize=2048)(Prospect)
"""The prospect of a job: of equal jobs and beliefs the same one, as it follows from them alone."""
