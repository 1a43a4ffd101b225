# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Recovering jobs and slots after a crash of the hypervisor, or a restart of the board.

The store has what was decided, the board has the actual state. If they differ, there was a crash between the commit and
the command, or the board restarted. The board's state is read before its events: an item or load that had ended by then
has left an event, so one that neither runs nor left an event was never started.

=================== ============================= ==========================================================
the store says      the board says                then
=================== ============================= ==========================================================
slot is loading     loading it, or its event left it goes on loading; the event ends it
..                  neither                       the load was never begun: the slot is free
slot runs an item   running it, or an event       it goes on running; the event ends it
..                  idle, same module             the item was never launched: it is launched
slot is held        idle, same module             it is held
anything            anything else                 the slot is free, and what is in it is not trusted
job has its buffers all of them are there         it goes on
..                  some are missing              they are freed; it restarts after its last committed item
                                                  (where items work in place, as a kernel's slices: from the first)
=================== ============================= ==========================================================

What the holder of a lease drives goes on; any other item that runs for nobody is stopped. Buffers of jobs that ended,
or are not known, are freed.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from eddy.board.port.port import (
    BoardDescription,
    BoardEvent,
    BoardPort,
    BoardState,
    Cause,
    EventKind,
    SlotPhase,
    SlotState,
)
from eddy.core.errors import BoardUnreachable, EddyError, InvalidRequest, StorageDamaged, StorageFailed
from eddy.core.fusion import select_form
from eddy.core.projects import WeightsOf
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.slots import Image, Pool, PreemptReason
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import JobBuffers, needed
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.job_records import record_of, restore_job, snapshot_of
from eddy.hypervisor.jobs.metering import SlotMeter, nanoseconds
from eddy.hypervisor.jobs.slot import DRAINED, OWN, MachineSlot, Phase
from eddy.hypervisor.jobs.work import BoardWork, JobKind, Work
from eddy.hypervisor.machine.failures import internal_error_message
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.translate import (
    index_images,
    item_name,
    make_resident_images,
    pool_slots,
    scrubbed_modules,
    unchecked_modules,
)
from eddy.hypervisor.slots.pools import PoolSlots
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.store import Store
from eddy.store.account_tables.usage import ACCOUNTED
from eddy.store.db.field_types import parse_finite
from eddy.store.db.rows import Commit, StoredJob

_log = logging.getLogger(__name__)
LOAD_EVENTS = (EventKind.CONFIGURED, EventKind.CONFIGURATION_FAILED)


@dataclass(frozen=True, slots=True)
class LastTimes:
    """Where the last life stopped.

    Attributes:
        seen: Sequence number of the last board event whose effects are committed.
        now_s: Board time.
        offset_s: Added to the board's own time, so that ours goes on where the board restarted.
    """

    seen: int
    now_s: float
    offset_s: float


@dataclass(frozen=True, slots=True)
class LeasedSlot:
    """A slot that a lease of a tenant holds; `item` is what its holder drives it under, "" where nobody may."""

    lease: str
    tenant: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What was recovered.

    Attributes:
        clock: Board time, and how far the board's events are booked.
        machine: Slots, and jobs that had begun.
        work: Of every job that has not ended.
        known: Jobs that were found in the store, those that cannot run any more among them.
        inputs: The machine's first; jobs that had not begun arrive again.
    """

    clock: LastTimes
    machine: Machine
    work: Mapping[int, BoardWork]
    known: frozenset[int]
    inputs: tuple[m.Input, ...]


def recover(
    board: BoardPort,
    images: Iterable[Image],
    store: Store,
    policies: Mapping[Pool, DispatchPolicy],
    kinds: Sequence[JobKind],
    buffers: JobBuffers,
    price: PriceLoop | None = None,
    most_memory: Callable[[], int] | None = None,
    recover_sessions: Callable[[Machine, Iterable[BoardEvent]], Mapping[int, BoardWork]] = lambda _machine, _events: {},
    leased: Mapping[int, LeasedSlot] = MappingProxyType({}),
) -> RecoveryResult:
    """Recover what the store and the board hold.

    Args:
        board: Slots that run for nobody are stopped on it.
        store: Jobs that cannot run any more end there.
        policies: By pool.
        kinds: They have been told what the board offers.
        buffers: Taken over from the board; those of nobody are freed.
        price: Shares the cores of GPU clusters; None where kernels take whole slots.
        most_memory: Bytes that the jobs of a tenant hold together at most; None for any number.
        recover_sessions: Gives the machine the sessions and leases whose memory the board has, and frees that of
            others.
        leased: Slots that leases hold; what their holders drive goes on.
    """
    if price is not None:
        price.life = store.value("life", 0, int) + 1
        store.commit(Commit(meta={"life": str(price.life)}))
    state = board.state()
    clock = _clock(store, state)
    events = [e for e in board.wait(state.now_s, clock.seen) if e.seq > clock.seen]
    machine = _machine(board.describe(), images, policies, price, store.projects.weights, most_memory)
    for index, slot in machine.slots.items():
        slot.drained = store.meta(DRAINED.format(index))
        if index in leased:
            slot.leased, slot.lease_tenant = leased[index].lease, leased[index].tenant
    buffers.adopt(state.buffers)
    taken = _Jobs(store, kinds, buffers, machine, clock.now_s, board.describe().computes_kind)
    taken.adopt()
    modules = {image.sha256: image.module for image in images}
    usual = [e for e in events if e.cause is not Cause.BOARD_RESTARTED]
    snapshots = store.slot_snapshots()
    held = {index: slot.item for index, slot in leased.items() if slot.item}
    _adopt_slots(board, snapshots, state, usual, modules, machine, clock.now_s, held)
    _keep_slots(store, snapshots, machine)
    _count_time(store, machine, clock.now_s)
    if len(usual) < len(events):
        clock = dataclasses.replace(clock, seen=max(event.seq for event in events))
    work = {**taken.work, **recover_sessions(machine, usual)}
    for number in buffers.jobs():
        if number not in machine.jobs:
            buffers.free(number)
    return RecoveryResult(clock, machine, work, frozenset(taken.known), (m.Resume(), *taken.inputs))


def _machine(
    description: BoardDescription,
    images: Iterable[Image],
    policies: Mapping[Pool, DispatchPolicy],
    price: PriceLoop | None,
    weights_of: WeightsOf,
    most_memory: Callable[[], int] | None,
) -> Machine:
    """Slots nobody has."""
    slots, gpu = (pool_slots(description, pool) for pool in (Pool.PIPELINE, Pool.GPU))
    shared = PoolSlots(gpu, policies[Pool.GPU]) if gpu else None
    known = index_images(images, [*slots, *gpu])
    return Machine(
        slots,
        policies[Pool.PIPELINE],
        known,
        scrubbed_modules(images),
        gpu=shared,
        price=price,
        near=make_resident_images(description),
        unchecked=unchecked_modules(images),
        weights_of=weights_of,
        most_memory=most_memory,
        arena_bytes=description.arena_bytes,
    )


def _count_time(store: Store, machine: Machine, now_s: float) -> None:
    """Go on counting whose the slots' time is, from where the last life stopped: what passed since is theirs who have
    the slots now."""
    mark_ns = store.usage.begin(nanoseconds(now_s), len(machine.slots))
    for slot in machine.slots.values():
        slot.meter.begin(mark_ns, slot.holder)


def _clock(store: Store, state: BoardState) -> LastTimes:
    """Go on counting where the last life stopped, if the board's clock or events restarted."""
    # Where it cannot be read, no event counts that the board still has: jobs go on from their last results.
    seen = store.value("seen", -1, int, damaged=state.next_seq - 1)
    offset_s = store.value("offset_s", 0.0, parse_finite)
    # Use may be written down later than anything else; what was charged once must not pass again.
    last_s = max(store.value("now_s", 0.0, parse_finite), store.value(ACCOUNTED, 0, int) / 1e9)
    if seen >= state.next_seq:
        seen = -1
    if state.now_s + offset_s < last_s:
        offset_s = last_s - state.now_s
    return LastTimes(seen, state.now_s + offset_s, offset_s)


class _Jobs:
    """Recovers every job that has not ended.

    Args:
        kinds: They make their works.
        buffers: As the board has them.
        machine: Where those go that had begun.
        now_s: Board time.
        computes: Whether the board computes what jobs of a kind ask for.

    Attributes:
        work: By job.
        known: Jobs that were found.
        inputs: Jobs that had not begun, and cancellations that are still due.
    """

    def __init__(
        self,
        store: Store,
        kinds: Sequence[JobKind],
        buffers: JobBuffers,
        machine: Machine,
        now_s: float,
        computes: Callable[[str], bool],
    ) -> None:
        self._store, self._buffers = store, buffers
        self._kinds = {each.kind: each for each in kinds}
        self._machine, self._now_s, self._computes = machine, now_s, computes
        self._notes: list[JobEvent] = []
        self._begun_again: list[Job] = []
        """Jobs whose buffers were lost. That must be on disk before they get others: those would pass for the lost ones
        at the next recovery, and tasks would go on with inputs that are not there."""
        self.work: dict[int, Work] = {}
        self.known: set[int] = set()
        self.inputs: list[m.Input] = []

    def adopt(self) -> None:
        """Recover all of them; what is to be noted goes into one transaction."""
        for stored in self._store.jobs.unfinished():
            number = stored.record.id
            self.known.add(number)
            try:
                self._adopt(stored)
            except (BoardUnreachable, StorageFailed):
                raise
            except Exception as error:
                _log.exception("job %d cannot be recovered", self._store.numbers.job.public_id(number))
                self.work.pop(number, None)
                self._give_up(stored, Cause.INTERNAL_ERROR.value, internal_error_message(error))
        if self._notes:
            jobs = tuple((record_of(job), snapshot_of(job)) for job in self._begun_again)
            self._store.commit(Commit(jobs=jobs, events=tuple(self._notes)))

    def _adopt(self, stored: StoredJob) -> None:
        record = stored.record
        try:
            kind = self._kinds.get(stored.request.kind)
            if kind is None:
                raise InvalidRequest("Jobs of this kind are not installed any more.", allowed=sorted(self._kinds))
            work = kind.restore(stored, self._store)
        except EddyError as error:
            if isinstance(error, StorageFailed) and not isinstance(error, StorageDamaged):
                raise
            self._give_up(stored, "application-gone", f"{record.kind} {record.application}: {error.message}")
            return
        self.work[record.id] = work
        if record.computed and not self._computes(record.kind):
            record = dataclasses.replace(record, computed=False)
        spec = work.spec(record)
        if stored.snapshot:
            self._go_on(stored, spec)
        else:
            self.inputs.append(m.Arrive(spec))
        if stored.cancel:
            self.inputs.append(m.Cancel(record.id, record.cancel_asked_unix_s))

    def _go_on(self, stored: StoredJob, spec: m.JobSpec) -> None:
        """Recover a job that had begun, as far as its buffers are still there."""
        if stored.record.form:
            spec = dataclasses.replace(spec, application=select_form(spec.application, stored.record.form))
        prepared = bool(stored.snapshot.get("memory"))
        needs = needed(spec.application, spec.batch)
        # What a kernel in slices had done is not on record: it begins again.
        whole = spec.spread is None
        has_memory = whole and spec.needs_memory and prepared and self._buffers.complete(spec.id, needs)
        if spec.needs_memory and not has_memory:
            self._buffers.free(spec.id)
        graph = self._machine.graph(spec)
        job = restore_job(spec, graph, stored.record, stored.snapshot, has_memory)
        self._machine.adopt_job(job)
        if spec.needs_memory and prepared and not has_memory:
            self._begun_again.append(job)
        detail = "" if has_memory or not prepared else "its buffers were lost"
        self._notes.append(JobEvent(0, spec.id, spec.tenant, self._now_s, JobEventKind.RECOVERED, detail=detail))

    def _give_up(self, stored: StoredJob, cause: str, why: str) -> None:
        """End a job that cannot run any more."""
        record = stored.record.failed(self._now_s, cause, why)
        note = JobEvent(0, record.id, record.tenant, self._now_s, JobEventKind.STATE, record.state, detail=why)
        self._store.commit(Commit(jobs=((record, stored.snapshot),), events=(note,)))


def _adopt_slots(
    board: BoardPort,
    snapshots: Mapping[int, Mapping[str, Any]],
    state: BoardState,
    events: list[BoardEvent],
    modules: Mapping[str, str],
    machine: Machine,
    now_s: float,
    held: Mapping[int, str],
) -> None:
    """Recover every slot, as far as board and store agree."""
    for index, fresh in list(machine.slots.items()):
        actual = state.slots[index]
        known = dataclasses.replace(fresh, since_s=now_s, meter=SlotMeter())
        snapshot = snapshots.get(index)
        if snapshot:
            try:
                _reconcile(known, snapshot, actual, [e for e in events if e.slot == index], modules, machine)
            except (KeyError, TypeError, ValueError) as error:
                _log.error("what was kept of slot %d is damaged, and is passed over: %r", index, error)
                known = dataclasses.replace(fresh, since_s=now_s, meter=SlotMeter())
        if actual.phase is SlotPhase.LOADING and known.phase is not Phase.LOADING:
            known.phase = Phase.LOADING
        drives = actual.item != "" and held.get(index) == actual.item
        if actual.phase is SlotPhase.RUNNING and known.phase is not Phase.RUNNING and not drives:
            board.stop(index)
            known.forget_module()
        known.faulted = actual.phase is SlotPhase.FAULTED and known.phase is Phase.FREE
        machine.adopt_slot(known)


def _keep_slots(store: Store, snapshots: Mapping[int, Mapping[str, Any]], machine: Machine) -> None:
    """Write down the slots that are not as the store says.

    Else a load that was taken for lost, and reaches the board late, would pass at the next recovery for one that still
    goes on for its job, though the job has had its task in another slot since.
    """
    found = {index: machine.slots[index].snapshot() for index in snapshots if index in machine.slots}
    changed = {index: now for index, now in found.items() if _holder_of(now) != _holder_of(snapshots[index])}
    if changed:
        store.commit(Commit(slots=changed))


def _holder_of(snapshot: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(snapshot.get(name) for name in ("phase", "job", "task", "item"))


def _reconcile(
    slot: MachineSlot,
    snapshot: Mapping[str, Any],
    actual: SlotState,
    events: list[BoardEvent],
    modules: Mapping[str, str],
    machine: Machine,
) -> None:
    """Fill in a slot from its snapshot, where the board bears it out; see the table above."""
    phase, job, task, item = Phase(snapshot["phase"]), snapshot["job"], snapshot["task"], snapshot["item"]
    slot.feeds = snapshot.get("feeds") and tuple(snapshot["feeds"])
    same = _is_of(actual.image, snapshot["module"], modules)
    settled = actual.phase in (SlotPhase.IDLE, SlotPhase.RUNNING) and same
    owned = job in machine.jobs
    leaving = _leaving(slot, snapshot["leaving"])
    if phase is Phase.LOADING:
        # An event that comes late may be that of an earlier load, of something else.
        ended = any(e.kind in LOAD_EVENTS and _is_of(e.image, snapshot["module"], modules) for e in events)
        if ended or (actual.phase is SlotPhase.LOADING and same):
            slot.module, slot.tenant, slot.phase = snapshot["module"], snapshot["tenant"], Phase.LOADING
            slot.scrubbing = bool(snapshot.get("scrubbing"))
            if owned:
                slot.job, slot.task, slot.leaving = job, task, leaving
        return
    if phase is Phase.RUNNING and owned:
        name = item_name(job, task, item)
        if actual.item == name or any(event.item == name for event in events):
            slot.module, slot.tenant, slot.phase = snapshot["module"], snapshot["tenant"], Phase.RUNNING
            slot.job, slot.task, slot.item, slot.leaving = job, task, item, leaving
            return
    if not settled:
        return
    slot.module, slot.tenant = snapshot["module"], snapshot["tenant"]
    if phase in (Phase.HELD, Phase.RUNNING) and owned and actual.phase is SlotPhase.IDLE:
        slot.job, slot.task, slot.phase, slot.leaving = job, task, Phase.HELD, leaving


def _leaving(slot: MachineSlot, kept: object) -> PreemptReason | None:
    """Why a slot was being taken from its job. Earlier versions kept only whether it was."""
    if kept is not True:
        return None if kept in (None, False) else PreemptReason(kept)
    if slot.drained:
        return PreemptReason.DRAINED
    return PreemptReason.LEASED if slot.leased else PreemptReason.UNRECORDED


def _is_of(image: str, module: str, modules: Mapping[str, str]) -> bool:
    """Whether an image is of a module; one of a lease holder's own is in no list."""
    if module.startswith(OWN):
        return image != "" and image not in modules
    return modules.get(image) == module
