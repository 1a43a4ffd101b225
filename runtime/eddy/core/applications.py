# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Applications: packaged task graphs over named buffers, as [004] section 2.1.2 describes them.

A *task* is a piece of an application that fits one slot. A *batch* is a number of independent inputs (items); every
task runs once an item. Task `b` may start item `i` when every predecessor of `b` has finished item `i`.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

from eddy.core.errors import InvalidRequest


class BufferRole(str, enum.Enum):
    """What a buffer is to the application."""

    INPUT = "input"
    """One per item, filled from what the tenant submits."""
    OUTPUT = "output"
    """One per item, handed back to the tenant."""
    INTERMEDIATE = "intermediate"
    """One per item, between tasks."""
    CONSTANT = "constant"
    """One per job, the same for every item, filled from what the tenant submits or the package ships."""
    UPDATE = "update"
    """One per item, filled from what the tenant submits, and handed back as the tasks left it."""


GIVEN, RETURNED = (BufferRole.INPUT, BufferRole.UPDATE), (BufferRole.OUTPUT, BufferRole.UPDATE)
"""Roles of what each item is filled with from a submission, and of what each item hands back."""


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A named buffer: its role, its size, and how its bytes are read.

    Attributes:
        name: Unique in the application.
        role: See `BufferRole`.
        bytes: Size in bytes of one item's buffer.
        dtype: numpy dtype string of the elements, e.g. ``"u1"``, ``"<i2"``.
        shape: Shape of one item's array; its product times the item size of `dtype` is `bytes`.
        picture: Whether it is a tile of a picture in grey levels: people may give and see it as one.
    """

    name: str
    role: BufferRole
    bytes: int
    dtype: str
    shape: tuple[int, ...]
    picture: bool = False


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of an application.

    Attributes:
        id: Position in the application's task tuple.
        name: Unique in the application.
        module: The reconfigurable module that carries it out (a folder of `bitstreams/`).
        arguments: Register name of the module to buffer name or integer scalar.
        estimate_s: What the designer's tools say one item takes, in board seconds; may be ten times short.
        time_limit_s: After this many board seconds an item is stopped and the job fails; never the estimate.
    """

    id: int
    name: str
    module: str
    arguments: tuple[tuple[str, str | int], ...]
    estimate_s: float
    time_limit_s: float


@dataclass(frozen=True, slots=True)
class FusedTask:
    """A module that does what several tasks of an application do, without memory in between.

    Attributes:
        name: Unique among the application's tasks and fused tasks.
        module: The reconfigurable module that carries it out.
        covers: Names of the tasks it stands for.
        arguments: As of a task.
        estimate_s: As of a task.
        time_limit_s: As of a task.
    """

    name: str
    module: str
    covers: tuple[str, ...]
    arguments: tuple[tuple[str, str | int], ...]
    estimate_s: float
    time_limit_s: float


@dataclass(frozen=True, slots=True)
class StreamedEdge:
    """An edge whose buffer may go from one task's slot to the other's, instead of through memory.

    Attributes:
        before: Id of the task that writes it.
        after: Id of the one that reads it.
        buffer: Its name.
    """

    before: int
    after: int
    buffer: str


@dataclass(frozen=True, slots=True)
class Application:
    """A task graph over named buffers.

    Attributes:
        name: Unique on a hypervisor.
        tasks: In an order such that every edge goes from a lower to a higher id (a topological order).
        edges: Pairs of task ids, predecessor first.
        buffers: All buffers the tasks name.
        max_batch: Largest batch accepted.
        goal_slots: Saturation point ([004] 2.3.2): slots beyond this number bring little.
        goals: (batch, saturation point) where it is known by batch, in order of batch; see `goal`.
        fused: Modules that stand for several tasks, to be used instead of them; see `eddy.core.fusion`.
        form: Which of them were put in place of their tasks, or "" for the application as it is.
    """

    name: str
    tasks: tuple[TaskSpec, ...]
    edges: tuple[tuple[int, int], ...]
    buffers: tuple[BufferSpec, ...] = field(default=())
    max_batch: int = 30
    goal_slots: int = 3
    goals: tuple[tuple[int, int], ...] = field(default=())
    fused: tuple[FusedTask, ...] = field(default=())
    form: str = ""

    @property
    def label(self) -> str:
        """What is learned of its items is learned under: each form's tasks are others."""
        return f"{self.name}:{self.form}" if self.form else self.name

    def goal(self, batch: int) -> int:
        """Slots beyond which more bring little, for a batch: those of the largest known batch that is not larger."""
        return max(((known, goal) for known, goal in self.goals if known <= batch), default=(0, self.goal_slots))[1]

    def predecessors(self, task: int) -> tuple[int, ...]:
        """Ids of the tasks that must finish an item before `task` may start it."""
        return tuple(a for a, b in self.edges if b == task)

    def task_name(self, task: int) -> str:
        """What a task is called on a board, whose items are of many applications."""
        return f"{self.name}/{self.tasks[task].name}"


def topological_order(count: int, edges: Iterable[tuple[int, int]], field: str) -> list[int]:
    """Positions in an order in which every edge goes forward, the smallest first where the edges leave a choice.

    Args:
        count: How many positions there are.
        edges: (predecessor, successor) pairs of positions; one that stands twice counts once.
        field: What the edges are called in the request, for the message.

    Raises:
        InvalidRequest: The edges form a cycle.
    """
    waits_for = [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for first, second in set(edges):
        waits_for[second] += 1
        after[first].append(second)
    ready = [position for position in range(count) if not waits_for[position]]
    order: list[int] = []
    while ready:
        here = heapq.heappop(ready)
        order.append(here)
        for there in after[here]:
            waits_for[there] -= 1
            if not waits_for[there]:
                heapq.heappush(ready, there)
    if len(order) < count:
        raise InvalidRequest(f"{field}: the edges form a cycle", field=field)
    return order
