# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Leases inside the engine: what is asked of them comes in, what the state machine and the board are told goes out.

A lease is a job that holds memory and runs nothing, and slots that the machine withholds from jobs. Who gets which slot
is decided by `policy.lease`, from a frozen view. While it is active its module is held open on the board
(`Launch.held`) under the lease's name, with the lease's memory as its one window; closing the slot ends everything that
was begun there. The board closes it by itself where nothing is heard of the holder, so that a slot is never left open,
whatever becomes of this process.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from eddy.board.port.port import Access, BoardEvent, BoardPort, BoardState, EventKind, Grant, Launch, SlotPhase
from eddy.core.applications import Application, BufferRole, BufferSpec
from eddy.core.clock_jumps import ClockJumpDetector
from eddy.core.errors import BoardUnreachable, Conflict, EddyError, NotFound
from eddy.core.leases import LEASE_TRANSITIONS, LeaseKind, LeaseOptions, LeaseRecord, LeaseRules, LeaseState
from eddy.core.slots import Pool
from eddy.hypervisor.engine.recovery import LeasedSlot
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import JobBuffers, needed
from eddy.hypervisor.jobs.job import BufferState, Job
from eddy.hypervisor.jobs.slot import Phase
from eddy.hypervisor.jobs.work import BoardWork
from eddy.hypervisor.leases.lease import LeaseMemory, LiveLease, item_of, lease_job, lease_of
from eddy.hypervisor.machine.machine import Machine
from eddy.policy.lease.first_come import LeasableSlot, LeaseView, decide_leases
from eddy.store import Store

LOOK_S = 0.25
"""Wall seconds between two looks at who ends and who is next."""
DRIVING_S = 1.0
"""Wall seconds after a holder's last access for which the board's time goes on, though no job runs."""
MIN_PACE_S = 2e-3
"""Wall seconds that a step takes at least while holders alone are at work."""
MARGIN_S = 120.0
"""Seconds beyond the bound on silence after which the board closes a slot by itself, where nobody else did."""
LOST = "the server restarted before the load that was asked for was over: load it again"
MEMORY, LEASE = "memory", "lease"
_log = logging.getLogger(__name__)


