"""The engine carries out the machine's commands on a board and a store, in blocking steps.

The order within a step makes crashes harmless:

1. The events are read, but not acknowledged, and the machine processes them.
2. All changes are committed in one transaction: records, event log, results, the contents of each slot, and the number
   of the last event.
3. The commands are carried out on the board. Reading the outputs of a finished item is such a command; another thread
   brings them to the disk (see `keeping`), and the step that counts the item commits the rows that name them.
4. The next wait acknowledges the events.

So after a crash before the commit, the events come again, and nothing has happened. After a crash after the commit,
recovery sees on the board which commands are missing, and the policies decide again (see `recovery`).
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from eddy.board.port import BoardDescription, BoardEvent, BoardPort, Cause
from eddy.collecting import put_off
from eddy.core.applications import Application
from eddy.core.errors import (
    BoardUnreachable,
    EddyError,
    StorageFailed,
)
from eddy.core.faults import Fault
from eddy.core.records import JobEvent, JobRecord, SlotStatus
from eddy.core.slots import Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.admission import Admission
from eddy.hypervisor.application_jobs import ApplicationJobs
from eddy.hypervisor.buffers import JobBuffers
from eddy.hypervisor.commands import Commands
from eddy.hypervisor.dependencies import Dependencies
from eddy.hypervisor.draining import QUARANTINED
from eddy.hypervisor.forecast.keeper import EstimateKeeper
from eddy.hypervisor.holding import Holding
from eddy.hypervisor.intake import Intake
from eddy.hypervisor.job_records import record_of, snapshot_of
from eddy.hypervisor.keeping import Keeping, Spawn, at_once
from eddy.hypervisor.kernel_jobs import KernelJobs, WholeClusters
from eddy.hypervisor.kernels import KernelPlanner
from eddy.hypervisor.lag_keeper import LagKeeper
from eddy.hypervisor.machine import Machine
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.preparing import Preparing
from eddy.hypervisor.recovery import DRAINED, Recovered, recover
from eddy.hypervisor.spread import CoreByCore
from eddy.hypervisor.status import explain, offered, slot_statuses, stall
from eddy.hypervisor.time_accounts import TimeAccounts
from eddy.hypervisor.translate import to_input
from eddy.hypervisor.work import JobKind, JobMemory
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.undecided import Undecided
from eddy.policy.dispatch.view import DispatchPolicy
from eddy.store import Store
from eddy.store.rows import LOG, Commit, ItemOutput, ResultRow

_log = logging.getLogger(__name__)
FOREVER = float("inf")
ROUNDED_S = 1e-9
"""Nearer than this to the time that was waited for, it has come: a sum with the board's offset is rounded."""
BOARD_STEPS = 8
"""Steps that wait for the board after one that was only for what came, where the board's time, which may pass only
where it is waited for, stood still. Or a crowd that submits would hold all work up, and have most decisions made for
itself alone; what comes meanwhile is dealt with in these steps too, together with what the board says."""


class BoardRestarted(EddyError):
    """The board restarted: everything must be recovered."""

    code = "board-restarted"


