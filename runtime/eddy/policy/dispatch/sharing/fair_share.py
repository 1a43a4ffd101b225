# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots between tenants by weight, before any policy's rank; within a tenant the policy decides.

The policy is asked for one tenant at a time, the least served first: it sees that tenant's jobs, the slots they hold,
and the free ones. So whatever it ranks by, priorities among it, orders the jobs of one tenant. What it remembers it
remembers for each tenant; who comes new begins with what it remembered when it had no jobs, and what items took since.

- A tenant is asked again after each slot it was given, in its new place: slots go round.
- What the least served could use is not given to others: where its next load must wait for the configuration port, or
  for its image, the slot it would take is kept for it meanwhile. Of what nobody before them can use, others are given.
- A free slot goes first to whoever finds the module in it, unless that tenant is a quantum ahead of the least served:
  else each turn would load again what another's turn had loaded over.
- A load is not made for a module that another tenant's slot has, if that should be given back within a quantum: the
  slot is waited for.
- A slot is taken, after the item under way, from who was served more: if after that it is still not behind. Whether
  the less served would use it is known before: the policy is pure, so it is asked as if the slot were free.
- Who waits so, with a slot free, waits for a quantum at most, whatever was expected of the other's job.
- Of a tenant's jobs, one that is overdue goes before its others, one at a time: none waits for ever, whatever the rank.

With one tenant, the policy decides as if nothing of this were there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

from eddy.core.slots import PreemptReason
from eddy.policy.dispatch.sharing.fair_queue import FairQueue
from eddy.policy.dispatch.views.choice import has_image, needs_no_load
from eddy.policy.dispatch.views.job_view import JobView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.select import slots_held
from eddy.policy.dispatch.views.view import (
    Configure,
    Decision,
    Dispatch,
    DispatchPolicy,
    DispatchView,
    Observation,
    Preempt,
    SlotView,
    TaskView,
)

QUANTUM_LOADS = 2.0
"""Loads whose time is a quantum: a slot is held as long at least before it goes to another tenant, where both want it
all the time, and a module that another has is waited for as long at most, as is the least served for who finds its
module in a free slot."""
MIN_QUANTUM_S = 1e-3
"""The same where loads take no time."""
MAX_MISSED = 256
"""Items that ended, of which who comes new is told, or was not asked for long; the latest."""
MAX_TRIED = 4
"""Slots of others of which it is tried whether a tenant would use them, at a decision."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One tenant's part of what is remembered.

    Attributes:
        memory: Of the policy, for its jobs.
        seen: Items that ended since the policy was asked.
        changed: Jobs that changed since, and maybe others; None where all must be looked at.
        wake_s: When the policy wants to be asked again.
        content: Whether it wanted no slot more when it was asked last, and nothing about it changed since.
        awaits_s: Since when it waits for a module that another tenant's slot has, instead of a load; None: it does not.
    """

    memory: Any
    seen: tuple[Observation, ...] = ()
    changed: frozenset[int] | None = None
    wake_s: float | None = None
    content: bool = False
    awaits_s: float | None = None

    def after_events(self, view: DispatchView, jobs: Jobs) -> Lane:
        """After what happened since the last decision."""
        known, fresh = self.changed, view.changed
        changed = None if known is None or fresh is None else known | fresh
        same = fresh is not None and not any(jobs.get(number) is not None for number in fresh)
        wake_s = self.wake_s if self.wake_s is not None and self.wake_s > view.now_s else None
        seen = (self.seen + view.observations)[-MAX_MISSED:]
        return Lane(self.memory, seen, changed, wake_s, self.content and same, self.awaits_s)

    def with_rechecked(self, jobs: Jobs, given: Iterable[int]) -> Lane:
        """With those of the jobs that were given slots to be looked at again: they may be refused them, for want of
        memory say, and are as they were then, which is another than they were shown as."""
        mine = [number for number in given if jobs.get(number) is not None]
        return self if self.changed is None or not mine else replace(self, changed=self.changed.union(mine))