class LeaseKeeper:
    """The open leases of one board. Any thread may open, extend and release them; the rest is the engine's thread's.

    Args:
        store: Keeps which leases there are.
        board: Its slots are held.
        buffers: The memory of jobs on the board.
        work: Of every job that has not ended.
        rules: What holds for all leases.
        wall_s: Seconds since 1970.
        steady_s: Seconds that never jump.
    """

    def __init__(
        self,
        store: Store,
        board: BoardPort,
        buffers: JobBuffers,
        work: dict[int, BoardWork],
        rules: LeaseRules,
        wall_s: Callable[[], float] = time.time,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._board, self._buffers, self._work = store, board, buffers, work
        self.rules, self._wall_s, self.steady_s = rules, wall_s, steady_s
        self._clock = ClockJumpDetector(wall_s, steady_s)
        self._live: dict[int, LiveLease] = {}
        self._inbox: deque[Callable[[], Iterable[m.Input]]] = deque()
        self._due, self._look_s = False, 0.0
        self._paced_s: float | None = None
        self._changing = threading.Lock()
        """A lease's record is changed by one thread at a time."""
        self._waiters: dict[int, set[Callable[[], None]]] = {}

    # Any thread ---------------------------------------------------------------------------------------------------

    def open(self, tenant: str, options: LeaseOptions, most: int) -> LeaseRecord:
        """Ask for a lease; durable when this returns, and in the queue.

        Raises:
            QuotaExceeded: The tenant has as many as it may, or its budget of slot time has no room for it.
        """
        now_s = self._wall_s()
        with self._changing:  # no two of them take the same room
            if options.kind is LeaseKind.SLOT:
                self._store.submissions.checks.check_lease(tenant, options.lasts_s)
            record = self._store.leases.add(lambda name: LeaseRecord(0, name, tenant, options, now_s), most)
        self._inbox.append(partial(self._take_in, LiveLease(record, self.steady_s())))
        return record

    def get(self, name: str) -> LiveLease:
        """An open lease.

        Raises:
            NotFound: There is none of that id, or it has ended; says why.
        """
        record = self._store.leases.get(name)
        live = self._live.get(record.number)
        if record.state.is_final or (live is None and record.state is not LeaseState.QUEUED):
            why = f"Lease {name} has ended ({record.cause or record.state.value}); ask for another one."
            raise NotFound(why, field="lease", asked=name, state=record.state.value, cause=record.cause)
        return live or LiveLease(record, self.steady_s())

    def release(self, name: str, cause: str) -> None:
        """Have a lease end; the next step begins that."""
        self._inbox.append(partial(self._begin_close, self.get(name).record.number, cause))

    def extend(self, name: str, more_s: float, check: Callable[[float], None] = lambda lasts_s: None) -> LeaseRecord:
        """Have a lease end later, or one that waits be asked for longer.

        Args:
            more_s: Wall seconds.
            check: Raises where it may not last so long in all.

        Raises:
            Conflict: It is about to end, or its slot is wanted for something else.
            QuotaExceeded: Its tenant's budget of slot time has no room for that.
        """
        with self._changing:
            record = self._store.leases.get(name)
            if record.state in (LeaseState.CLOSING, LeaseState.ENDED) or record.notice:
                why = record.notice or record.cause or "it is about to end"
                raise Conflict(f"Lease {name} cannot be extended: {why}.", field="lease", state=record.state.value)
            lasts_s = record.options.lasts_s + more_s
            check(lasts_s)
            if record.options.kind is LeaseKind.SLOT:
                self._store.submissions.checks.check_lease(record.tenant, more_s)
            changed = dataclasses.replace(record, options=dataclasses.replace(record.options, lasts_s=lasts_s))
            if record.ends_unix_s is not None:
                changed = dataclasses.replace(changed, ends_unix_s=record.ends_unix_s + more_s)
            self._keep(changed)
        return changed

    @property
    def live(self) -> tuple[LiveLease, ...]:
        """Those that are open."""
        return tuple(self._live.values())

    def view(self, machine: Machine) -> LeaseView:
        """What is decided about."""
        slots = []
        pipeline = machine.state.pools[Pool.PIPELINE]
        for index, slot in machine.slots.items():
            single = index in pipeline.slots
            modules = frozenset(name for name, images in pipeline.fits.items() if index in images)
            free = slot.phase is Phase.FREE
            slots.append(LeasableSlot(index, single, modules if single else frozenset(), free, slot.drained))
        now_unix_s, now_s = self._wall_s(), self.steady_s()
        used = {number: now_unix_s - (now_s - live.used_s) for number, live in self._live.items()}
        leases = tuple(live.record for _, live in sorted(self._live.items()))
        removed = frozenset(each.tenant for each in leases if self._store.tenants.is_removed(each.tenant))
        return LeaseView(now_unix_s, tuple(slots), leases, used, self.rules, removed)

    def follow(self, number: int, wake: Callable[[], None]) -> None:
        """Call `wake` whenever something happened to a lease, from the engine's thread."""
        self._waiters[number] = self._waiters.get(number, set()) | {wake}

    def leave(self, number: int, wake: Callable[[], None]) -> None:
        """Call it no more."""
        left = self._waiters.get(number, set()) - {wake}
        self._waiters.pop(number, None)
        if left:
            self._waiters[number] = left

    @property
    def pending(self) -> bool:
        """Whether there is something to do in the next step."""
        return bool(self._inbox) or self._due

    @property
    def is_driving(self) -> bool:
        """Whether a holder is at work, so that the board's time is to go on."""
        now_s = self.steady_s()
        return any(live.listening or (live.held and live.used_s + DRIVING_S > now_s) for live in self.live)

    def pace(self, quantum_s: float, busy: bool) -> float:
        """How long the next wait for the board may be, in board seconds: while holders alone are at work, no longer
        than passed on the wall, on a board whose time leaps.

        Args:
            quantum_s: What it would be.
            busy: Whether jobs are at work.
        """
        if busy or not self.is_driving:
            self._paced_s = None
            return quantum_s
        passed_s = MIN_PACE_S if self._paced_s is None else time.monotonic() - self._paced_s
        if passed_s < MIN_PACE_S:
            time.sleep(MIN_PACE_S - passed_s)
        self._paced_s = time.monotonic()
        return min(quantum_s, max(passed_s, MIN_PACE_S))

    # The engine's thread ------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look at all leases in the next step, where it is time for that."""
        if self._live and time.monotonic() >= self._look_s:
            self._look_s, self._due = time.monotonic() + LOOK_S, True

    def look_now(self) -> None:
        """Look at all leases in the next step; from any thread."""
        self._due = True

    def take_events(self, events: Iterable[BoardEvent]) -> None:
        """What the board says of slots that are held."""
        for event in events:
            live = self._of_item(event)
            if live is None:
                continue
            if event.kind is EventKind.INTERRUPT:
                live.rang.add(event.slot)
                live.listening.discard(event.slot)
                live.interrupts += 1
            elif event.kind is EventKind.ITEM_FAILED and event.slot in live.held:
                live.lost(event.slot, f"{event.cause.value}: {event.detail}")
            self._wake(live)

    def take_inputs(self, _now_s: float, machine: Machine) -> list[m.Input]:
        """What the machine is told of requests, and of what time brought."""
        inputs: list[m.Input] = []
        self._follow_clock()
        came = bool(self._inbox)
        while self._inbox:
            inputs += self._inbox.popleft()()
        if came or self._due:
            self._due = False
            inputs += self._decide(machine)
        return inputs

    def observe(self, outcome: m.StepResult, machine: Machine, _now_s: float) -> list[m.Input]:
        """See what a step of the machine came to: slots that are free, loads and memory that have ended."""
        inputs: list[m.Input] = []
        self._follow_clock()
        for number in outcome.ended:
            live = self._live.get(lease_of(number) or 0)
            if live is not None:
                live.memory = False
                inputs += self._memory_gone(live)
        for live in self.live:
            before = live.standing
            for slot, why in outcome.load_failures.items():
                if slot in live.record.slots:
                    live.lost(slot, why)
            inputs += self._advance(live, machine)
            if before != live.standing:
                self._wake(live)
        return inputs

    def _follow_clock(self) -> None:
        """Move the ends of leases along with a jump of the wall clock: each lasts as long as was asked for."""
        step_s = self._clock.measure_jump()
        for live in self.live if step_s else ():
            begins_s, ends_s = live.record.begins_unix_s, live.record.ends_unix_s
            if begins_s is not None and ends_s is not None:
                self._change(live, begins_unix_s=begins_s + step_s, ends_unix_s=ends_s + step_s)

    def _take_in(self, live: LiveLease) -> list[m.Input]:
        self._live[live.record.number] = live
        return []

    def _decide(self, machine: Machine) -> list[m.Input]:
        """Ask the policy, and begin what it says."""
        decision = decide_leases(self.view(machine))
        inputs: list[m.Input] = []
        for number, cause in decision.ends.items():
            inputs += self._begin_close(number, cause)
        for number, (ends_s, why) in decision.notices.items():
            self._change(self._live[number], notice=why, ends_unix_s=ends_s)
        for number, slots in decision.grants.items():
            live = self._live[number]
            self._change(live, state=LeaseState.PREPARING, slots=slots)
            record = live.record
            inputs += [m.LeaseSlot(slot, record.id, record.tenant) for slot in slots]
            self._work[lease_job(number)] = LeaseMemory()
            inputs.append(m.Arrive(lease_spec(record)))
        for live in self.live:
            self._prepare(live)
            inputs += self._advance(live, machine)
        return inputs

    def _prepare(self, live: LiveLease) -> None:
        """Begin what the loads that are wanted need beforehand; one that can never be is not wanted any more, and what
        its slot holds goes on."""
        for slot, module in list(live.wanted.items()):
            if slot in live.ready or slot in live.asked:
                continue
            found = self._board.prepare(live.images.get(slot, module))
            if found.ready:
                live.ready.add(slot)
            elif found.failed:
                live.drop_wish(slot)
                live.said[slot] = found.failed
                self._wake(live)

    def _advance(self, live: LiveLease, machine: Machine) -> list[m.Input]:
        """Do for a lease what can be done now."""
        record = live.record
        if record.state is LeaseState.PREPARING and self._is_ready(live, machine):
            now_s = self._wall_s()
            self._change(live, state=LeaseState.ACTIVE, begins_unix_s=now_s, ends_unix_s=now_s + record.options.lasts_s)
            live.used_s = self.steady_s()
            live.wanted.update({slot: record.options.module for slot in record.slots if record.options.module})
            self._prepare(live)
            self._due = True
        if record.state is LeaseState.CLOSING:
            return self._go_on_closing(live, machine)
        return self._load(live, machine) if live.record.state is LeaseState.ACTIVE else []

    def _is_ready(self, live: LiveLease, machine: Machine) -> bool:
        """Whether its slots do nothing any more, and its memory is there."""
        record = live.record
        if any(machine.slots[slot].phase is not Phase.FREE for slot in record.slots):
            return False
        if any(not machine.slots[slot].leased for slot in record.slots):
            return False
        if record.options.kind is LeaseKind.BOARD:  # clusters are free to the machine while slices run on their cores
            busy = (SlotPhase.RUNNING, SlotPhase.LOADING)
            if any(self._board.state().slots[slot].phase in busy for slot in record.slots):
                return False
        job = machine.jobs.get(lease_job(record.number))
        live.memory = job is not None and job.memory is BufferState.HELD
        return live.memory

    def _load(self, live: LiveLease, machine: Machine) -> list[m.Input]:
        """Load what is wanted, and hold open what was loaded."""
        inputs: list[m.Input] = []
        record = live.record
        for slot, module in list(live.wanted.items()):
            known = machine.slots[slot]
            if slot not in live.asked:
                if slot not in live.ready:
                    continue
                if slot in live.held:
                    self._let_go(live, slot)
                live.asked.add(slot)
                live.used.add(slot)
                if slot not in record.reloaded and (slot in live.images or module != record.options.module):
                    self._change(live, reloaded=(*live.record.reloaded, slot))
                inputs.append(m.LoadLeased(slot, module, live.images.get(slot, "")))
            elif known.phase is not Phase.FREE:
                live.loading.add(slot)
            elif slot in live.loading:
                live.drop_wish(slot)
                if known.module == module:
                    self._hold(live, slot)
        return inputs

    def _hold(self, live: LiveLease, slot: int) -> None:
        """Open a slot that was loaded, for its holder."""
        record = live.record
        buffer = self._buffers.find(lease_job(record.number), MEMORY)
        grants = (Grant(buffer.id, Access.READ_WRITE),)
        limit_s = self.rules.idle_s + MARGIN_S
        launch = Launch(item_of(record, slot), (), grants, limit_s, account=record.tenant, held=True)
        try:
            self._board.launch(slot, launch)
        except BoardUnreachable:
            raise
        except EddyError as error:
            if self._board.state().slots[slot].item != launch.item:  # else it was opened before a restart
                live.lost(slot, error.message)
                return
        live.held.add(slot)
        live.said.pop(slot, None)

    def _let_go(self, live: LiveLease, slot: int) -> None:
        """Close a slot that is held: whatever was started there ends, and its windows close."""
        for known in (live.held, live.listening, live.rang):
            known.discard(slot)
        self._board.stop(slot, item_of(live.record, slot))

    # Ends ---------------------------------------------------------------------------------------------------------

    def _begin_close(self, number: int, cause: str) -> list[m.Input]:
        live = self._live.get(number)
        if live is None or live.record.state in (LeaseState.CLOSING, LeaseState.ENDED):
            return []
        if live.record.state is LeaseState.QUEUED:
            self._end(live, cause)
            return []
        for slot in tuple(live.held):
            self._let_go(live, slot)
        live.wanted.clear()
        live.images.clear()
        self._change(live, state=LeaseState.CLOSING, cause=cause)
        job = lease_job(number)
        return [m.Cancel(job)] if job in self._work else []

    def _go_on_closing(self, live: LiveLease, machine: Machine) -> list[m.Input]:
        """Give slots back that do nothing any more; the last of it ends the lease."""
        record = live.record
        mine = [slot for slot in record.slots if machine.slots[slot].leased == record.id]
        done = [slot for slot in mine if machine.slots[slot].phase is Phase.FREE and slot not in live.given]
        for slot in done:
            if slot in live.used:
                self._board.close(slot)  # whatever is in it, jobs find it closed
            live.given.add(slot)
        if not mine and lease_job(record.number) not in machine.jobs:
            self._end(live, record.cause)
        return [m.UnleaseSlot(slot, slot in live.used) for slot in done]

    def _memory_gone(self, live: LiveLease) -> list[m.Input]:
        """Its memory was given back, or could not be had."""
        if live.record.state in (LeaseState.PREPARING, LeaseState.ACTIVE):
            return self._begin_close(live.record.number, "no-memory")
        return []

    def _end(self, live: LiveLease, cause: str) -> None:
        self._change(live, state=LeaseState.ENDED, cause=cause, ended_unix_s=self._wall_s())
        self._live.pop(live.record.number, None)
        self._wake(live)
        self._waiters.pop(live.record.number, None)

    def _change(self, live: LiveLease, **changes: object) -> None:
        """Write down what becomes of a lease, on disk a little later."""
        with self._changing:
            # What another thread extended meanwhile counts.
            record = dataclasses.replace(self._store.leases.get(live.record.id), **changes)  # type: ignore[arg-type]
            before = live.record.state
            if record.state is not before and record.state not in LEASE_TRANSITIONS[before]:
                raise AssertionError(f"a lease goes from {before.value} to {record.state.value}")
            live.record = record
            self._store.leases.put(record, wait=False)

    def _keep(self, record: LeaseRecord) -> None:
        live = self._live.get(record.number)
        self._store.leases.put(record)
        if live is not None:
            live.record = record

    def _of_item(self, event: BoardEvent) -> LiveLease | None:
        found = (live for live in self.live if event.slot in live.record.slots)
        return next((live for live in found if item_of(live.record, event.slot) == event.item), None)

    def _wake(self, live: LiveLease) -> None:
        for wake in [*self._waiters.get(live.record.number, ())]:
            wake()

    # After a restart ----------------------------------------------------------------------------------------------

    def leased_slots(self) -> dict[int, LeasedSlot]:
        """Slots that leases hold, as the store has it; what an active one drives goes on."""
        found = {}
        for record in self._store.leases.open():
            for slot in record.slots:
                item = item_of(record, slot) if record.state is LeaseState.ACTIVE else ""
                found[slot] = LeasedSlot(record.id, record.tenant, item)
        return found

    def recover(self, machine: Machine, state: BoardState) -> dict[int, BoardWork]:
        """Take over leases of an earlier life, as far as the board still has what they hold; answers their work."""
        before, self._live = self._live, {}
        self._inbox.clear()
        work: dict[int, BoardWork] = {}
        for record in self._store.leases.open():
            live = LiveLease(record, self.steady_s())
            if record.number in before:
                live.take_over(before[record.number])
            self._live[record.number] = live
            live.held = {slot for slot in record.slots if state.slots[slot].item == item_of(record, slot)}
            if record.state not in (LeaseState.QUEUED, LeaseState.CLOSING):
                work |= self._recover_memory(live, machine)
            live.loading = {slot for slot in record.slots if machine.slots[slot].phase is Phase.LOADING}
            live.asked = {*live.loading}
            live.wanted = {slot: machine.slots[slot].module for slot in live.loading}
            live.used = {slot for slot in record.slots if slot in machine.state.pools[Pool.PIPELINE].slots}
            for slot in record.slots if record.state is LeaseState.ACTIVE and live.memory else ():
                phase, module = state.slots[slot].phase, record.options.module
                asked = slot in record.reloaded or machine.slots[slot].module == module
                if phase is SlotPhase.IDLE and machine.slots[slot].module and asked:
                    self._hold(live, slot)  # it was loaded for the holder, and not opened any more
                elif phase in (SlotPhase.EMPTY, SlotPhase.IDLE) and slot not in live.loading:
                    if slot in record.reloaded:  # what its holder asked for is not known any more
                        live.said[slot] = LOST
                    elif module:
                        live.wanted[slot] = module  # its load was not begun, or was lost
            self._wake(live)
        self._due = bool(self._live)
        return work

    def _recover_memory(self, live: LiveLease, machine: Machine) -> dict[int, BoardWork]:
        record = live.record
        number, spec = lease_job(record.number), lease_spec(record)
        work = LeaseMemory()
        self._work[number] = work
        if self._buffers.complete(number, needed(spec.application, 1)):
            job = Job(spec, machine.graph(spec))
            job.memory, job.placed, live.memory = BufferState.HELD, True, True
            machine.adopt_job(job)
        elif record.state is LeaseState.ACTIVE:
            self._work.pop(number)
            self._inbox.append(partial(self._begin_close, record.number, "board-lost"))
            return {}
        else:
            self._inbox.append(lambda: [m.Arrive(spec)])
        return {number: work}


def lease_spec(record: LeaseRecord) -> m.JobSpec:
    """A lease as the state machine has it: a job that holds memory."""
    size = record.options.memory_bytes
    buffer = BufferSpec(MEMORY, BufferRole.CONSTANT, size, "u1", (size,))
    return m.JobSpec(
        lease_job(record.number),
        record.tenant,
        Application(LEASE, (), (), (buffer,)),
        priority=1,
        arrival_s=0.0,
        needs_memory=True,
        pool=Pool.PIPELINE,
        submitted_unix_s=record.asked_unix_s,
        kind=LEASE,
        kept=False,
    )
