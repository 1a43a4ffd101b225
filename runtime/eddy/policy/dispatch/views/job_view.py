# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One job as a dispatch policy sees it, and its tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Age = tuple[float, int]
"""What jobs are ordered by: arrival, then id."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task of a waiting or running job.

    Attributes:
        id: Task id in its application.
        module: What must be in a slot to run it.
        estimate_s: The designer's estimate for one item.
        items_done: Finished items, in item order, of the job's batch.
        slot: The slot that holds or is being loaded with this task for this job, or None.
        predecessors: Task ids.
        slots: Slots for which there is an image of the module, or None where every slot will do.
    """

    id: int
    module: str
    estimate_s: float
    items_done: int
    slot: int | None
    predecessors: tuple[int, ...]
    slots: tuple[int, ...] | None = None


class Tasks(tuple[TaskView, ...]):
    """The tasks of a job; jobs nothing was done for share those of their application, and what follows from them.

    Attributes:
        facts: What follows from the tasks alone, kept once worked out; no part of the value.
    """

    facts: dict[Any, Any]

    def __new__(cls, tasks: Iterable[TaskView] = ()) -> Tasks:
        """With nothing worked out yet."""
        made = super().__new__(cls, tasks)
        made.facts = {}
        return made

    def __hash__(self) -> int:
        found: int | None = self.facts.get("hash")
        if found is None:
            found = self.facts["hash"] = super().__hash__()
        return found

    @property
    def has_begun(self) -> bool:
        """Whether anything was done, or is being done, for one of them."""
        found: bool | None = self.facts.get("begun")
        if found is None:
            found = self.facts["begun"] = any(task.items_done > 0 or task.slot is not None for task in self)
        return found

    @property
    def holding(self) -> bool:
        """Whether one of them has a slot."""
        found: bool | None = self.facts.get("holding")
        if found is None:
            found = self.facts["holding"] = any(task.slot is not None for task in self)
        return found


@dataclass(frozen=True, slots=True)
class JobView:
    """One job that has arrived and not ended.

    Attributes:
        id: Unique; the tie-breaker of last resort (lower is older).
        batch: Number of items.
        priority: One of `eddy.core.jobs.PRIORITIES`.
        arrival_s: Board time of arrival.
        deadline_s: Board time by which it should end, or None.
        goal_slots: Saturation point of its application.
        tasks: In topological order; kept as `Tasks`.
        shown_s: Where it was hidden while it waited for memory, the board time from which its waiting counts;
            else None.
        overdue: It has waited so long that it goes before the others of its tenant, whatever its rank.
        facts: What follows from the other fields alone, kept once worked out (see `facts`); no part of the value.
    """

    id: int
    application: str
    tenant: str
    batch: int
    priority: int
    arrival_s: float
    deadline_s: float | None
    goal_slots: int
    tasks: tuple[TaskView, ...]
    shown_s: float | None = None
    overdue: bool = False
    facts: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.tasks, Tasks):
            object.__setattr__(self, "tasks", Tasks(self.tasks))

    @property
    def shape(self) -> Tasks:
        """Its tasks, with what is kept of them."""
        assert isinstance(self.tasks, Tasks)
        return self.tasks

    @property
    def age(self) -> Age:
        """What jobs are ordered by."""
        return self.arrival_s, self.id
