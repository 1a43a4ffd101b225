# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why a job waits now, from the queue it is in; one cause, the first that holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from eddy.core.maintenance import MARK
from eddy.hypervisor.forecast.queue import QueuePicture
from eddy.hypervisor.forecast.simulate import QueueForecast
from eddy.hypervisor.jobs.slot import LEASED
from eddy.policy.dispatch.views.job_view import TaskView


@dataclass(frozen=True, slots=True)
class WaitNow:
    """What a job waits for.

    Attributes:
        cause: `maintenance`, `drain`, `load`, `slot`, `preempted`, `memory`, `predecessor`, `building`, `price-share`,
            `items`, or "" where it waits for nothing.
        words: The same for people.
    """

    cause: str
    words: str


def maintenance_wait(window: str, begun: bool) -> WaitNow:
    """What a job waits for that is held back for a maintenance window.

    Args:
        begun: Whether the job has been given a slot before.
    """
    over = f"maintenance window {window} is over (`eddy maintenance list`)"
    if begun:
        return WaitNow("maintenance", f"Its slots are closed by calendar. It goes on when {over}.")
    return WaitNow("maintenance", f"It could not end before its slots are closed by calendar. It begins when {over}.")


def describe_wait(
    queue: QueuePicture, made: QueueForecast, number: int, preempted: bool, lacks_memory: bool
) -> WaitNow:
    """Why a job waits. Of the queue it tells what is its tenant's alone: how many others wait is theirs.

    Args:
        made: The forecast of that queue.
        preempted: Whether its slots were taken from it.
        lacks_memory: Whether it was refused memory.
    """
    job = queue.view.jobs.job(number)
    held = [slot for slot in queue.view.slots if slot.job == number]
    if any(slot.running for slot in held):
        return WaitNow("", "It runs.")
    if held and all(slot.loading for slot in held):
        return WaitNow("load", f"{_slots(len(held))} being loaded with what it needs.")
    if held:
        return WaitNow("items", "It has a slot, and waits for items of an earlier task of its own.")
    if lacks_memory or number in made.unknown:
        return WaitNow("memory", _memory(queue, made, number))
    wanted = [task for task in job.tasks if task.items_done < job.batch]
    usable = {slot.index for slot in queue.view.slots if any(_fits(task, slot.index) for task in wanted)}
    closed = [because for because in queue.unseen.values() if because.startswith(MARK)]
    if not usable and closed:
        return WaitNow("maintenance", f"The slots that it fits in are closed by calendar ({window_of(closed[0])}).")
    if not usable and queue.unseen and all(because.startswith(LEASED) for because in queue.unseen.values()):
        return WaitNow("lease", "Every slot that it fits in is leased: a person has it for a stated time.")
    if not usable and queue.unseen:
        return WaitNow("drain", "Every slot that it fits in is drained, or rests after failed loads.")
    free = [slot for slot in queue.view.slots if slot.index in usable and slot.job is None]
    if preempted:
        return WaitNow("preempted", f"The policy {queue.policy.name} took its slots, and gives them to others first.")
    own = made.own.get(number, 1) - 1
    jobs = "1 job" if own == 1 else f"{own} jobs"
    ahead = f"{jobs} of its tenant should start before it" if own else "no job of its tenant should start before it"
    if free and (queue.view.port_busy or queue.port_busy_s > 0):
        loading = [slot.index for slot in queue.view.slots if slot.loading]
        which = f" of slot {loading[0]}" if loading else ""
        return WaitNow("load", f"A slot is free, and the configuration port is busy with the load{which}; {ahead}.")
    if any(task.module in slot.coming for task in wanted for slot in free):
        return WaitNow("load", "A slot is free, and the image it is to be loaded with is being read into memory.")
    if free:
        return WaitNow("slot", f"{_kept(queue, made, number, {slot.index for slot in free})}; {ahead}.")
    drained = f" {_slots(len(queue.unseen))} drained or resting." if queue.unseen else ""
    load = next((slot.index for slot in queue.view.slots if slot.loading and slot.index in usable), None)
    loads = "" if load is None else f", slot {load} by a load that is under way"
    return WaitNow("slot", f"All {len(usable)} slots that it fits in are taken{loads}; {ahead}.{drained}")


def window_of(because: str) -> str:
    """Which maintenance window drained a slot, without what operators alone are told of it."""
    return f"maintenance window {because.removeprefix(MARK).partition(':')[0]}"


def _memory(queue: QueuePicture, made: QueueForecast, number: int) -> str:
    """Whose memory a job waits for, and whether it can be known until when."""
    arena = queue.arena
    if arena is None or number not in arena.waiting:
        return "The board's memory is full: it is given memory when jobs before it end."
    if arena.has_part(number):
        return (
            "Its tenant's jobs hold as much memory as those of one tenant may: it is given some when one of them ends."
        )
    if number not in made.unknown:
        return "The board's memory is full: it is given memory when jobs before it end."
    return "The board's memory is full. When it starts cannot be known: it waits for memory held by jobs of others."


def _kept(queue: QueuePicture, made: QueueForecast, number: int, free: Collection[int]) -> str:
    """Who comes before a job in slots that are free, as far as its tenant may know."""
    following = next((each.job for each in made.given if each.slot in free), None)
    other = None if following is None else queue.view.jobs.get(following)
    if other is None or following == number:
        return f"A slot is free, and the policy {queue.policy.name} keeps it for a load to come"
    if other.tenant != queue.view.jobs.job(number).tenant:
        return "A slot is free, and goes first to a tenant that was served less"
    return f"A slot is free, and the policy {queue.policy.name} gives it to another job of its tenant first"


def _fits(task: TaskView, slot: int) -> bool:
    return task.slots is None or slot in task.slots


def _slots(count: int) -> str:
    return "1 slot is" if count == 1 else f"{count} slots are"
