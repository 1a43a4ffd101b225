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
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

from eddy.board.port import BoardDescription, BoardEvent, BoardPort, Cause
from eddy.core.applications import Application
from eddy.core.errors import (
    BoardUnreachable,
    EddyError,
    NotFound,
    StorageFailed,
)
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest, SlotStatus
from eddy.core.slots import Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.admission import Admission
from eddy.hypervisor.application_jobs import ApplicationJobs
from eddy.hypervisor.buffers import JobBuffers
from eddy.hypervisor.commands import Commands
from eddy.hypervisor.keeping import Keeping, Spawn, at_once
from eddy.hypervisor.kernel_jobs import KernelJobs, WholeClusters
from eddy.hypervisor.kernels import KernelPlanner
from eddy.hypervisor.machine import Machine
from eddy.hypervisor.market_loop import PriceLoop
from eddy.hypervisor.metering import nanoseconds
from eddy.hypervisor.preparing import Preparing
from eddy.hypervisor.recovery import DRAINED, recover
from eddy.hypervisor.spread import CoreByCore
from eddy.hypervisor.status import explain, offered, slot_statuses
from eddy.hypervisor.translate import to_input
from eddy.hypervisor.work import JobKind, JobMemory, Work
from eddy.packages.modules import ModuleManifest
from eddy.policy.dispatch.fcfs import FirstComeFirstServed
from eddy.policy.dispatch.undecided import Undecided
from eddy.policy.dispatch.view import DispatchPolicy
from eddy.store import Store
from eddy.store.rows import LOG, Commit, ItemOutput, ResultRow
from eddy.store.submissions import Submission
from eddy.store.usage import ACCOUNTED, UsageRow, day_of

_log = logging.getLogger(__name__)
FOREVER = float("inf")
ACCOUNT_S = 1.0
"""Wall seconds between two times that use is written down."""


class BoardRestarted(EddyError):
    """The board restarted: everything must be recovered."""

    code = "board-restarted"