@dataclass(frozen=True, slots=True)
class SlotOnItsWay:
    """A slot that is on its way from one tenant to another.

    Attributes:
        job: From which job.
        task: From which of its tasks.
    """

    tenant: str
    job: int
    task: int


@dataclass(frozen=True, slots=True)
class FairMemory:
    """What is remembered.

    Attributes:
        queue: What tenants were served.
        at_s: Board time of the last decision.
        held: Slots that tenants had after it.
        lanes: By tenant that has jobs.
        rest: The policy's memory when a tenant had no jobs left; what the next one begins with.
        missed: Items that ended since.
        taken: By slot: those on their way.
    """

    rest: Any
    queue: FairQueue = field(default_factory=FairQueue)
    at_s: float = 0.0
    held: Mapping[str, int] = field(default_factory=dict)
    lanes: Mapping[str, Lane] = field(default_factory=dict)
    missed: tuple[Observation, ...] = ()
    taken: Mapping[int, SlotOnItsWay] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FairShare:
    """A dispatch policy for each tenant, and slots between tenants by weight; see the module.

    Attributes:
        policy: Decides within a tenant.
    """

    policy: DispatchPolicy

    @property
    def name(self) -> str:
        """The policy's."""
        return self.policy.name

    @property
    def pipelined(self) -> bool:
        """As the policy has it."""
        return self.policy.pipelined

    def initial(self) -> FairMemory:
        """Nobody was served anything."""
        return FairMemory(self.policy.initial())

    def decide(self, view: DispatchView) -> Dispatch:
        """Ask the policy for each tenant, the least served first."""
        return _Turn(self.policy, view).play()


