"""Taking up jobs and slots after a crash of the hypervisor, or a new life of the board.

The store says what was decided, the board says what is. Where they differ, a crash fell between the commit and the
command, or the board began anew. The board's state is read before its events: an item or load that had ended by then
has left an event, so one that neither runs nor left an event was never started.

=================== ============================= ==========================================================
the store says      the board says                then
=================== ============================= ==========================================================
slot is loading     loading, or an event is left  it goes on loading; the event ends it
..                  neither                       the load was never begun: the slot is free
slot runs an item   running it, or an event       it goes on running; the event ends it
..                  idle, same module             the item was never launched: it is launched
slot is held        idle, same module             it is held
anything            anything else                 the slot is free, and what is in it is not trusted
job has its buffers all of them are there         it goes on
..                  some are missing              they are freed; it begins again after its last committed item
                                                  (a kernel, which updates its arrays in place: from its first slice)
=================== ============================= ==========================================================

An item that runs for nobody is stopped; buffers of jobs that ended, or are not known, are freed.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eddy.board.port import BoardEvent, BoardState, Cause, EventKind, SlotPhase, SlotState
from eddy.core.applications import Application
from eddy.core.errors import BoardUnreachable, EddyError, StorageDamaged, StorageFailed
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, What
from eddy.core.slots import Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.buffers import needed
from eddy.hypervisor.job import Job
from eddy.hypervisor.kernels import available
from eddy.hypervisor.machine import Machine
from eddy.hypervisor.pools import PoolSlots
from eddy.hypervisor.slot import Phase, Slot
from eddy.hypervisor.translate import fits, item_name, pool_slots, scrubbed_modules
from eddy.store.rows import Commit, StoredJob

if TYPE_CHECKING:
    from eddy.hypervisor.engine import Engine

_log = logging.getLogger(__name__)
LOAD_EVENTS = (EventKind.CONFIGURED, EventKind.CONFIGURATION_FAILED)


def recover(engine: Engine) -> list[m.Input]:
    """Build the engine's machine anew from store and board; answers its first inputs."""
    board = engine.board
    engine.description = board.describe()
    state = board.state()
    _set_clock(engine, state)
    events = [e for e in board.wait(state.now_s, engine.seen) if e.seq > engine.seen]
    slots, gpu = (pool_slots(engine.description, pool) for pool in (Pool.PIPELINE, Pool.GPU))
    images = board.images()
    engine.admission.arena = engine.kernels.arena = engine.description.arena_bytes
    engine.admission.available = frozenset(fits(images, slots))
    engine.kernels.available = available(fits(images, gpu), engine.modules)
    shared = PoolSlots(gpu, engine.gpu_policy) if gpu else None
    known = fits(images, [*slots, *gpu])
    engine.machine = Machine(slots, engine.policy, known, scrubbed_modules(images), gpu=shared)
    modules = {image.sha256: image.module for image in images}
    engine.buffers.adopt(state.buffers)
    inputs = _adopt_jobs(engine)
    _adopt_slots(engine, state, [e for e in events if e.cause is not Cause.BOARD_RESTARTED], modules)
    if any(event.cause is Cause.BOARD_RESTARTED for event in events):
        engine.seen = max(event.seq for event in events)
    for number in engine.buffers.jobs():
        if number not in engine.machine.jobs:
            engine.buffers.free(number)
    return [m.Resume(), *inputs]


def _set_clock(engine: Engine, state: BoardState) -> None:
    """Go on counting where the last life stopped, if the board's clock or events began anew."""
    store = engine.store
    engine.seen = int(store.meta("seen", "-1"))
    engine.offset_s = float(store.meta("offset_s", "0"))
    last_s = float(store.meta("now_s", "0"))
    if engine.seen >= state.next_seq:
        engine.seen = -1
    if state.now_s + engine.offset_s < last_s:
        engine.offset_s = last_s - state.now_s
    engine.now_s = state.now_s + engine.offset_s


def _adopt_jobs(engine: Engine) -> list[m.Input]:
    """Take up every job that has not ended; answers the cancellations that are still due."""
    inputs: list[m.Input] = []
    notes: list[JobEvent] = []
    for stored in engine.store.unfinished():
        record = stored.record
        application, reason = _application(engine, stored)
        if application is None or reason:
            _give_up(engine, stored, "application-gone", f"{record.kind} {record.application}: {reason}")
            continue
        if _must_wait(engine, stored, application):
            continue
        try:
            notes += _adopt_job(engine, stored, application)
        except (BoardUnreachable, StorageFailed):
            raise
        except Exception as error:
            _log.exception("job %d cannot be taken up again", record.id)
            _give_up(engine, stored, Cause.INTERNAL_ERROR.value, f"{type(error).__name__}: {error}")
            continue
        engine.requests[record.id], engine.submitted[record.id] = stored.request, record.submitted_unix_s
        if stored.cancel:
            inputs.append(m.Cancel(record.id))
    if notes:
        engine.store.commit(Commit(events=tuple(notes)))
    return inputs