class Engine:
    """One board's jobs.

    Everything but `accept`, `prepare`, `accept_all` and `cancel`, which any thread may call, belongs to one thread.

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
        by_slots: DispatchPolicy = gpu_policy or FirstComeFirstServed()
        self.policies = {Pool.PIPELINE: policy, Pool.GPU: by_slots if price is None else Undecided()}
        admission = Admission(applications, modules, constants or {})
        planner = kernels or KernelPlanner(modules)
        plans = WholeClusters(planner) if price is None else CoreByCore(planner)
        compiled = KernelJobs(planner, plans, admission, modules)
        self.kinds: tuple[JobKind, ...] = (*kinds, compiled, ApplicationJobs(admission))
        self.buffers = JobBuffers(board)
        self.now_s = 0.0
        self.status: tuple[SlotStatus, ...] = ()
        self._computes = True
        self._account_s = 0.0
        """Wall time, as `time.monotonic` has it, at which the slots' time is written down again."""
        self.description: BoardDescription
        self.machine: Machine
        self.seen = -1
        """Sequence number of the last board event whose effects are committed."""
        self.offset_s = 0.0
        """Added to the board's time, so that ours goes on where the board restarted."""
        self.work: dict[int, Work] = {}
        """Of every job that has not ended."""
        self.preparing = Preparing(board)
        self.keeping = Keeping(store, spawn, awaken)
        """Outputs read from the board, on their way to the disk."""
        self._commands = Commands(board, store, self.buffers, self.keeping, self.work)
        self._rows: list[ResultRow] = []
        """Of outputs that are on disk, to be committed with the step that takes note of them."""
        self._told: set[int] = set()
        """Jobs to which something happened that followers have not been told of."""
        self.drained: dict[int, str] = {}
        """By slot that is drained, or is to be in the next step: why."""
        self._inbox: deque[m.Input] = deque()
        self._arrival_lock = threading.Lock()
        """Keeps a cancellation behind the arrival of its job: the store shows a job before the inbox has it."""

    # From any thread ----------------------------------------------------------------------------------------------

    def accept(self, request: JobRequest) -> JobRecord:
        """Check a request and keep it durably; the next step takes it in.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: A kernel's source was refused.
            Conflict: The idempotency key was used for another request.
            QuotaExceeded: The tenant has too many jobs.
        """
        known = self.store.known(request)
        made = None if known is not None or self.kind_of(request).quick else self.prepare(request)
        (outcome,) = [known] if known is not None else self.accept_all([(request, made)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def kind_of(self, request: JobRequest) -> JobKind:
        """The kind a request is of."""
        return next(kind for kind in self.kinds if kind.takes(request))

    def prepare(self, request: JobRequest) -> Work:
        """Check a request and make its work; may take seconds, and keeps nothing.

        Raises:
            InvalidRequest: A field is wrong.
            CompilationFailed: The source was refused.
            QuotaExceeded: The tenant has too many jobs, or compiling took too much.
        """
        return self.kind_of(request).prepare(request, self.store)

    def accept_all(self, waiting: Sequence[tuple[JobRequest, Work | None]]) -> list[JobRecord | Exception]:
        """Keep what waits durably, in this order and in one transaction; the next step takes it in.

        Args:
            waiting: Requests, with what `prepare` made of them; it may be missing where their kind is quick.

        Returns:
            For each its job, or why it was refused, as `accept` raises it.

        Raises:
            StorageFailed: The disk refused to say that it has them. They are written, and run; whoever asks again
                under the same idempotency key is answered the same job.
        """
        submissions = [Submission(request) if work is None else self._kept_as(work) for request, work in waiting]
        made = {id(each): work for each, (_, work) in zip(submissions, waiting, strict=True) if work is not None}
        prepared = frozenset(made)

        def check(submission: Submission) -> Submission:
            if id(submission) in prepared:
                return submission
            made[id(submission)] = work = self.prepare(submission.request)
            return self._kept_as(work)

        with self._arrival_lock:
            outcomes = self.store.write_jobs(submissions, self.now_s, check)
            for submission, outcome in zip(submissions, outcomes, strict=True):
                if not isinstance(outcome, Exception) and outcome[1]:
                    self._arrived(made[id(submission)], outcome[0])
        self.store.settle()
        return [outcome if isinstance(outcome, Exception) else outcome[0] for outcome in outcomes]

    def _kept_as(self, work: Work) -> Submission:
        """A job as the store keeps it, on this board."""
        made = work.submission()
        return made if self._computes else dataclasses.replace(made, computed=False)

    def _arrived(self, work: Work, record: JobRecord) -> None:
        self.work[record.id] = work
        self._inbox.append(m.Arrive(work.spec(record)))

    def cancel(self, tenant: str, job: int) -> JobRecord:
        """Note durably that a job shall end; the next step ends it.

        Raises:
            NotFound: No such job of this tenant.
            Conflict: It has ended already in another state.
        """
        with self._arrival_lock:
            record = self.store.request_cancel(tenant, job)
            self._inbox.append(m.Cancel(job))
        return record

    def drain(self, slot: int, because: str) -> None:
        """Note durably that a slot is given to nobody any more; the next step does so. "" gives it to jobs again.

        Raises:
            NotFound: No job could be given a slot of that number.
        """
        with self._arrival_lock:
            if slot not in self.machine.slots:
                known = sorted(self.machine.slots)
                raise NotFound(f"There is no slot {slot} that jobs are given.", field="slot", asked=slot, allowed=known)
            self.store.remember(DRAINED.format(slot), because)
            self._set_drained(slot, because)
            self._inbox.append(m.Drain(slot, because) if because else m.Undrain(slot))

    def _set_drained(self, slot: int, because: str) -> None:
        """A new dictionary: others read the old one."""
        left = {index: why for index, why in self.drained.items() if index != slot}
        self.drained = {**left, slot: because} if because else left

    def switch(self, pool: Pool, policy: DispatchPolicy) -> None:
        """Have another policy decide about a pool's slots, from the next step on. The caller keeps it durably."""
        with self._arrival_lock:
            self.policies[pool] = policy
            self._inbox.append(m.Switch(pool, policy))

    # The one thread -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Recover what the store and the board hold; also after the board was lost.

        Raises:
            BoardUnreachable: The board is still away.
        """
        self._inbox.clear()
        self.preparing.clear()
        self.keeping.clear()
        self._rows.clear()
        description, images = self.board.describe(), self.board.images()
        offer = offered(description, images)
        for kind in self.kinds:
            kind.offered(offer)
        found = recover(self.board, images, self.store, self.policies, self.kinds, self.buffers, self.price)
        self.description, self.machine = description, found.machine
        self._computes = description.computes
        self.work.update(found.work)  # in place: a submission may be waiting
        self.seen, self.now_s, self.offset_s = found.clock.seen, found.clock.now_s, found.clock.offset_s
        self.drained = {index: slot.drained for index, slot in self.machine.slots.items() if slot.drained}
        self._run([message for message in found.inputs if not (isinstance(message, m.Arrive) and self.hold(message))])

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
        self.preparing.look()
        self.account()

    def account(self) -> None:
        """Write down whose the slots' time was, up to now."""
        now_ns, day = nanoseconds(self.now_s), day_of(time.time())
        slots = self.machine.slots.values()
        rows = []
        for slot in slots:
            slot.meter.settle(now_ns)
            rows += [
                UsageRow(day, tenant, slot.index, unit.value, ns) for (unit, tenant), ns in slot.meter.take().items()
            ]
        self._account_s = time.monotonic() + ACCOUNT_S
        if rows:
            self.store.add_usage(rows, {ACCOUNTED: str(max([slot.meter.mark_ns for slot in slots], default=now_ns))})

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
        return bool(self._inbox or self.preparing.released or self.keeping.ready)

    @property
    def stalled(self) -> tuple[int, ...]:
        """Jobs that are left while nothing will happen: the policy gives them no slot. Empty where all is well."""
        return tuple(self.machine.jobs) if self.idle and not self.keeping.busy else ()

    def _wake_s(self) -> float:
        wake_s = self.machine.wake_s
        return wake_s if wake_s is not None and self.machine.jobs else FOREVER

    def step(self, quantum_s: float = FOREVER) -> bool:
        """Wait for the next event, at most `quantum_s` board seconds, and deal with what happened.

        Returns:
            Whether anything did.

        Raises:
            BoardUnreachable, BoardRestarted: Call `start` again.
            StorageFailed: Something cannot be kept; call `start` again.
        """
        self.preparing.look()
        until_s = self.now_s if self._pending else min(self.now_s + quantum_s, self._wake_s())
        events = [e for e in self.board.wait(until_s - self.offset_s, self.seen) if e.seq > self.seen]
        if any(event.cause is Cause.BOARD_RESTARTED for event in events):
            raise BoardRestarted("the board restarted: slots are closed and jobs continue after their last results")
        self.now_s = self.board.now_s() + self.offset_s
        inputs = self._inputs(events)
        self.buffers.sweep()
        if inputs or events:
            self._run(inputs)
        if time.monotonic() >= self._account_s:
            self.account()
        return bool(inputs)

    def _inputs(self, events: list[BoardEvent]) -> list[m.Input]:
        inputs = [message for message in map(self._shifted, events) if message is not None]
        while self._inbox:
            message = self._inbox.popleft()
            if isinstance(message, m.Arrive) and (message.job.id in self.machine.jobs or self.hold(message)):
                continue
            if isinstance(message, m.Cancel):
                self.preparing.release(message.job)
            inputs += self._released()
            inputs.append(message)
        inputs += self._released()
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

    def hold(self, arrival: m.Arrive) -> bool:
        """Keep a job back while the board makes what it needs; answers whether. Its event log says so."""
        if not self.preparing.holds(arrival):
            return False
        job = arrival.job
        detail = self.preparing.doing.get(job.id)
        if detail:
            note = JobEvent(0, job.id, job.tenant, self.now_s, JobEventKind.WAIT, detail=detail)
            self.store.commit(Commit(events=(note,)))
            self._told.add(job.id)
        return True

    def _released(self) -> list[m.Input]:
        found = list(self.preparing.released)
        self.preparing.released.clear()
        return found

    def _shifted(self, event: BoardEvent) -> m.Input | None:
        """A board event as the machine's input, on our time axis, with what the cores of a cluster say of a fault."""
        at_s, started_s = event.at_s + self.offset_s, event.started_s + self.offset_s
        message = to_input(dataclasses.replace(event, at_s=at_s, started_s=started_s), self.machine)
        if isinstance(message, (m.ItemEnded, m.SliceEnded)) and message.cause is not Cause.NONE and event.cores:
            job = message.job if isinstance(message, m.SliceEnded) else self.machine.slots[message.slot].job
            why = self.work[job].explain(event) if job is not None else ""
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
        if not (outcome.jobs or outcome.log or outcome.slots or kept):
            return  # slices came and went
        jobs = [self.machine.record(number) for number in sorted(outcome.jobs)]
        commit = Commit(
            jobs=tuple((job.record(), job.snapshot()) for job in jobs),
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
            self.work.pop(number, None)
            self.keeping.forget(number)

    def _now_drained(self, slot: int, because: str) -> None:
        if self.drained.get(slot, "") != because:
            _log.error("slot %d is %s", slot, because or "given to jobs again")
            self._set_drained(slot, because)

    def _logs(self, outcome: m.StepResult) -> list[ResultRow]:
        """Write what the jobs that ended printed, as far as it can be had; answers the rows that name it."""
        rows: list[ResultRow] = []
        for number in outcome.ended:
            try:
                text = self.work[number].log(JobMemory(self.buffers, number))
                if text:
                    rows += self.store.write_results([ItemOutput(number, LOG, 0, text)], {})
            except (BoardUnreachable, StorageFailed):
                raise
            except Exception as error:
                explain(error, f"keeping the log of job {number}")
                continue
            self.machine.record(number).log_bytes = len(text)
        return rows
