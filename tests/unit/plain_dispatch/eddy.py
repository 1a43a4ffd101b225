# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Model of `eddy`: whoever asks with the least rank is answered first, until nothing is left to give."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from eddy.core.slots import PreemptReason
from eddy.model.latency.learned import Item, Latencies
from eddy.policy.dispatch.choosing.rank import Constants
from eddy.policy.dispatch.views.view import (
    Configure,
    Decision,
    Dispatch,
    DispatchView,
    JobView,
    Preempt,
    Prefetch,
    SlotView,
    TaskView,
)
from unit.plain_dispatch.prospects import Prospect, prospect_of
from unit.plain_dispatch.questions import grant, hangs, has_image, is_there, items_left, slots_of, unheld

WEIGHT = {1: 1.0, 3: 1.2, 9: 4.0}

Age = tuple[float, int]


@dataclass(frozen=True)
class Past:
    """What one call leaves to the next.

    Attributes:
        load_s: Seconds a load takes: the slots' mean, followed when it has moved by more than a tenth.
        stays: Whether a module was ever seen in a slot that was nobody's.
        fetched: What was last asked to be read ahead.
        taken: By slot, the job and the task it is being taken from.
        ends_s: When jobs would end one after another, by age; those that came before all that are left are forgotten.
        youngest: The age of the youngest job seen.
    """

    learned: Latencies = field(default_factory=Latencies)
    load_s: float = 0.0
    stays: bool = False
    fetched: tuple[str, int] | None = None
    taken: dict[int, tuple[int | None, int | None]] = field(default_factory=dict)
    ends_s: dict[Age, float] = field(default_factory=dict)
    youngest: Age = (-math.inf, -1)


@dataclass(frozen=True)
class PlainEddy(Constants):
    """The policy; its numbers are the real one's."""

    name: str = "eddy"

    def initial(self) -> Past:
        return Past()

    def decide(self, view: DispatchView) -> Dispatch:
        past: Past = view.memory
        ended = [
            Item(seen.application, seen.task, seen.module, seen.estimate_s, seen.duration_s)
            for seen in view.observations
        ]
        past = replace(past, learned=past.learned.observe(ended))
        if not list(view.jobs):
            return Dispatch((), Past(past.learned, past.load_s, past.stays))
        round_ = Round(self, view, past)
        round_.run()
        return Dispatch(tuple(round_.made), round_.past, view.now_s + self.interval_s)


