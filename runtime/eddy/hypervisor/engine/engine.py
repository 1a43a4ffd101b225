# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The engine carries out the machine's commands on a board and a store, in blocking steps.

The order within a step makes crashes harmless:

1. The events are read, but not acknowledged, and the machine processes them.
2. All changes are committed in one transaction: records, event log, results, the contents of each slot, and the number
   of the last event.
3. The commands are carried out on the board; where all of them ask for buffers, which a crash takes back, the next
   step is committed with this one. Reading the outputs of a finished item is such a command; another thread
   brings them to the disk (see `keeping`), and the step that counts the item commits the rows that name them.
4. The next wait acknowledges the events.

So after a crash before the commit, the events come again, and nothing has happened. After a crash after the commit,
recovery sees on the board which commands are missing, and the policies decide again (see `recovery`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from eddy.board.port.port import BoardDescription, BoardEvent, BoardPort
from eddy.core.applications import Application
from eddy.core.leases import LeaseRules
from eddy.core.records import SlotStatus
from eddy.core.slots import Pool
from eddy.host.memory_tuning import pause_collection
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.engine.board_events import BoardEvents
from eddy.hypervisor.engine.commands import Commands
from eddy.hypervisor.engine.lease_keeper import LeaseKeeper
from eddy.hypervisor.engine.output_writer import OutputWriter, Spawn, run_inline
from eddy.hypervisor.engine.recovery import RecoveryResult, recover
from eddy.hypervisor.engine.session_keeper import SessionKeeper
from eddy.hypervisor.engine.status import slot_statuses
from eddy.hypervisor.engine.step_commits import StepCommits
from eddy.hypervisor.engine.time_accounts import LagWriter, TimeAccounts
from eddy.hypervisor.forecast.estimator_feed import EstimatorFeed
from eddy.hypervisor.intake.admission_hold import AdmissionHold
from eddy.hypervisor.intake.application_jobs import Admission, ApplicationJobs
from eddy.hypervisor.intake.array_hold import ArrayHold
from eddy.hypervisor.intake.core_partition import SharedClusterPlans
from eddy.hypervisor.intake.dependency_hold import DependencyHold
from eddy.hypervisor.intake.intake import MAX_PART, Intake, TenantMemory
from eddy.hypervisor.intake.kernel_jobs import KernelJobs, WholeClusterPlans
from eddy.hypervisor.intake.kernels import KernelPlanner
from eddy.hypervisor.intake.module_gate import ModuleGate
from eddy.hypervisor.intake.preparation_hold import PreparationHold
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import JobBuffers
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.work import BoardWork, JobKind
from eddy.hypervisor.machine.machine import Machine
from eddy.packages.checks import Standing, never
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.no_decision import NoDecision
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.store import Store

OVERDUE_S = 60.0
"""Wall seconds without a slot after which a job goes before all others of its tenant, whatever their priorities. One
of a tenant's jobs at a time does, the oldest first: where all of them wait so long, the policy still ranks the rest."""


class OverdueJobs:
    """Says which jobs have waited too long.

    Args:
        wall_s: A clock that only goes forward.
    """

    def __init__(self, wall_s: Callable[[], float] = time.monotonic) -> None:
        self._wall_s = wall_s
        self._watched: deque[tuple[float, int]] = deque()
        """When to look at a job, and which: in order, as all wait equally long."""

    def clear(self) -> None:
        """Forget all: store and board are recovered."""
        self._watched.clear()

    def watch(self, job: int) -> None:
        """A job can be given slots from now on."""
        self._watched.append((self._wall_s() + OVERDUE_S, job))

    def take_overdue(self, jobs: Mapping[int, Job]) -> list[m.Input]:
        """What the machine is told of jobs that have waited too long; who has a slot is looked at again later.

        Args:
            jobs: Those that have not ended.
        """
        found: list[m.Input] = []
        while self._watched and self._watched[0][0] <= self._wall_s():
            _, number = self._watched.popleft()
            job = jobs.get(number)
            if job is None or job.spec.spread is not None:
                continue
            if job.slots:
                self.watch(number)
            else:
                found.append(m.Overdue(number))
        return found


FOREVER = float("inf")


class Engine:
    """One board's jobs. It belongs to one thread; other threads put into its `intake` what they want of it.

    Args:
        policy: Who gets which slot.
        applications: By name.
        modules: Manifests by name.
        constants: What packages ship for constant buffers, by (application, buffer).
        gpu_policy: Which kernel job gets which slot of the `gpu` pool; first come, first served by default.
        kinds: Further kinds of jobs, asked for what they take before applications and kernels.
        spawn: Who waits for the disk; whoever calls `step` by default.
        awaken: Called, from the thread of `spawn`, when there is something to do again.
        price: Shares the cores of GPU clusters between tenants, instead of `gpu_policy`.
        allow_unchecked: Whether jobs are given modules whose build has no check on record; their records say so then.
        memory_part: Most of the board's memory that the jobs of a tenant hold together, where there are several.
        pooled: Whether the board's jobs are a pool's as well, whose tenants are unknown here: there may be several.
        standing: Reads the record of a module's check again; nothing is read by default.
        lease_rules: What holds for leases.
    """

    def __init__(
        self,
        board: BoardPort,
        policy: DispatchPolicy,
        store: Store,
        applications: Mapping[str, Application],
        modules: Mapping[str, ModuleManifest],
        constants: Mapping[tuple[str, str], bytes] | None = None,
        kernels: KernelPlanner | None = None,
        gpu_policy: DispatchPolicy | None = None,
        kinds: Sequence[JobKind] = (),
        spawn: Spawn = run_inline,
        awaken: Callable[[], None] = lambda: None,
        price: PriceLoop | None = None,
        allow_unchecked: bool = False,
        memory_part: float = MAX_PART,
        pooled: bool = False,
        standing: Standing = never,
        lease_rules: LeaseRules = LeaseRules(),  # noqa: B008 - frozen
    ) -> None:
        self.board, self.store, self.price = board, store, price
        self._admitted = ModuleGate(standing, allow_unchecked)
        self.tenant_memory = TenantMemory(memory_part, (lambda: True) if pooled else store.tenants.has_several)
        lags = LagWriter(store, store.tenants.is_removed)
        if price is not None:
            price.restore(store.epochs.all(), lags.read_lags())
        by_slots: DispatchPolicy = gpu_policy or FirstComeFirstServed()
        policies = {Pool.PIPELINE: policy, Pool.GPU: by_slots if price is None else NoDecision()}
        self.admission = admission = Admission(applications, modules, constants or {})
        self.planner = planner = kernels or KernelPlanner(modules)
        plans = WholeClusterPlans(planner) if price is None else SharedClusterPlans(planner)
        compiled = KernelJobs(planner, plans, admission, modules)
        priced = None if price is None else price.decider.policy
        self.intake = Intake(
            store, (*kinds, compiled, ApplicationJobs(admission)), policies, self, priced, self.tenant_memory
        )
        self.buffers = JobBuffers(board)
        self.events = BoardEvents(board)
        self.status: tuple[SlotStatus, ...] = ()
        self.computes_results = True
        """Whether the board computes what it is asked for; True before the first `start`."""
        self.description: BoardDescription
        self.machine: Machine
        self.preparing = PreparationHold(board)
        dependencies = DependencyHold(store.jobs, store.numbers, self.preparing.doing)
        self.estimates = EstimatorFeed(store)
        self.accounts = TimeAccounts(store.usage, store.epochs, self.estimates, price, lags)
        self.keeping = OutputWriter(store, spawn, awaken)
        """Outputs read from the board, on their way to the disk."""
        self.commits = StepCommits(store, self.intake, self.buffers, self.keeping)
        bounds = ArrayHold(store.numbers, self.preparing.doing)
        self._holding = AdmissionHold(
            self.preparing, dependencies, bounds, self.commits.note, self.commits.jobs_to_publish.add
        )
        self._overdue = OverdueJobs()
        self.sessions = SessionKeeper(store, self.buffers, self.intake.work, planner, spawn, awaken)
        """Memory that tenants hold on the board, and their launches on it."""
        self.leases = LeaseKeeper(store, board, self.buffers, self.intake.work, lease_rules)
        """Slots that persons hold."""
        self._commands = Commands(board, store, self.buffers, self.keeping, self.intake.work)

    def start(self) -> None:
        """Recover what the store and the board hold; also after the board was lost.

        Raises:
            BoardUnreachable: The board is still away.
        """
        intake = self.intake
        intake.clear()
        self._holding.clear()
        self._overdue.clear()
        self.keeping.clear()
        self.commits.clear()
        description, images = self.board.describe(), self.board.images()
        if self.price is not None:
            self.price.watch.read = self.board.sharing
            if intake.price is not None:  # what was asked for last may have been in the inbox
                self.price.switch(intake.price)
        images = self._admitted.offer_images(description, images, intake.kinds)
        self.tenant_memory.arena = description.arena_bytes
        with pause_collection():
            found = recover(
                self.board,
                images,
                self.store,
                intake.policies,
                intake.kinds,
                self.buffers,
                self.price,
                lambda: self.tenant_memory.most,
                self._recover_holders,
                self.leases.leased_slots(),
            )
            self._go_on(description, found)

    def _recover_holders(self, machine: Machine, events: Iterable[BoardEvent]) -> dict[int, BoardWork]:
        """Give the machine the sessions and leases that the board still has memory of."""
        return {**self.sessions.recover(machine, events), **self.leases.recover(machine, self.board.state())}

    def _go_on(self, description: BoardDescription, found: RecoveryResult) -> None:
        """Hold what was recovered, and decide for the first time."""
        intake = self.intake
        self.description, self.machine = description, found.machine
        self.estimates.start(found.machine)
        self.computes_results = description.computes
        intake.uncomputed = frozenset(each.kind for each in intake.kinds if not description.computes_kind(each.kind))
        self.events.resume(found.clock)
        drained = {index: slot.drained for index, slot in self.machine.slots.items() if slot.drained}
        intake.add_recovered(found.known, found.work, drained)
        self._holding.resume(job.spec for job in self.machine.jobs.values())
        for number in self.machine.jobs:
            self._overdue.watch(number)
        arriving = [message.job for message in found.inputs if isinstance(message, m.Arrive)]
        for spec in [*(job.spec for job in self.machine.jobs.values()), *arriving]:
            self.store.jobs.tally.expect(spec.id, spec.expected_slot_s)
        self._run(self._let_in(found.inputs))

    @property
    def now_s(self) -> float:
        """Board time as last seen; it goes on where the board restarted."""
        return self.events.now_s

    @property
    def slots(self) -> Collection[int]:
        """Slots that jobs are given."""
        return self.machine.slots

    def probe(self) -> None:
        """See whether the board answers, and how it stands with what jobs wait for; no board time passes.

        Raises:
            BoardUnreachable: It does not.
        """
        self.board.now_s()
        self._holding.check_preparations()
        self.sessions.expire()
        self.leases.look()
        self.account()

    def account(self) -> None:
        """Write down whose the slots' time was, up to now."""
        self.accounts.write(self.now_s, self.machine.slots.values())

    @property
    def is_idle(self) -> bool:
        """Whether nothing will happen before a request comes: board time stands still then."""
        return not (self._pending or self.machine.busy or self.leases.is_driving or self._wake_s() < FOREVER)

    @property
    def _pending(self) -> bool:
        """Whether there is something to do at once."""
        came = self.sessions.pending or self.leases.pending or self.intake.pending or self._admitted.pending
        return bool(came or self._holding.pending or self.keeping.ready)

    @property
    def stalled(self) -> tuple[int, ...]:
        """Jobs that are left while nothing will happen: the policy gives them no slot. Empty where all is well."""
        left = [number for number, job in self.machine.jobs.items() if not job.spec.only_holds]
        return tuple(left) if left and self.is_idle and not self.keeping.has_work else ()

    def _wake_s(self) -> float:
        """Board time at which there is something to do, come what may; while the machine has no job, its time may stand
        still."""
        wake_s = FOREVER if self.machine.wake_s is None else self.machine.wake_s
        return min(wake_s, self._holding.next_s) if self.machine.state.has_work else FOREVER

    def step(self, quantum_s: float = FOREVER) -> bool:
        """Wait for the next event, at most `quantum_s` board seconds, and deal with what happened.

        Returns:
            Whether anything did.

        Raises:
            BoardUnreachable, BoardRestarted: Call `start` again.
            StorageFailed: Something cannot be kept; call `start` again.
        """
        self._holding.check_preparations()
        self.leases.look()
        until_s = min(self.now_s + self.leases.pace(quantum_s, self.machine.busy), self._wake_s())
        events = self.events.wait(until_s, self._pending, self.machine.busy or self.leases.is_driving)
        self.leases.take_events(events)
        inputs = self._inputs(events)
        self.buffers.sweep()
        if inputs or events:
            self._run(inputs)
        if self.accounts.is_due:
            self.account()
        return bool(inputs)

    def _inputs(self, events: list[BoardEvent]) -> list[m.Input]:
        inputs = [*self.events.inputs(events, self.machine, self.intake.work)]
        came = [*self.intake.take_inputs()]
        inputs += [*self._admitted.take_admitted(), *self._let_in(came)]  # a job comes after the modules let in for it
        inputs += self._holding.expire_jobs(self.now_s)
        inputs += self._overdue.take_overdue(self.machine.jobs)
        inputs += self.commits.take_stored_outputs(self.machine.jobs)
        inputs += self.sessions.take_inputs(self.now_s, self.machine)
        self.sessions.room.go_on()
        inputs += self.leases.take_inputs(self.now_s, self.machine)
        if not inputs and self._wake_s() <= self.now_s:
            inputs.append(m.Wake())
        return inputs

    def _let_in(self, messages: Iterable[m.Input]) -> list[m.Input]:
        """What the machine is told now of what came."""
        let_in = self._holding.take_admitted(messages, self.machine.jobs, self.now_s)
        for message in let_in:
            if isinstance(message, m.Arrive):
                self._overdue.watch(message.job.id)
        return let_in

    def _run(self, inputs: list[m.Input]) -> None:
        """Step the machine until nothing comes of it at once; a load, which may block, comes last of all."""
        inputs, load = self._step(inputs)
        while inputs or load is not None:
            if not inputs and load is not None:
                inputs, load = self._commands.carry_out(load, self.machine, self.now_s, self.events.offset_s), None
                continue
            self.events.read_time()
            inputs, more = self._step(inputs)
            load = load or more
        self.sessions.keep_marks()
        self.status = slot_statuses(self.description, self.machine)

    def _step(self, inputs: list[m.Input]) -> tuple[list[m.Input], m.Load | None]:
        """One step of the machine, made durable and carried out but for its load; answers what came of it, and that."""
        told = 0

        def stream_on(ended: list[int]) -> list[m.Input]:
            nonlocal told
            told = len(ended)
            return self.sessions.observe([*ended], self.machine, self.now_s)

        outcome = self.machine.step(self.now_s, inputs, stream_on)
        if outcome.only_allocates and not outcome.ended:
            self.commits.defer(outcome)
        else:
            self.commits.commit(outcome, self.machine, self.events)
        for number in outcome.ended:
            self._holding.release_dependents(number, self.machine.job(number).state, self.now_s)
            if number not in self.machine.jobs:  # a session that was spilled may have come back in this very step
                self.intake.work.pop(number, None)
            self.keeping.forget(number, self.commits.take_unnamed_outputs(number))
        self.estimates.observe_step(outcome.log, self.machine)
        answers = self.sessions.observe(outcome.ended[told:], self.machine, self.now_s)
        answers += self.leases.observe(outcome, self.machine, self.now_s)
        self.sessions.begin_slices(outcome.commands)
        load: m.Load | None = None
        for command in outcome.commands:
            if isinstance(command, m.Load):
                load = command
            else:
                answers += self._commands.carry_out(command, self.machine, self.now_s, self.events.offset_s)
        return [*answers, *self.commits.take_stored_outputs(self.machine.jobs)], load
