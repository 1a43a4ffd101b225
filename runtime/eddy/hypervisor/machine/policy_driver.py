# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The output side of the state machine: asks the policies, applies their decisions, and starts items."""

from __future__ import annotations

from collections.abc import Collection

from eddy.core.records import JobEventKind
from eddy.core.slots import Pool
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.messages import Fetch, LaunchItem, Load, ScrubSlot
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.streamed_starts import Start, starts
from eddy.hypervisor.slots.job_forms import JobForms
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.hypervisor.slots.pools import PoolState
from eddy.policy.dispatch.views.view import Configure, DispatchView, Preempt, Prefetch


class PolicyDriver:
    """Asks the policies, and does what they say as far as it fits the world.

    Args:
        state: The state that they change.
    """

    def __init__(self, state: MachineState) -> None:
        self.state = state
        self._dropped: tuple[object, ...] = ()
        self._forms = JobForms(state, self.view)
        self._promised: set[int] = set()
        """Slots that were given in this turn to jobs that have yet to get their memory: free, but not for others."""

    def launch_ready(self, waiting: Collection[int] = ()) -> None:
        """Start every item that may start, but in slots that are `waiting` for what is decided."""
        for slot in self.state.slots.values():
            if slot.index not in waiting:
                self.launch(slot, waiting)

    def launch(self, slot: MachineSlot, waiting: Collection[int] = ()) -> bool:
        """Start a slot's next item, if it waits for one that may start, and with it those who read what it writes from
        slot to slot; answers whether."""
        if slot.phase is not Phase.HELD or slot.job is None or slot.task is None:
            return False
        job = self.state.jobs[slot.job]
        pipelined = self.state.pools[job.spec.pool].policy.pipelined
        item = job.next_item(slot.task, pipelined)
        if item is None:
            return False
        together = (
            starts(job, slot, item, self.state.slots, waiting, lambda: self._is_crowded(job))
            if pipelined and job.spec.streams
            else (Start(slot.task, slot.index),)
        )
        for turn, start in enumerate(together):
            self._start(job, item, start, turn)
        return bool(together)

    def _start(self, job: Job, item: int, start: Start, turn: int) -> None:
        slot, form = self.state.slots[start.slot], job.spec.application.form
        slot.item = item
        job.held -= 1
        job.running += 1
        slot.enter(Phase.RUNNING, self.state.now_s)
        detail = f"reads from slot {start.reads[1]}" if start.reads is not None else ""
        if start.writes is not None:
            slot.feeds = start.writes[1], job.spec.id, item
            detail = f"{detail}, writes to slot {start.writes[1]}".removeprefix(", ")
        self.state.log(job, slot, self.state.now_s, JobEventKind.LAUNCH, item=item, detail=detail)
        launch = LaunchItem(start.slot, job.spec.id, start.task, item, form=form, streams=start.streams, turn=turn)
        self.state.out.commands.append(launch)

    def _is_crowded(self, job: Job) -> bool:
        """Whether another job may want a slot of the same pool, or another task of the same job."""
        unplaced = any(slot is None and not job.items.is_done(task) for task, slot in enumerate(job.slot_of))
        return unplaced or any(
            each is not job and each.spec.pool is job.spec.pool and not each.is_hidden
            for each in self.state.jobs.values()
        )

    def decide(self) -> None:
        """Ask the policies; again as long as what they decided changes the world at once.

        The pool that was loaded last is asked last, so that neither keeps the configuration port from the other.
        """
        self.state.port.open()
        self._forms.begin_turn()
        self._promised.clear()
        for _ in range(2 * len(self.state.slots) + len(self.state.jobs) + 2):
            changed = False
            for pool in self.state.port.pools_in_turn(self.state.pools.values()):
                changed = self._ask_in_turn(pool) or changed
            if not changed:
                return
            self.launch_ready()

    def _ask_in_turn(self, pool: PoolState) -> bool:
        """Ask a pool's policy, again where a job took another form: nothing was loaded for it yet, and it is the pool's
        turn at the configuration port. Answers whether the world changed at once."""
        changed, asked_with = self._forms.fit_residents(pool, self._promised), -1
        while self._forms.taken != asked_with:
            asked_with = self._forms.taken
            changed = self._ask_policy(pool) or changed
        return changed

    def _ask_policy(self, pool: PoolState) -> bool:
        """Let a pool's policy decide, and carry it out; answers whether that changed the world at once."""
        dispatch = pool.decide(self.view(pool.pool))
        pool.wake_s = self._wake(pool, dispatch.wake_s)
        changed = False
        for decision in dispatch.decisions:
            changed = self.carry_out(decision, pool) or changed
        return changed

    def _wake(self, pool: PoolState, asked_s: float | None) -> float | None:
        """When to ask a policy again if nothing happens: as it asked, or when a slot has rested.

        Never while all slots are drained: time alone brings none of them back.
        """
        slots = [self.state.slots[index] for index in pool.slots]
        rested = [slot.rests_until_s for slot in slots if slot.rests_until_s > self.state.now_s and not slot.withheld]
        if all(slot.withheld and slot.phase is Phase.FREE for slot in slots):
            asked_s = None
        return min([*rested, *(() if asked_s is None else (asked_s,))], default=None)

    def view(self, which: Pool = Pool.PIPELINE) -> DispatchView:
        """What a pool's policy sees now: its slots, and the jobs that run in them. Jobs that wait for memory, and slots
        that rest after failed loads or are drained, are not shown: nothing could be decided about them."""
        self.state.images.show(self.state.slots, self.state.now_s)
        pool = self.state.pools[which]
        jobs = pool.jobs(self.state.jobs)
        return DispatchView(
            now_s=self.state.now_s,
            jobs=jobs,
            slots=tuple(
                slot.view()
                for slot in self.state.slots.values()
                if slot.index in pool.slots and slot.is_offered(self.state.now_s)
            ),
            port_busy=self.state.port.is_closed_to(which),
            observations=tuple(pool.observations),
            memory=pool.memory,
            changed=pool.changed,
            reads_beside=self.state.images.is_enabled,
            weights=pool.weights(jobs),
        )

    def carry_out(self, decision: Configure | Preempt | Prefetch, pool: PoolState) -> bool:
        """Carry out one decision; answers whether a slot was given or freed, or a job hidden, at once."""
        if isinstance(decision, Configure):
            return self._configure(decision, pool)
        if isinstance(decision, Preempt):
            return self._preempt(decision, pool)
        image = pool.fits.get(decision.module, {}).get(decision.slot)
        if image is not None and not self.state.images.request_image(decision.slot, decision.module, self.state.now_s):
            self.state.out.commands.append(Fetch(image))
        return False

    def _configure(self, decision: Configure, pool: PoolState) -> bool:
        if not self.state.residency.may_give(self.state.port):
            self._drop(self.state.jobs.get(decision.job), decision, "the configuration port is busy")
            return False
        job = self.state.jobs.get(decision.job)
        if job is not None and job.spec.pool is not pool.pool:
            return False
        slot = self.state.slots.get(decision.slot)
        reason = self._objection(job, slot, decision.task)
        if reason or job is None or slot is None:
            self._drop(job, decision, reason)
            return False
        if self._forms.choose(job, pool):
            return True
        if job.memory is not BufferState.HELD:
            if job.memory is BufferState.NONE:
                self.state.request_memory(job)
            if job.memory is BufferState.ASKED:
                self.state.port.reserve(pool.pool)
                self._promised.add(slot.index)
            # A job sent to the end of the queue for memory is not shown any more: the slot is for another.
            return job.memory is BufferState.BLOCKED
        module = job.spec.application.tasks[decision.task].module
        mine = slot.tenant == job.spec.tenant
        resident = slot.module == module and (mine or module in self.state.scrubbed)
        if not resident and self.state.port.loading is not None:
            self._drop(job, decision, "the configuration port is busy")
            return False
        self._give(slot, job, decision.task, module)
        if resident and not mine:
            self._scrub(slot, job)
            return False
        if resident:
            job.held += 1
            job.reuses += 1
            slot.enter(Phase.HELD, self.state.now_s)
            self.state.log(job, slot, self.state.now_s, JobEventKind.CONFIGURE, detail="resident")
            self.state.log(
                job, slot, self.state.now_s, JobEventKind.CONFIGURED, started_s=self.state.now_s, detail="resident"
            )
            return True
        job.loading += 1
        job.reconfigurations += 1
        self.state.port.begin(slot, pool.pool)
        slot.enter(Phase.LOADING, self.state.now_s)
        slot.was_near = self.state.images.request_image(slot.index, module, self.state.now_s)
        self.state.log(job, slot, self.state.now_s, JobEventKind.CONFIGURE)
        self.state.out.commands.append(Load(slot.index, pool.fits[module][slot.index]))
        return False

    def _scrub(self, slot: MachineSlot, job: Job) -> None:
        """Have the module that served another tenant scrubbed for a job; the configuration port has no part in it."""
        job.loading += 1
        job.reuses += 1
        slot.scrubbing = True
        slot.enter(Phase.LOADING, self.state.now_s)
        self.state.log(job, slot, self.state.now_s, JobEventKind.CONFIGURE, detail="scrub")
        self.state.out.commands.append(ScrubSlot(slot.index))

    def _objection(self, job: Job | None, slot: MachineSlot | None, task: int) -> str:
        """Why a task cannot be given a slot; "" where it can."""
        if job is None or job.ending is not None or not 0 <= task < len(job.items.done):
            return "no such job or task"
        if slot is None or slot.phase is not Phase.FREE:
            return "the slot is not free"
        if slot.rests_until_s > self.state.now_s:
            return "the slot rests: its loads failed"
        if slot.withheld:
            return "the slot is drained" if slot.drained else "the slot is leased"
        if job.slot_of[task] is not None:
            return "the task has a slot"
        if job.items.is_done(task):
            return "the task has no items left"
        if slot.index not in self.state.pools[job.spec.pool].fits.get(job.spec.application.tasks[task].module, {}):
            return "no image of the module for this slot"
        return ""

    def _give(self, slot: MachineSlot, job: Job, task: int, module: str) -> None:
        """Let a job have a slot."""
        slot.job, slot.task, slot.module, slot.tenant = job.spec.id, task, module, job.spec.tenant
        slot.scrubs = module in self.state.scrubbed
        job.slot_of[task] = slot.index
        self.state.note_module(job, module)
        job.preempted = False
        job.views.touch(task)
        self.state.invalidate_view(job)
        if job.started_s is None:
            job.started_s = self.state.now_s
        self._dropped = ()

    def _preempt(self, decision: Preempt, pool: PoolState) -> bool:
        slot = self.state.slots.get(decision.slot) if decision.slot in pool.slots else None
        job = self.state.jobs.get(slot.job) if slot is not None and slot.job is not None else None
        if slot is None or job is None or job.ending is not None:
            self._drop(job, decision, "nothing to preempt in that slot")
            return False
        if slot.phase is Phase.HELD:
            self.state.preempt(slot, job, self.state.now_s, decision.reason)
            return True
        if slot.leaving is None:
            slot.leaving = decision.reason
        self.state.out.slots.add(slot.index)
        return False

    def _drop(self, job: Job | None, decision: Configure | Preempt, reason: str) -> None:
        """Record a decision that no longer fits, once, however often it is repeated."""
        key = (decision, reason)
        if job is not None and key != self._dropped:
            self.state.note(job, self.state.now_s, JobEventKind.DROPPED, detail=f"{_called(decision)}: {reason}")
        self._dropped = key


def _called(decision: Configure | Preempt) -> str:
    """A decision in words for the job's tenant, to whom our numbers of jobs are not told."""
    if isinstance(decision, Configure):
        return f"give slot {decision.slot} to task {decision.task}"
    return f"take slot {decision.slot}"