class Engine:
    """One board's jobs. It belongs to one thread; other threads put into its `intake` what they want of it.

    Args:
        board: The board.
        policy: Who gets which slot.
        store: What survives a crash.
        applications: By name.
        modules: Manifests by name.
        constants: What packages ship for constant buffers, by (application, buffer).
        kernels: Compiles kernel jobs.
        gpu_policy: Which kernel job gets which slot of the `gpu` pool; first come, first served by default.
        kinds: Further kinds of jobs, asked for what they take before applications and kernels.
        spawn: Who waits for the disk; whoever calls `step` by default.
        awaken: Called, from the thread of `spawn`, when there is something to do again.
        price: Shares the cores of GPU clusters between tenants, instead of `gpu_policy`.
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
        spawn: Spawn = at_once,
        awaken: Callable[[], None] = lambda: None,
        price: PriceLoop | None = None,
    ) -> None:
        self.board, self.store, self.price = board, store, price
        lags = LagKeeper(store)
        if price is not None:
            price.restore(store.epochs.all(), lags.kept())
        by_slots: DispatchPolicy = gpu_policy or FirstComeFirstServed()
        policies = {Pool.PIPELINE: policy, Pool.GPU: by_slots if price is None else Undecided()}
        admission = Admission(applications, modules, constants or {})
        planner = kernels or KernelPlanner(modules)
        plans = WholeClusters(planner) if price is None else CoreByCore(planner)
        compiled = KernelJobs(planner, plans, admission, modules)
        priced = None if price is None else price.decider.policy
        self.intake = Intake(store, (*kinds, compiled, ApplicationJobs(admission)), policies, self, priced)
        self.buffers = JobBuffers(board)
        self.now_s = 0.0
        self.waited = 0.0, 0.0
        """Board seconds that passed in the last step while it waited for the board, and wall seconds that took."""
        self._owed = 0
        """Steps that will wait for the board, whatever has come; see `BOARD_STEPS`."""
        self.status: tuple[SlotStatus, ...] = ()
        self._computes = True
        self.description: BoardDescription
        self.machine: Machine
        self.seen = -1
        """Sequence number of the last board event whose effects are committed."""
        self.offset_s = 0.0
        """Added to the board's time, so that ours goes on where the board restarted."""
        self.preparing = Preparing(board)
        self._told: set[int] = set()
        """Jobs to which something happened that followers have not been told of."""
        self._dependencies = Dependencies(store.jobs, store.numbers, self.preparing.doing)
        self._holding = Holding(self.preparing, self._dependencies, self._note, self._told.add)
        self.estimates = EstimateKeeper(store)
        self.accounts = TimeAccounts(store.usage, store.epochs, self.estimates, price, lags)
        self.keeping = Keeping(store, spawn, awaken)
        """Outputs read from the board, on their way to the disk."""
        self._commands = Commands(board, store, self.buffers, self.keeping, self.intake.work)
        self._rows: list[ResultRow] = []
        """Of outputs that are on disk, to be committed with the step that takes note of them."""

    def start(self) -> None:
        """Recover what the store and the board hold; also after the board was lost.

        Raises:
            BoardUnreachable: The board is still away.
        """
        intake = self.intake
        intake.clear()
        self._holding.clear()
        self.keeping.clear()
        self._rows.clear()
        description, images = self.board.describe(), self.board.images()
        if self.price is not None:
            self.price.watch.read = self.board.sharing
            if intake.price is not None:  # what was asked for last may have been in the inbox
                self.price.switch(intake.price)
        offer = offered(description, images)
        for kind in intake.kinds:
            kind.offered(offer)
        with put_off():
            found = recover(self.board, images, self.store, intake.policies, intake.kinds, self.buffers, self.price)
            self._go_on(description, found)

    def _go_on(self, description: BoardDescription, found: Recovered) -> None:
        """Hold what was recovered, and decide for the first time."""
        intake = self.intake
        self.description, self.machine = description, found.machine
        self.estimates.start(found.machine)
        self._computes = description.computes
        intake.work.update(found.work)  # in place: a submission may be waiting
        self.seen, self.now_s, self.offset_s = found.clock.seen, found.clock.now_s, found.clock.offset_s
        intake.drained = {index: slot.drained for index, slot in self.machine.slots.items() if slot.drained}
        self._holding.resume(job.spec for job in self.machine.jobs.values())
        self._run(self._let_in(found.inputs))

    @property
    def slots(self) -> Collection[int]:
        """Slots that jobs are given."""
        return self.machine.slots

    @property
    def computes(self) -> bool:
        """Whether the board computes what it is asked for; True before the first `start`."""
        return self._computes

    def probe(self) -> None:
        """See whether the board answers, and how it stands with what jobs wait for; no board time passes.

        Raises:
            BoardUnreachable: It does not.
        """
        self.board.now_s()
        self._holding.look()
        self.account()

    def account(self) -> None:
        """Write down whose the slots' time was, up to now."""
        self.accounts.write(self.now_s, self.machine.slots.values())

    @property
    def told(self) -> Collection[int]:
        """Jobs to which something happened since `take_told` was asked last."""
        return self._told

    def take_told(self) -> frozenset[int]:
        """Jobs to which something happened since this was asked last."""
        told = frozenset(self._told)
        self._told.clear()
        return told

    @property
    def idle(self) -> bool:
        """Whether nothing will happen before a request comes: board time stands still then."""
        return not (self._pending or self.machine.busy or self._wake_s() < FOREVER)

    @property
    def _pending(self) -> bool:
        """Whether there is something to do at once."""
        return bool(self.intake.pending or self._holding.pending or self.keeping.ready)

    @property
    def stalled(self) -> tuple[int, ...]:
        """Jobs that are left while nothing will happen: the policy gives them no slot. Empty where all is well."""
        return tuple(self.machine.jobs) if self.idle and not self.keeping.busy else ()

    @property
    def stalled_because(self) -> str:
        """Why nothing happens to the jobs that are left, for the log."""
        return stall(self.machine)

    def _wake_s(self) -> float:
        """Board time at which there is something to do, come what may; while the machine has no job, its time may stand
        still."""
        wake_s = FOREVER if self.machine.wake_s is None else self.machine.wake_s
        return min(wake_s, self._holding.next_s) if self.machine.jobs else FOREVER

    def step(self, quantum_s: float = FOREVER) -> bool:
        """Wait for the next event, at most `quantum_s` board seconds, and deal with what happened.

        Returns:
            Whether anything did.

        Raises:
            BoardUnreachable, BoardRestarted: Call `start` again.
            StorageFailed: Something cannot be kept; call `start` again.
        """
        self._holding.look()
        before_s, waits = self.now_s, not self._pending or (self._owed > 0 and self.machine.busy)
        until_s = min(before_s + quantum_s, self._wake_s()) if waits else before_s
        began_s = time.monotonic()
        found = self.board.wait(until_s - self.offset_s, self.seen)
        took_s = time.monotonic() - began_s
        events = sorted((e for e in found if e.seq > self.seen), key=lambda event: event.seq)
        if any(event.cause is Cause.BOARD_RESTARTED for event in events):
            raise BoardRestarted("the board restarted: slots are closed and jobs continue after their last results")
        self.now_s = self.board.now_s() + self.offset_s
        if 0 < until_s - self.now_s < ROUNDED_S:
            self.now_s = until_s
        self.waited = (self.now_s - before_s if waits else 0.0), took_s
        if waits:
            self._owed = max(0, self._owed - 1)
        elif self.now_s <= before_s:
            self._owed = BOARD_STEPS
        inputs = self._inputs(events)
        self.buffers.sweep()
        if inputs or events:
            self._run(inputs)
        if self.accounts.due:
            self.account()
        return bool(inputs)

    def _inputs(self, events: list[BoardEvent]) -> list[m.Input]:
        inputs = [message for message in map(self._shifted, events) if message is not None]
        inputs += self._let_in(self.intake.take())
        inputs += self._holding.late(self.now_s)
        inputs += self._kept()
        if not inputs and self._wake_s() <= self.now_s:
            inputs.append(m.Wake())
        if events:
            self.seen = events[-1].seq
        return inputs

    def _kept(self) -> list[m.Input]:
        """What the machine is told of outputs that have come to the disk; those of a job that has ended count for
        nothing."""
        found = [kept for kept in self.keeping.take() if kept.message.job in self.machine.jobs]
        self._rows += [row for kept in found for row in kept.rows]
        return [kept.message for kept in found]

    def _let_in(self, messages: Iterable[m.Input]) -> list[m.Input]:
        """What the machine is told now of what came."""
        return self._holding.let_in(messages, self.machine.jobs, self.now_s)

    def _note(self, event: JobEvent) -> None:
        """Keep an entry of the log of a job that is not in the machine."""
        self.store.commit(Commit(events=(event,)))
        self._told.add(event.job)

    def _shifted(self, event: BoardEvent) -> m.Input | None:
        """A board event as the machine's input, on our time axis, with what the cores of a cluster say of a fault."""
        at_s, started_s = event.at_s + self.offset_s, event.started_s + self.offset_s
        message = to_input(dataclasses.replace(event, at_s=at_s, started_s=started_s), self.machine)
        if isinstance(message, (m.ItemEnded, m.SliceEnded)) and message.cause is not Cause.NONE and event.cores:
            job = message.job if isinstance(message, m.SliceEnded) else self.machine.slots[message.slot].job
            why = self.intake.work[job].explain(event) if job is not None else ""
            return dataclasses.replace(message, detail=why or message.detail)
        return message

    def _run(self, inputs: list[m.Input]) -> None:
        """Step the machine until nothing comes of it at once; a load, which may block, comes last of all."""
        inputs, load = self._step(inputs)
        while inputs or load is not None:
            if not inputs and load is not None:
                inputs, load = self._commands.carry_out(load, self.machine, self.now_s, self.offset_s), None
                continue
            self.now_s = self.board.now_s() + self.offset_s
            inputs, more = self._step(inputs)
            load = load or more
        self.status = slot_statuses(self.description, self.machine)

    def _step(self, inputs: list[m.Input]) -> tuple[list[m.Input], m.Load | None]:
        """One step of the machine, made durable and carried out but for its load; answers what came of it, and that."""
        outcome = self.machine.step(self.now_s, inputs)
        self._commit(outcome)
        self.estimates.happened(outcome.log, self.machine)
        answers: list[m.Input] = []
        load: m.Load | None = None
        for command in outcome.commands:
            if isinstance(command, m.Load):
                load = command
            else:
                answers += self._commands.carry_out(command, self.machine, self.now_s, self.offset_s)
        return [*answers, *self._kept()], load

    def _commit(self, outcome: m.StepResult) -> None:
        """Make durable what a step changed, and name the outputs that had come to the disk before it."""
        kept = (*self._rows, *self._logs(outcome))
        self._rows.clear()
        jobs = self._changed(outcome.jobs)
        if not (jobs or outcome.log or outcome.slots or kept):
            return  # slices came and went, or jobs came that wait
        commit = Commit(
            jobs=tuple((_at_its_end(record), snapshot_of(self.machine.job(record.id))) for record in jobs),
            events=tuple(outcome.log),
            kept=kept,
            slots={index: self.machine.slots[index].snapshot() for index in sorted(outcome.slots)},
            meta={
                **{"seen": str(self.seen), "now_s": repr(self.now_s), "offset_s": repr(self.offset_s)},
                **{DRAINED.format(slot): because for slot, because in outcome.drained.items()},
            },
        )
        self.store.commit(commit, wait=False)
        for slot, because in outcome.drained.items():
            self._now_drained(slot, because)
        if commit.tells:
            self.keeping.settle()
        self._told.update(event.job for event in outcome.log)
        for number in outcome.ended:
            self._dependencies.ended(number, self.machine.job(number).state, self.now_s)
            self.intake.work.pop(number, None)
            self.keeping.forget(number)

    def _changed(self, numbers: Collection[int]) -> list[JobRecord]:
        """Records of jobs to which something happened, but for those that are on disk just so since they came."""
        records = [record_of(self.machine.job(number)) for number in sorted(numbers)]
        return [record for record in records if self.intake.accepted.pop(record.id, None) != record]

    def _now_drained(self, slot: int, because: str) -> None:
        if self.intake.drained.get(slot, "") != because:
            if because.startswith(QUARANTINED):
                self.store.happened.fault(Fault.QUARANTINE)
            _log.error("slot %d is %s", slot, because or "given to jobs again")
            self.intake.set_drained(slot, because)

    def _logs(self, outcome: m.StepResult) -> list[ResultRow]:
        """Write what the jobs that ended printed, as far as it can be had; answers the rows that name it."""
        rows: list[ResultRow] = []
        for number in outcome.ended:
            try:
                text = self.intake.work[number].log(JobMemory(self.buffers, number))
                if text:
                    rows += self.store.outputs.write([ItemOutput(number, LOG, 0, text)], {})
            except (BoardUnreachable, StorageFailed):
                raise
            except Exception as error:
                explain(error, f"keeping the log of job {self.store.numbers.job.told(number)}")
                continue
            self.machine.job(number).log_bytes = len(text)
        return rows


def _at_its_end(record: JobRecord) -> JobRecord:
    """A record that says when it ended by wall time, where it has."""
    return dataclasses.replace(record, ended_unix_s=time.time()) if record.state.is_final else record