class Round:
    """One decision; see `docs/reference/dispatch.md`."""

    def __init__(self, numbers: Constants, view: DispatchView, past: Past) -> None:
        self.numbers, self.view = numbers, view
        self.jobs = tuple(view.jobs)
        self.made: list[Decision] = []
        self.slots = unheld(view)
        self.port_free = not view.port_busy
        self.waits_for_port: list[SlotView] = []
        self.promised_s: Counter[int] = Counter()
        self.works_s: dict[int, tuple[int, float]] = {}
        """By slot given here that holds its task's module: to which job, and for how long."""
        mean_s = sum(slot.load_s for slot in view.slots) / len(view.slots) if view.slots else 0.0
        steady = abs(mean_s - past.load_s) <= 0.1 * past.load_s
        holds = {slot.index: (slot.job, slot.task) for slot in view.slots}
        self.past = replace(
            past,
            load_s=past.load_s if steady else mean_s,
            stays=past.stays or any(slot.module for slot in view.slots if slot.job is None),
            taken={slot: whose for slot, whose in past.taken.items() if holds.get(slot) == whose},
        )
        self.unclaimed = len(self.past.taken)
        self.of = {job.id: self.prospect(job) for job in view.jobs}
        self.has = {job.id: slots_of(job) for job in view.jobs}
        self.since_s = min(job.arrival_s for job in view.jobs)
        self.past = self.with_ends()
        self.ages = sorted(self.past.ends_s)
        self.all_work_s = sum(prospect.work_s for prospect in self.of.values()) / max(len(view.slots), 1)

    def prospect(self, job: JobView) -> Prospect:
        known = tuple((task.module, task.estimate_s) for task in job.tasks)
        item_s = self.past.learned.predict(job.application, known)
        return prospect_of(job, item_s, self.past.load_s, self.numbers.pipelined)

    def with_ends(self) -> Past:
        """With the ends of those that came: each begins at the last end and takes its critical path and a load."""
        ends_s, youngest = dict(self.past.ends_s), self.past.youngest
        for age, number in sorted(((job.arrival_s, job.id), job.id) for job in self.view.jobs):
            if age > youngest:
                begins_s = max(age[0], *(end_s for end_s in (-math.inf, *ends_s.values())))
                ends_s[age], youngest = begins_s + (self.of[number].path_s + self.past.load_s), age
        recent = {age: end_s for age, end_s in ends_s.items() if not age[0] < self.since_s}
        return replace(self.past, ends_s=recent, youngest=youngest)

    # The rank -------------------------------------------------------------------------------------------------------

    def rank(self, job: JobView, has: int) -> float:
        """Of one more slot for a job that has some."""
        work_s, path_s = self.of[job.id].work_s, self.of[job.id].path_s
        waited_s = self.view.now_s - job.arrival_s
        upto = bisect_right(self.ages, (job.arrival_s, job.id))
        unshared_s = self.past.ends_s[self.ages[upto - 1]] - self.since_s if upto else 0.0
        scale: float = max(unshared_s, 1e-3) ** self.numbers.claim / WEIGHT[job.priority]
        rank = scale * work_s * (work_s / (work_s + self.numbers.ageing * waited_s + 1e-9))
        if job.deadline_s is not None:
            slack_s = job.deadline_s - self.view.now_s - path_s
            if slack_s >= 0:
                rank *= max(0.1, min(1.0, slack_s / (work_s + 1e-9)))
        if has == 0 and path_s > self.numbers.outlasting * self.all_work_s:
            rank = min(rank, self.numbers.early * path_s * scale)
        return rank * (1 + self.numbers.crowd * has / math.sqrt(WEIGHT[job.priority]))

    # Requests -------------------------------------------------------------------------------------------------------

    def requests(self, job: JobView) -> Iterator[tuple[TaskView, float]]:
        """The tasks a job asks for, in turn, each with what its rank is multiplied by."""
        for task in self.of[job.id].ready:
            yield task, 1.0
        for task in self.of[job.id].early:
            yield task, self.numbers.idle

    def run(self) -> None:
        """Answer requests; then lend the slots that are kept for a load."""
        asking: dict[int, tuple[float, TaskView]] = {}
        rest = {job.id: self.requests(job) for job in self.view.jobs}

        def ask(number: int) -> None:
            asking.pop(number, None)
            for task, times in rest[number]:
                asking[number] = self.rank(self.of[number].job, self.has[number]) * times, task
                return

        for number in rest:
            ask(number)
        while asking and (self.slots or self.port_free):
            number = min(asking, key=lambda number: (asking[number][0], number))
            rank, task = asking[number]
            if self.answer(self.of[number], task, rank):
                self.has[number] += 1
                ask(number)
            else:
                del asking[number]
        for slot in self.waits_for_port:
            self.lend(slot)

    def answer(self, one: Prospect, task: TaskView, rank: float) -> bool:
        """Give a task a slot, now or soon; whether it will have one."""
        patience_s = self.numbers.patience_s
        if one.item_s[task.id] > patience_s and 0 < len(self.view.slots) - 1 <= self.without_end(patience_s):
            return False
        able = [slot for slot in self.slots if has_image(slot, task)]
        there = [slot for slot in able if is_there(slot, one.job, task)]
        if there:
            first = min(there, key=lambda slot: (slot.tenant != one.job.tenant, slot.index))
            self.give(one.job, task, first)
            if one.all_there(task):
                self.works_s[first.index] = one.job.id, one.lasts_s(task)
        elif able:
            if not (self.past.stays and self.join(one, task)):
                self.load(one.job, task, min(able, key=self.worth))
        elif not self.unclaimed:
            return self.take(one, task, rank, at_once=False)
        elif not self.take(one, task, rank, at_once=True):
            self.unclaimed -= 1
        return True

    def without_end(self, patience_s: float) -> int:
        """Slots that work, or will, on items longer than anybody's patience."""
        slow = [(made.job, made.task) for made in self.made if isinstance(made, Configure)]
        for slot in self.view.slots:
            if slot.job in self.of and slot.job is not None and slot.task is not None:
                job = self.of[slot.job].job
                waits = any(source.items_done <= job.tasks[slot.task].items_done for source in _sources(job, slot.task))
                if slot.running or (not waits and items_left(job, job.tasks[slot.task])):
                    slow.append((slot.job, slot.task))
        return len([1 for number, task in slow if self.of[number].item_s[task] > patience_s])

    def give(self, job: JobView, task: TaskView, slot: SlotView) -> None:
        self.slots.remove(slot)
        self.made.append(grant(job, task, slot))

    def load(self, job: JobView, task: TaskView, slot: SlotView) -> None:
        """Load a slot for a task; if the port is busy keep it, and have the first such image read ahead."""
        if self.port_free:
            self.port_free = False
            self.give(job, task, slot)
            return
        self.slots.remove(slot)
        self.waits_for_port.append(slot)
        image = task.module, slot.index
        if len(self.waits_for_port) == 1 and image != self.past.fetched:
            self.past = replace(self.past, fetched=image)
            self.made.append(Prefetch(module=task.module, slot=slot.index))

    def worth(self, slot: SlotView) -> tuple[float, float, int]:
        """What is lost by loading over a slot: nothing, a module nobody waits for, or one wanted with some rank."""
        wanting = [
            self.rank(prospect.job, 1)
            for prospect in self.of.values()
            for task in prospect.open
            if task.slot is None and task.module == slot.module
            if slot.scrubs or prospect.job.tenant == slot.tenant
        ]
        if not slot.module:
            return -math.inf, slot.load_s, slot.index
        return -min(wanting) if wanting else -1e300, slot.load_s, slot.index

    def join(self, one: Prospect, task: TaskView) -> bool:
        """Wait for a slot another job is about to give back with the module in it, behind those who wait already."""
        waits_s: dict[int, float] = {}
        for slot in self.view.slots:
            if slot.index in self.works_s and is_there(slot, one.job, task):
                giver, works_s = self.works_s[slot.index]
                if giver != one.job.id:
                    waits_s[slot.index] = self.promised_s[slot.index] + works_s
            if slot.job in (None, one.job.id) or slot.job not in self.of or slot.task is None:
                continue
            if slot.index in self.past.taken or not is_there(slot, one.job, task):
                continue
            other = self.of[slot.job]
            own = other.job.tasks[slot.task]
            ends = slot.loading or slot.running or items_left(other.job, own) > 0
            if ends and other.all_there(own):
                loading_s = self.past.load_s if slot.loading else 0.0
                waits_s[slot.index] = self.promised_s[slot.index] + other.lasts_s(own) + loading_s
        near = {slot: wait_s for slot, wait_s in waits_s.items() if wait_s < self.numbers.joining * self.past.load_s}
        if near:
            first = min(near, key=lambda slot: (near[slot], slot))
            self.promised_s[first] += one.lasts_s(task) if one.all_there(task) else math.inf  # type: ignore[assignment]
        return bool(near)

    # Lending --------------------------------------------------------------------------------------------------------

    def lend(self, slot: SlotView) -> None:
        """Give a kept slot to the first in rank that needs no load and ends before one would
        (docs/decisions/dispatch-by-eddy.md)."""
        given = [(made.job, made.task) for made in self.made if isinstance(made, Configure)]
        soon = [
            (self.rank(prospect.job, slots_of(prospect.job)), prospect.job.id, task.id)
            for prospect in self.of.values()
            if self.leads(prospect.job, slot)
            for task in prospect.ready
            if is_there(slot, prospect.job, task) and (prospect.job.id, task.id) not in given
            if prospect.all_there(task) and prospect.lasts_s(task) <= self.past.load_s
        ]
        if soon:
            _, number, place = min(soon)
            self.made.append(Configure(number, place, slot.index))

    def leads(self, job: JobView, slot: SlotView) -> bool:
        """Whether a job stands at the head of those like it: nothing was done for any, and none has a deadline."""

        def like(other: JobView) -> object:
            return other.application, other.tasks, other.priority, slot.scrubs or other.tenant

        def stands(other: JobView) -> bool:
            return other.deadline_s is None and other.shown_s is None and not _begun(other)

        # Cheapest first: with many jobs, most of the time goes here.
        key, kind = (job.arrival_s, job.id), like(job)
        return not stands(job) or not any(
            other.batch <= job.batch and like(other) == kind and stands(other)
            for other in self.jobs
            if (other.arrival_s, other.id) < key
        )

    # Taking ---------------------------------------------------------------------------------------------------------

    def take(self, one: Prospect, task: TaskView, rank: float, *, at_once: bool) -> bool:
        """Take the slot that is worth least to its holder, if it is worth enough less than to this task."""
        found: list[tuple[float, int, int]] = []
        for slot in self.view.slots:
            if slot.job not in self.of or slot.job is None or slot.task is None or slot.loading:
                continue
            if slot.index in self.past.taken or not has_image(slot, task) or (at_once and slot.running):
                continue
            holder = self.of[slot.job]
            own = holder.job.tasks[slot.task]
            idle = not slot.running and not holder.busy(own)
            if holder is one and not (idle and (own.id > task.id or hangs(one.job, own, self.numbers.pipelined))):
                continue
            value = self.rank(holder.job, max(self.has[slot.job] - 1, 0)) * (self.numbers.idle if idle else 1.0)
            if value > self.numbers.reluctance * rank:
                item_s = holder.item_s[own.id] if slot.running else 0.0
                found.append((round(value / (one.work_s + item_s + 1e-9), 9), own.id, slot.index))
        if found:
            index = max(found)[2]
            slot = next(slot for slot in self.view.slots if slot.index == index)
            assert slot.job is not None
            self.past = replace(self.past, taken={**self.past.taken, index: (slot.job, slot.task)})
            self.has[slot.job] -= 1
            self.made.append(Preempt(index, PreemptReason.RANK))
        return bool(found)


def _sources(job: JobView, task: int) -> list[TaskView]:
    return [job.tasks[number] for number in job.tasks[task].predecessors]


def _begun(job: JobView) -> bool:
    return any(task.slot is not None or task.items_done for task in job.tasks)
