# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which tasks start an item together, because what lies between them goes from slot to slot instead of through memory.

Policies place tasks as they do without streams; what has slots at the same time is streamed. So nothing waits for a
second slot, and a reader that is not there gets its buffer from memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from eddy.core.applications import StreamedEdge
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.slot import MachineSlot, Phase


@dataclass(frozen=True, slots=True)
class Start:
    """An item to start: of which task, where, and the buffers that it reads and writes from slot to slot, each with the
    slot at its other end."""

    task: int
    slot: int
    reads: tuple[str, int] | None = None
    writes: tuple[str, int] | None = None

    @property
    def streams(self) -> tuple[tuple[str, int], ...]:
        """Both, where there are."""
        return tuple(end for end in (self.reads, self.writes) if end is not None)


def starts(
    job: Job,
    slot: MachineSlot,
    item: int,
    slots: Mapping[int, MachineSlot],
    waiting: Collection[int],
    crowded: Callable[[], bool],
) -> tuple[Start, ...]:
    """What to start with a task's next item: the last reader first; () where the task waits for a reader.

    Args:
        job: Whose.
        slot: Which has the task, and waits for its next item.
        item: That one.
        slots: Every slot.
        waiting: Slots that the policy may take first.
        crowded: Whether somebody else may want a slot.
    """
    assert slot.task is not None
    found, at = [Start(slot.task, slot.index)], slot
    edges = {edge.before: edge for edge in job.spec.streamed}
    while at.task in edges:
        edge = edges[at.task]
        index = job.slot_of[edge.after]
        reader = slots[index] if index is not None else None
        if reader is None or reader.stopping:
            break
        # Where a crash was between two starts, the reader waits for a writer that was not started.
        awaits = reader.phase is Phase.RUNNING and reader.item == item
        if reader.leaving is not None and not awaits:
            break
        joins = awaits or (reader.phase is Phase.HELD and _may_read(job, edge, item))
        if _is_feeding(at, slots) if joins else not _waits(job, edge, item, reader, crowded):
            break
        if not joins or (not awaits and reader.index in waiting):
            return ()
        found[-1] = replace(found[-1], writes=(edge.buffer, reader.index))
        if awaits:
            break
        found.append(Start(edge.after, reader.index, reads=(edge.buffer, at.index)))
        at = reader
    return tuple(reversed(found))


def _may_read(job: Job, edge: StreamedEdge, item: int) -> bool:
    """Whether a task could start an item but for what comes from slot to slot."""
    done = job.items.done
    others = (task for task in job.graph.predecessors[edge.after] if task != edge.before)
    return done[edge.after] == item and all(done[task] > item for task in others)


def _waits(job: Job, edge: StreamedEdge, item: int, reader: MachineSlot, crowded: Callable[[], bool]) -> bool:
    """Whether a task waits until its reader is ready for an item.

    It does where nobody else wants the slot, and waiting costs the job no time: the reader is the slower one, so that
    all its items are behind each other in any case; or it is one item behind, which it would be at the end as well.
    """
    behind, loading = item - job.items.done[edge.after], reader.phase is Phase.LOADING
    comes = loading or (behind > 0 and (reader.phase is Phase.RUNNING or _starts_alone(job, edge)))
    tasks = job.spec.application.tasks
    slower = tasks[edge.before].estimate_s <= tasks[edge.after].estimate_s
    return comes and (slower or (not loading and behind == 1)) and not crowded()


def _starts_alone(job: Job, edge: StreamedEdge) -> bool:
    """Whether the reader's next item needs nothing that is not there."""
    return job.next_item(edge.after, pipelined=True) is not None


def _is_feeding(slot: MachineSlot, slots: Mapping[int, MachineSlot]) -> bool:
    """Whether the reader of a slot's last stream has yet to end: what is left of it is in the slot's end."""
    if slot.feeds is None:
        return False
    index, job, item = slot.feeds
    reader = slots[index]
    return reader.phase is Phase.RUNNING and (reader.job, reader.item) == (job, item)
