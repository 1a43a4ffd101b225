# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Model of `round_robin`: a queue for each slot, dealt to like cards."""

from __future__ import annotations

from dataclasses import dataclass

from eddy.policy.dispatch.views.view import Decision, Dispatch, DispatchView, JobView
from unit.plain_dispatch.questions import grant, has_image, items_left, placeable, unheld, unless_stuck

Card = tuple[int, int]
"""A job's id and one of its tasks'."""


@dataclass(frozen=True)
class Table:
    """The queues of all slots seen so far, by slot, each as it was dealt; when each card was dealt, counted; and the id
    from which on the next job is dealt to."""

    queues: dict[int, list[Card]]
    when: dict[Card, int]
    turn: int


@dataclass(frozen=True)
class PlainRoundRobin:
    """[004] 3.1: tasks go to the shortest queue, one of each job a turn; a free slot serves by priority, its own queue
    and those of slots that are not to be seen."""

    pipelined: bool = True
    name: str = "round_robin"

    def initial(self) -> Table:
        return Table({}, {}, 0)

    def decide(self, view: DispatchView) -> Dispatch:
        jobs = {job.id: job for job in view.jobs}
        table = self.dealt(view, jobs)
        unseen = set(table.queues) - {slot.index for slot in view.slots}
        made: list[Decision] = []
        for slot in [] if view.port_busy else unheld(view):
            cards = [card for at in (slot.index, *unseen) for card in table.queues[at]]
            able = [card for card in cards if has_image(slot, jobs[card[0]].tasks[card[1]])]
            if able and not made:
                number, task = min(able, key=lambda card: (-jobs[card[0]].priority, table.when[card]))
                for queue in table.queues.values():
                    queue[:] = [card for card in queue if card != (number, task)]
                made.append(grant(jobs[number], jobs[number].tasks[task], slot))
        return Dispatch(unless_stuck(view, made, self.pipelined), table)

    def dealt(self, view: DispatchView, jobs: dict[int, JobView]) -> Table:
        """Without what needs no slot any more, and with what has come to need one; all again if a slot was added."""

        def still(card: Card) -> bool:
            job = jobs.get(card[0])
            return job is not None and job.tasks[card[1]].slot is None and items_left(job, job.tasks[card[1]]) > 0

        memory: Table = view.memory
        added = [slot.index for slot in view.slots if slot.index not in memory.queues]
        queues = {at: [card for card in queue if still(card) and not added] for at, queue in memory.queues.items()}
        queues.update({at: [] for at in added})
        waiting, when = [card for queue in queues.values() for card in queue], dict(memory.when)
        hands = {
            number: [task for task in placeable(job, self.pipelined) if (number, task.id) not in waiting]
            for number, job in jobs.items()
        }
        turn = memory.turn
        while any(hands.values()):
            from_turn_on = sorted(hands, key=lambda number: (number < turn, number))
            for number in from_turn_on:
                if not hands[number]:
                    continue
                task = hands[number].pop(0)
                able = [at for at in queues if task.slots is None or at in task.slots]
                if able:
                    queues[min(able, key=lambda at: (len(queues[at]), at))].append((number, task.id))
                    when[number, task.id] = max(when.values(), default=0) + 1
                    turn = number + 1
        return Table(queues, when, turn)
