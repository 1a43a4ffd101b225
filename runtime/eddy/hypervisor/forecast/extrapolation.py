"""What lies beyond the bound of a forecast: jobs in order of priority and age, as fast as the slots do their work."""

from __future__ import annotations

from eddy.hypervisor.forecast.fabric import SlotsAhead
from eddy.policy.dispatch.views.job_view import JobView


class ForecastExtrapolation:
    """Extrapolates from where a forecast stopped.

    Args:
        fabric: As it stood then.
        pipelined: Whether tasks of a job may work on different items at once.
    """

    def __init__(self, fabric: SlotsAhead, pipelined: bool) -> None:
        self._fabric, self._pipelined = fabric, pipelined
        slots = [slot.view.load_s for slot in fabric.slots.values()]
        self._count = max(len(slots), 1)
        self._load_s = sum(slots) / self._count
        self._ahead_s: dict[int, float] | None = None

    def start_s(self, job: JobView) -> float:
        """When a job starts that was not come to: once the work before it is done."""
        if self._ahead_s is None:
            self._ahead_s = self._lay_out()
        return self._fabric.now_s + self._ahead_s.get(job.id, 0.0)

    def end_s(self, job: JobView, start_s: float) -> float:
        """When a job ends that was not brought to its end: its own way takes it there from its start, or from where it
        stood."""
        left = self._fabric.jobs.get(job.id)
        begun = left is not None and left.shape.has_begun
        path_s = self._path_s(job if left is None else left)
        return self._fabric.now_s + path_s if begun else start_s + path_s + self._load_s

    def _lay_out(self) -> dict[int, float]:
        """Seconds before the start of each job that was not come to."""
        left = [job for job in self._fabric.jobs if job.id not in self._fabric.started_s]
        left.sort(key=lambda job: (-job.priority, job.age))
        work_s = sum(self._work_s(job) for job in self._fabric.jobs.begun.values())
        ahead_s = {}
        for job in left:
            ahead_s[job.id] = work_s / self._count
            if not job.shape.has_begun:
                work_s += self._work_s(job)
        return ahead_s

    def _work_s(self, job: JobView) -> float:
        """Slot-seconds a job has left, a load for each task that has no slot among them."""
        seconds = self._fabric.seconds(job)
        left = [(task, job.batch - task.items_done) for task in job.tasks if task.items_done < job.batch]
        return sum(items * seconds[task.id] + (task.slot is None) * self._load_s for task, items in left)

    def _path_s(self, job: JobView) -> float:
        """Seconds a job needs at least: an item through all tasks left, then the others as fast as the slowest task
        does them; where tasks do not overlap, each its whole batch."""
        seconds, longest, rest_s = self._fabric.seconds(job), dict[int, float](), 0.0
        for task in job.tasks:
            items = job.batch - task.items_done
            before_s = max((longest[number] for number in task.predecessors), default=0.0)
            own_s = 0.0 if items <= 0 else seconds[task.id] * (1 if self._pipelined else items)
            longest[task.id] = before_s + own_s
            rest_s = max(rest_s, (items - 1) * seconds[task.id])
        return max(longest.values(), default=0.0) + (rest_s if self._pipelined else 0.0)