def _must_wait(engine: Engine, stored: StoredJob, application: Application) -> bool:
    """Whether the board must make something before a job that has not begun can; then it arrives when that is done."""
    from eddy.hypervisor.engine import job_spec

    record = stored.record
    if stored.snapshot or stored.cancel or not engine.hold(m.Arrive(job_spec(record, application))):
        return False
    engine.requests[record.id], engine.submitted[record.id] = stored.request, record.submitted_unix_s
    return True


def _application(engine: Engine, stored: StoredJob) -> tuple[Application | None, str]:
    """What a job runs, or why it cannot any more."""
    record = stored.record
    if record.kernel is None:
        application = engine.applications.get(record.application)
        reason = "it is not installed any more" if application is None else engine.admission.runnable(application)
        return application, reason
    try:
        plan = engine.kernels.restore(stored.request, record.kernel, engine.store.program(record.id))
    except EddyError as error:
        if isinstance(error, StorageFailed) and not isinstance(error, StorageDamaged):
            raise
        return None, error.message
    engine.kernels.keep(record.id, plan)
    return plan.application, ""


def _adopt_job(engine: Engine, stored: StoredJob, application: Application) -> list[JobEvent]:
    """Take up a job as far as its buffers are still there; answers what is to be noted of it."""
    from eddy.hypervisor.engine import job_spec

    record, machine, needs_memory = stored.record, engine.machine, application.buffers != ()
    spec = job_spec(record, application)
    prepared = bool(stored.snapshot.get("memory"))
    has_memory = needs_memory and prepared and engine.buffers.complete(record.id, needed(application, record.batch))
    if needs_memory and not has_memory:
        engine.buffers.free(record.id)
    machine.adopt_job(Job.restore(spec, machine.graph(spec), record, stored.snapshot, has_memory))
    if not stored.snapshot:
        return []
    detail = "" if has_memory or not prepared else "its buffers were lost"
    return [JobEvent(0, record.id, record.tenant, engine.now_s, What.RECOVERED, detail=detail)]


def _give_up(engine: Engine, stored: StoredJob, cause: str, why: str) -> None:
    """End a job that cannot run any more."""
    record = dataclasses.replace(stored.record, state=JobState.FAILED, ended_s=engine.now_s, cause=cause, detail=why)
    note = JobEvent(0, record.id, record.tenant, engine.now_s, What.STATE, JobState.FAILED, detail=why)
    engine.store.commit(Commit(jobs=((record, stored.snapshot),), events=(note,)))


def _adopt_slots(engine: Engine, state: BoardState, events: list[BoardEvent], modules: Mapping[str, str]) -> None:
    """Take up every slot, as far as board and store agree."""
    snapshots = engine.store.slot_snapshots()
    for index, fresh in list(engine.machine.slots.items()):
        actual = state.slots[index]
        known = Slot(index, fresh.load_s, since_s=engine.now_s)
        snapshot = snapshots.get(index)
        if snapshot is not None:
            _reconcile(known, snapshot, actual, [e for e in events if e.slot == index], modules, engine.machine)
        if actual.phase is SlotPhase.LOADING and known.phase is not Phase.LOADING:
            known.phase = Phase.LOADING
        if actual.phase is SlotPhase.RUNNING and known.phase is not Phase.RUNNING:
            engine.board.stop(index)
            known.distrust()
        known.faulted = actual.phase is SlotPhase.FAULTED and known.phase is Phase.FREE
        engine.machine.adopt_slot(known)


def _reconcile(
    slot: Slot,
    snapshot: Mapping[str, Any],
    actual: SlotState,
    events: list[BoardEvent],
    modules: Mapping[str, str],
    machine: Machine,
) -> None:
    """Fill in a slot from its snapshot, where the board bears it out; see the table above."""
    phase, job, task, item = Phase(snapshot["phase"]), snapshot["job"], snapshot["task"], snapshot["item"]
    same = modules.get(actual.image) == snapshot["module"]
    settled = actual.phase in (SlotPhase.IDLE, SlotPhase.RUNNING) and same
    owned = job in machine.jobs
    if phase is Phase.LOADING:
        if (actual.phase is SlotPhase.LOADING and same) or any(e.kind in LOAD_EVENTS for e in events):
            slot.module, slot.tenant, slot.phase = snapshot["module"], snapshot["tenant"], Phase.LOADING
            slot.scrubbing = bool(snapshot.get("scrubbing"))
            if owned:
                slot.job, slot.task, slot.leaving = job, task, snapshot["leaving"]
        return
    if phase is Phase.RUNNING and owned:
        name = item_name(job, task, item)
        if actual.item == name or any(event.item == name for event in events):
            slot.module, slot.tenant, slot.phase = snapshot["module"], snapshot["tenant"], Phase.RUNNING
            slot.job, slot.task, slot.item, slot.leaving = job, task, item, snapshot["leaving"]
            return
    if not settled:
        return
    slot.module, slot.tenant = snapshot["module"], snapshot["tenant"]
    if phase in (Phase.HELD, Phase.RUNNING) and owned and actual.phase is SlotPhase.IDLE:
        slot.job, slot.task, slot.phase, slot.leaving = job, task, Phase.HELD, snapshot["leaving"]
