"""What the engine says: what a board offers, what its slots do, and why something went wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from eddy.board.port import BoardDescription, Cause
from eddy.core.errors import Conflict, EddyError, StorageFailed
from eddy.core.records import SlotStatus
from eddy.core.slots import Image, Pool
from eddy.hypervisor import messages as m
from eddy.hypervisor.machine import Machine
from eddy.hypervisor.slot import Phase
from eddy.hypervisor.translate import fits, pool_slots
from eddy.hypervisor.work import Offer
from eddy.store.files import DamagedFile

_log = logging.getLogger(__name__)


def offered(description: BoardDescription, images: Iterable[Image]) -> Offer:
    """What a board has for jobs."""
    pipeline, gpu = (fits(images, pool_slots(description, pool)) for pool in (Pool.PIPELINE, Pool.GPU))
    slots = {module: len(held) for module, held in gpu.items()}
    return Offer(description.arena_bytes, frozenset(pipeline), frozenset(gpu), slots)


def slot_statuses(description: BoardDescription, machine: Machine) -> tuple[SlotStatus, ...]:
    """What every slot does, for people; slots nobody decides about are named only."""
    found = []
    for slot in description.slots:
        known = machine.slots.get(slot.index)
        if known is None:
            found.append(SlotStatus(slot.index, slot.pool.value, slot.region))
            continue
        free = "faulted" if known.faulted else "idle" if known.module else "empty"
        phase = {Phase.FREE: free, Phase.HELD: "waiting"}.get(known.phase, known.phase.value)
        found.append(
            SlotStatus(
                slot=slot.index,
                pool=slot.pool.value,
                region=slot.region,
                module=known.module,
                tenant=known.tenant,
                job=known.job,
                task=known.task,
                item=known.item,
                phase=phase,
                since_s=known.since_s,
                charged=True,
            )
        )
    return tuple(found)


def explain(error: Exception, doing: str) -> tuple[str, str]:
    """The code and the sentence an error is booked under; one that nobody foresaw goes to the log with its traceback.

    Args:
        error: Any error but `BoardUnreachable`.
        doing: What was being done.
    """
    if isinstance(error, DamagedFile):
        _log.error("%s (%s)", error.message, error.path, extra={"code": error.code, "path": str(error.path)})
    if isinstance(error, StorageFailed):  # where the data lies is no tenant's matter
        _log.error("storage, in %s: %s", doing, error.message, extra={"code": error.code})
        return error.code, "the server cannot read or keep its data; its log has the cause"
    if isinstance(error, EddyError):
        return error.code, error.message
    _log.error("unforeseen error in %s", doing, exc_info=error)
    what = error.strerror if isinstance(error, OSError) else error
    return Cause.INTERNAL_ERROR.value, f"{type(error).__name__}: {what}"


def stall(machine: Machine) -> str:
    """Why no job gets a slot although nothing runs: drained slots, with what brings them back, or the policies."""
    said = []
    for name in sorted({job.spec.pool for job in machine.jobs.values()}, key=lambda pool: pool.value):
        pool = machine.state.pools.get(name)
        if pool is None:
            slots, who = [slot.index for slot in machine.clusters.slots] if machine.clusters else [], "the price policy"
        else:
            slots, who = list(pool.slots), f"the policy {pool.policy.name}"
        drained = [index for index in slots if machine.slots[index].drained]
        if slots and len(drained) == len(slots):
            because, again = machine.slots[drained[0]].drained, f"`eddy undrain {drained[0]}` brings one back"
            said.append(f"every slot of pool {name.value} is drained ({because}); {again}")
        else:
            beside = f", and slots {', '.join(map(str, drained))} are drained" if drained else ""
            said.append(f"{who} gives jobs of pool {name.value} none{beside}")
    return "; ".join(said)


def cause_of(error: Exception) -> Cause:
    """The cause an item ends with: the board's own, where the error names one."""
    if not isinstance(error, EddyError):
        return Cause.INTERNAL_ERROR
    try:
        return Cause(error.details.get("cause", ""))
    except ValueError:
        return Cause.CONTROL_REFUSED


def not_launched(command: m.LaunchItem, error: Exception, now_s: float, why: str) -> m.ItemEnded | m.SliceEnded:
    """What the machine is told of a launch that raised an error; the slot may have closed under a slice."""
    if isinstance(command, m.LaunchSlice):
        bounced = isinstance(error, Conflict)
        ended = command.slot, command.job, command.core, now_s, now_s
        return m.SliceEnded(*ended, cause_of(error), why, bounced=bounced)
    return m.ItemEnded(command.slot, now_s, now_s, cause_of(error), why)


def not_stopped(
    command: m.StopItem, machine: Machine, cause: Cause, now_s: float, why: str
) -> m.ItemEnded | m.SliceEnded:
    """What the machine is told of a stop that raised an error: what was to be stopped is over for it."""
    found = machine.clusters.slice_named(command.slot, command.item) if machine.clusters is not None else None
    if found is not None:
        return m.SliceEnded(command.slot, found.job, found.core, now_s, now_s, cause, why)
    return m.ItemEnded(command.slot, now_s, now_s, cause, why)