class _Turn:
    """One decision.

    Args:
        policy: Decides within a tenant.
    """

    def __init__(self, policy: DispatchPolicy, view: DispatchView) -> None:
        self.policy, self.view = policy, view
        memory: FairMemory = view.memory
        self.memory, self.rest, self.missed = memory, memory.rest, memory.missed
        self.jobs = dict(view.jobs.tenants.items())
        self.slots = {slot.index: slot for slot in view.slots}
        self.port_busy = view.port_busy
        self.quantum_s = max([MIN_QUANTUM_S, *[QUANTUM_LOADS * slot.load_s for slot in view.slots]])
        self.decisions: list[Decision] = []
        self.order: _Order | None = None
        self.kept: dict[int, str] = {}
        """Free slots that are kept for a tenant."""
        self.set_aside: set[int] = set()
        """Free slots that are kept for an overdue job."""
        held = {slot.index: (slot.job, slot.task) for slot in view.slots} if memory.taken else {}
        self.taken = {at: each for at, each in memory.taken.items() if held.get(at) == (each.job, each.task)}
        self.counts = self._counts()
        self.lanes = self._lanes()
        passed_s = max(view.now_s - memory.at_s, 0.0)
        used_s = {tenant: count * passed_s for tenant, count in memory.held.items()}
        self.queue = memory.queue.charge(used_s, view.weights).enter(self._present())

    def _present(self) -> set[str]:
        """Tenants that have jobs, or slots."""
        return {*self.jobs, *[slot.tenant for slot in self.view.slots if slot.job is not None]}

    def _lanes(self) -> dict[str, Lane]:
        """One for each tenant that has jobs; what is remembered of others is what they leave."""
        view, found = self.view, dict[str, Lane]()
        for tenant, lane in self.memory.lanes.items():
            if tenant not in self.jobs:
                changed = lane.after_events(view, Jobs()).changed
                none = replace(view, jobs=Jobs(), observations=lane.seen, memory=lane.memory, changed=changed)
                self.rest, self.missed = self.policy.decide(none).memory, ()
        for tenant, jobs in self.jobs.items():
            lane = self.memory.lanes.get(tenant) or Lane(self.rest, self.missed)
            found[tenant] = lane.after_events(view, jobs)
        if view.observations:
            self.missed = (*self.missed, *view.observations)[-MAX_MISSED:]
        return found

    # Playing --------------------------------------------------------------------------------------------------------

    def play(self) -> Dispatch:
        """The decision."""
        if len(self.jobs) == 1:
            (tenant,) = self.jobs
            self._serve_overdue(tenant)
            self.decisions += self._ask(tenant, self._visible(tenant) if self.set_aside or self.decisions else None)
        elif self.jobs:
            self._serve_all()
        return Dispatch(tuple(self.decisions), self._after(), self._wake_s())

    def _serve_all(self) -> None:
        """Ask for tenants in turn; each that was given a slot takes its new place among those who may be given more."""
        self._serve_loaded()
        self.order = _Order(self.jobs, self._place)
        while (tenant := self.order.next()) is not None:
            if not self._serve(tenant):
                self.order.leave(tenant)

    def _serve_loaded(self) -> None:
        """Give free slots to tenants that find their modules in them, in turn, within a quantum of the least served.
        Not to one of whose jobs another is overdue."""
        last = min(self._place(each) for each in self.jobs) + self.quantum_s
        order = _Order(self.jobs, self._place)
        while (tenant := order.next()) is not None and self._place(tenant) <= last:
            visible = self._visible(tenant)
            free = [slot for slot in visible if slot.job is None and not slot.loading]
            finds = self._finds_loaded(tenant, free) and self._overdue(tenant) is None
            if not finds or not self._given_loaded(tenant, visible):
                order.leave(tenant)

    def _given_loaded(self, tenant: str, visible: list[SlotView]) -> bool:
        """Give a tenant what its policy would give first, if that needs no load; answers whether it does not."""
        for decision in self._decided(tenant, visible, self.jobs[tenant], self.port_busy):
            if isinstance(decision, Configure):
                meant = self._meant(decision, tenant)
                if meant is None or not needs_no_load(*meant) or not self._note(decision, tenant):
                    return False
                self.decisions.append(decision)
                return True
        return False

    def _serve(self, tenant: str) -> bool:
        """Give a tenant one slot at most; answers whether it was given one."""
        if self._serve_overdue(tenant):
            return True
        visible = self._visible(tenant)
        if not any(slot.job is not None for slot in visible) and not self._could_use(tenant, visible):
            self._claim(tenant)
            return False
        given = awaits = False
        for decision in self._ask(tenant, visible):
            if not isinstance(decision, Configure):
                self.decisions.append(decision)
            elif given:
                pass  # in its next place
            elif self._comes_soon(decision, tenant):
                awaits = True
            elif self._note(decision, tenant):
                self.decisions.append(decision)
                given = True
        if given:
            return True
        self._await(tenant, awaits)
        self._claim(tenant)
        return False

    def _await(self, tenant: str, awaits: bool) -> None:
        """Remember since when a tenant waits for another's slot: no longer than a quantum, whatever was expected."""
        lane = self.lanes[tenant]
        since_s = (self.view.now_s if lane.awaits_s is None else lane.awaits_s) if awaits else None
        self.lanes[tenant] = replace(lane, awaits_s=since_s)

    def _comes_soon(self, decision: Configure, tenant: str) -> bool:
        """Whether what is to be loaded is in a slot, or on its way there, that another tenant's job should give back
        within a quantum: with the board to itself the tenant would have found it free, or soon. When it is given back,
        who finds it there is asked first.
        """
        meant, since_s = self._meant(decision, tenant), self.lanes[tenant].awaits_s
        if (
            meant is None
            or needs_no_load(*meant)
            or (since_s is not None and self._until_s(since_s) <= self.view.now_s)
        ):
            return False
        slot, _, task = meant
        for other in self.slots.values():
            if other.module != task.module or not other.scrubs or other.tenant == tenant or not has_image(other, task):
                continue
            holder = self.view.jobs.get(other.job) if other.job is not None else None
            if holder is None or other.task is None:
                continue
            own, load_s = holder.tasks[other.task], slot.loads_in_s(task.module)
            waits_s = (holder.batch - own.items_done) * own.estimate_s + (load_s if other.loading else 0.0)
            if waits_s <= QUANTUM_LOADS * load_s:
                return True
        return False

    def _until_s(self, since_s: float) -> float:
        """Until when a tenant waits for another's slot that does so since then."""
        return since_s + self.quantum_s

    def _could_use(self, tenant: str, visible: Iterable[SlotView]) -> bool:
        """Whether a tenant that has no slot could be given one now: what is asked costs time, and tenants are many."""
        free = [slot for slot in visible if slot.job is None and not slot.loading]
        if not self.port_busy:
            return bool(free)
        return self._finds_loaded(tenant, free)

    def _finds_loaded(self, tenant: str, free: Iterable[SlotView]) -> bool:
        """Whether a free slot has a module that a tenant's jobs want."""
        there = {slot.module for slot in free} - {""}
        jobs = self.jobs[tenant]
        kinds = any(task.module in there for kind in jobs.kinds.values() for task in kind.tasks)
        return bool(there) and (kinds or any(task.module in there for job in jobs.begun.values() for task in job.tasks))

    def _claim(self, tenant: str) -> None:
        """Keep a free slot for what a tenant would load, or take one from who was served more; else it is content."""
        visible = self._visible(tenant)
        tried = any(slot.job is None and not slot.loading for slot in visible)
        if tried and (self.port_busy or self.view.reads_beside):
            free = self._would_take(tenant, visible)
            if free is not None:
                self.kept[free] = tenant
                return
        takeable = list(self._takeable(tenant))
        for slot in takeable[:MAX_TRIED]:
            if self._would_take(tenant, [*visible, _freed(slot)], slot.index) is not None:
                self._take(tenant, slot, PreemptReason.FAIR_SHARE)
                return
        if len(takeable) > MAX_TRIED:  # slots may be few that it fits
            found = self._would_take(tenant, [*visible, *[_freed(slot) for slot in takeable]])
            wanted = [slot for slot in takeable if slot.index == found]
            if wanted:
                self._take(tenant, wanted[0], PreemptReason.FAIR_SHARE)
                return
        if (tried or takeable) and not self._wants_any(tenant, visible):
            self.lanes[tenant] = replace(self.lanes[tenant], content=True)

    def _wants_any(self, tenant: str, visible: Iterable[SlotView]) -> bool:
        """Whether a tenant would use one slot more, whoever has it now and whether or not it may be taken."""
        others = [_freed(slot) for slot in self.slots.values() if slot.job is not None and slot.tenant != tenant]
        return self._would_take(tenant, [*visible, *[replace(slot, loading=False) for slot in others]]) is not None

    def _take(self, tenant: str, slot: SlotView, reason: PreemptReason) -> None:
        assert slot.job is not None
        assert slot.task is not None
        self.decisions.append(Preempt(slot.index, reason))
        self.taken[slot.index] = SlotOnItsWay(tenant, slot.job, slot.task)
        self.counts[slot.tenant] -= 1
        self.counts[tenant] += 1
        if self.order is not None:
            self.order.moved(slot.tenant)

    # Overdue jobs -----------------------------------------------------------------------------------------------------

    def _serve_overdue(self, tenant: str) -> bool:
        """Give a slot to the oldest of a tenant's overdue jobs, if none of them has one; answers whether it was."""
        job = self._overdue(tenant)
        if job is None:
            return False
        visible = self._visible(tenant)
        for decision in self._decided(tenant, visible, Jobs([job]), self.port_busy):
            if isinstance(decision, Configure) and self._note(decision, tenant):
                self.decisions.append(decision)
                return True
        free = self._would_take(tenant, visible, only=job)
        if free is not None:
            self.set_aside.add(free)
            return False
        own = [slot for slot in visible if slot.job is not None and not slot.loading and slot.task is not None]
        if any(slot.index in self.taken for slot in own):
            return False
        for held in sorted(own, key=lambda each: (each.running, each.index))[:MAX_TRIED]:
            if self._would_take(tenant, [*visible, _freed(held)], held.index, job) is not None:
                self._take(tenant, held, PreemptReason.OVERDUE)
                break
        return False

    def _overdue(self, tenant: str) -> JobView | None:
        """The oldest of a tenant's overdue jobs, if none of them has a slot."""
        late = [job for job in self.jobs[tenant].begun.values() if job.overdue]
        return None if any(slots_held(job) for job in late) else min(late, key=lambda each: each.age, default=None)

    # Asking -----------------------------------------------------------------------------------------------------------

    def _visible(self, tenant: str) -> list[SlotView]:
        """The slots that a tenant has or may be given."""
        return [
            slot
            for slot in self.slots.values()
            if (
                self.kept.get(slot.index, tenant) == tenant and slot.index not in self.set_aside
                if slot.job is None
                else slot.tenant == tenant
            )
        ]

    def _ask(self, tenant: str, visible: list[SlotView] | None) -> tuple[Decision, ...]:
        """Ask the policy for a tenant; what it remembers is kept."""
        lane, view = self.lanes[tenant], self.view
        dispatch = self.policy.decide(
            replace(
                view,
                jobs=self.jobs[tenant],
                slots=view.slots if visible is None else tuple(visible),
                port_busy=self.port_busy,
                observations=lane.seen,
                memory=lane.memory,
                changed=lane.changed,
            )
        )
        self.lanes[tenant] = replace(lane, memory=dispatch.memory, seen=(), changed=frozenset(), wake_s=dispatch.wake_s)
        return dispatch.decisions

    def _decided(
        self, tenant: str, visible: Iterable[SlotView], jobs: Jobs, port_busy: bool, reads: bool = True
    ) -> tuple[Decision, ...]:
        """What the policy would say, if that were all; nothing of it is remembered."""
        slots = {slot.index: slot for slot in visible}
        view = replace(
            self.view,
            jobs=jobs,
            slots=tuple(slots[index] for index in sorted(slots)),
            port_busy=port_busy,
            observations=(),
            memory=self.lanes[tenant].memory,
            changed=None if jobs is not self.jobs[tenant] else self.lanes[tenant].changed,
            reads_beside=self.view.reads_beside and reads,
        )
        return self.policy.decide(view).decisions

    def _would_take(
        self, tenant: str, visible: Iterable[SlotView], which: int | None = None, only: JobView | None = None
    ) -> int | None:
        """The slot that a tenant would be given first if no load were under way and no image had to be read; or None.

        Args:
            visible: Slots; a later one stands for an earlier one of its index.
            which: The slot that is asked about; None for any.
            only: The job that is asked about; None for any.
        """
        jobs = self.jobs[tenant] if only is None else Jobs([only])
        for decision in self._decided(tenant, visible, jobs, False, reads=False):
            if isinstance(decision, Configure) and which in (None, decision.slot):
                return decision.slot
        return None

    # The world as it becomes ------------------------------------------------------------------------------------------

    def _meant(self, decision: Configure, tenant: str) -> tuple[SlotView, JobView, TaskView] | None:
        """Slot, job and task of a decision; None where a policy names what is not there."""
        slot, job = self.slots.get(decision.slot), self.jobs[tenant].get(decision.job)
        if slot is None or job is None or not 0 <= decision.task < len(job.tasks):
            return None
        return slot, job, job.tasks[decision.task]

    def _note(self, decision: Configure, tenant: str) -> bool:
        """Let what is decided be so for what is decided after it; answers whether it can be."""
        meant = self._meant(decision, tenant)
        if meant is None or meant[0].job is not None or meant[0].loading:
            return False
        slot, job, task = meant
        resident = needs_no_load(slot, job, task)
        if task.slot is not None or task.items_done >= job.batch or not has_image(slot, task):
            return False
        if self.port_busy and not resident:
            return False
        tasks = (*job.tasks[: task.id], replace(task, slot=slot.index), *job.tasks[task.id + 1 :])
        self.port_busy = self.port_busy or not resident
        self.slots[slot.index] = replace(
            slot, module=task.module, tenant=tenant, job=job.id, task=task.id, loading=True, running=False
        )
        self.kept.pop(slot.index, None)
        self.counts[tenant] += 1
        self.jobs[tenant] = self.jobs[tenant].put(replace(job, tasks=tasks))
        lane = self.lanes[tenant]
        changed = None if lane.changed is None else lane.changed | {job.id}
        self.lanes[tenant] = replace(lane, changed=changed, content=False, awaits_s=None)
        return True

    def _counts(self) -> defaultdict[str, int]:
        """Slots that tenants have, those on their way among them."""
        found = defaultdict[str, int](int)
        for slot in self.slots.values():
            if slot.job is not None:
                on_its_way = self.taken.get(slot.index)
                tenant = slot.tenant if on_its_way is None else on_its_way.tenant
                found[tenant] += 1
        return found

    def _place(self, tenant: str, more: int = 0) -> float:
        """Where a tenant stands in the queue, with so many slots more than it has."""
        return self.queue.place(tenant, self.counts[tenant] + more, self.quantum_s, self.view.weights.get(tenant, 1.0))

    def _takeable(self, tenant: str) -> Iterator[SlotView]:
        """Slots of tenants that are still not behind this one when it has one of theirs; first those in which nothing
        runs, of who was served most."""
        mine = self._place(tenant, 1)
        found = [
            (slot.running, -self._place(slot.tenant), slot.index, slot)
            for slot in self.slots.values()
            if slot.job is not None
            and slot.task is not None
            and slot.tenant != tenant
            and slot.tenant in self.jobs
            and not slot.loading
            and slot.index not in self.taken
            and mine <= self._place(slot.tenant, -1)
        ]
        yield from (each[-1] for each in sorted(found, key=lambda each: each[:-1]))

    def _after(self) -> FairMemory:
        present = self._present()
        wanting = [tenant for tenant, lane in self.lanes.items() if not lane.content]
        held: dict[str, int] = {}
        given = {each.slot: each.job for each in self.decisions if isinstance(each, Configure)}
        lanes = {tenant: lane.with_rechecked(self.jobs[tenant], given.values()) for tenant, lane in self.lanes.items()}
        for slot in self.view.slots:
            job = self.view.jobs.get(given[slot.index]) if slot.index in given else None
            tenant = job.tenant if job is not None else slot.tenant if slot.job is not None else None
            if tenant is not None:
                held[tenant] = held.get(tenant, 0) + 1
        queue = self.queue.raise_level(present, wanting)
        return FairMemory(self.rest, queue, self.view.now_s, held, lanes, self.missed, self.taken)

    def _wake_s(self) -> float | None:
        """When the first of the tenants is to be asked again."""
        asked = [lane.wake_s for lane in self.lanes.values() if lane.wake_s is not None]
        since = [lane.awaits_s for lane in self.lanes.values() if lane.awaits_s is not None]
        waited = [until_s for until_s in map(self._until_s, since) if until_s > self.view.now_s]
        return min([*asked, *waited], default=None)


