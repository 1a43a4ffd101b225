"""Model of `round_robin`: a queue for each slot, dealt to like cards."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.view import Decision, Dispatch, DispatchView, JobView, TaskView
from unit.plain_dispatch.questions import grant, has_image, items_left, placeable, unheld, unless_stuck

Card = tuple[int, int]
"""A job's id and one of its tasks'."""


@dataclass(frozen=True)
class Table:
    """The slots' queues, by slot, each as it was dealt; and the id from which on the next job is dealt to."""

    queues: dict[int, list[Card]]
    turn: int


@dataclass(frozen=True)
class PlainRoundRobin:
    """[004] 3.1: tasks go to the shortest queue, one of each job a turn; a free slot serves by priority."""

    pipelined: bool = True
    name: str = "round_robin"

    def initial(self) -> Table:
        return Table({}, 0)

    def decide(self, view: DispatchView) -> Dispatch:
        jobs = {job.id: job for job in view.jobs}
        table = self.dealt(view, jobs)
        made: list[Decision] = []
        for slot in [] if view.port_busy else unheld(view):
            queue = table.queues[slot.index]
            if queue and not made:
                highest = max(jobs[number].priority for number, _ in queue)
                number, task = next(card for card in queue if jobs[card[0]].priority == highest)
                queue.remove((number, task))
                made.append(grant(jobs[number], jobs[number].tasks[task], slot))
        return Dispatch(unless_stuck(view, made, self.pipelined), table)

    def dealt(self, view: DispatchView, jobs: dict[int, JobView]) -> Table:
        """Without what needs no slot any more, and with what has come to need one; all again if a slot was added."""

        def still(card: Card) -> bool:
            job = jobs.get(card[0])
            return job is not None and job.tasks[card[1]].slot is None and items_left(job, job.tasks[card[1]]) > 0

        memory: Table = view.memory
        kept = memory.queues if all(slot.index in memory.queues for slot in view.slots) else {}
        queues = {slot.index: [card for card in kept.get(slot.index, []) if still(card)] for slot in view.slots}
        waiting = [card for queue in queues.values() for card in queue]
        hands = {
            number: [task for task in placeable(job, self.pipelined) if (number, task.id) not in waiting]
            for number, job in jobs.items()
        }
        turn = memory.turn
        while any(hands.values()):
            from_turn_on = sorted(hands, key=lambda number: (number < turn, number))
            for number in from_turn_on:
                if hands[number] and _deal(view, hands[number].pop(0), number, queues):
                    turn = number + 1
        return Table(queues, turn)


def _deal(view: DispatchView, task: TaskView, number: int, queues: dict[int, list[Card]]) -> bool:
    """Put a task into the shortest queue of a slot it has an image for, the lowest of several; whether there is one."""
    able = [slot.index for slot in view.slots if has_image(slot, task)]
    if able:
        queues[min(able, key=lambda slot: (len(queues[slot]), slot))].append((number, task.id))
    return bool(able)