class _Order:
    """Tenants in turn: who is least served is next, of those alike whose oldest job came first.

    Args:
        jobs: By tenant.
        place: Where a tenant stands now.
    """

    def __init__(self, jobs: Mapping[str, Jobs], place: Callable[[str], float]) -> None:
        self._place, self._left = place, set(jobs)
        self._ages = {tenant: each.oldest().age for tenant, each in jobs.items()}
        self._heap = [(place(tenant), self._ages[tenant], tenant) for tenant in jobs]
        heapify(self._heap)

    def next(self) -> str | None:
        """Whose turn it is; None when all have left."""
        while self._heap:
            place, age, tenant = self._heap[0]
            now = self._place(tenant)
            if tenant not in self._left:
                heappop(self._heap)
            elif now != place:  # it was given a slot
                heapreplace(self._heap, (now, age, tenant))
            else:
                return tenant
        return None

    def leave(self, tenant: str) -> None:
        """A tenant has no more turns."""
        self._left.discard(tenant)

    def moved(self, tenant: str) -> None:
        """A tenant lost a slot: it stands before where it stood."""
        if tenant in self._left:
            heappush(self._heap, (self._place(tenant), self._ages[tenant], tenant))


def _freed(slot: SlotView) -> SlotView:
    return replace(slot, job=None, task=None, running=False)
