# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Between the board's words and the machine's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from eddy.board.port.port import BoardDescription, BoardEvent, EventKind
from eddy.core.counters import CoreCounters
from eddy.core.slots import Image, Pool
from eddy.hypervisor.jobs.messages import Configured, Input, ItemEnded, LoadFailed, SliceEnded
from eddy.hypervisor.jobs.messages import item_name as item_name
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.jobs.work import BoardOffer
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.slots.resident_images import ResidentImages
from eddy.packages.modules import no_check


def running_item_name(slot: MachineSlot) -> str:
    """What the item that runs in a slot is called, or "" where none does."""
    if slot.job is None or slot.task is None or slot.item is None:
        return ""
    return item_name(slot.job, slot.task, slot.item)


def to_input(event: BoardEvent, machine: Machine) -> Input | None:
    """What a board event means to the machine; None for one about something it no longer holds."""
    slot = machine.slots.get(event.slot)
    if slot is None or _of_earlier_load(event, slot, machine):
        return None
    if event.kind is EventKind.CONFIGURED:
        return Configured(event.slot, event.at_s, event.started_s)
    if event.kind is EventKind.CONFIGURATION_FAILED:
        return LoadFailed(event.slot, event.at_s, event.cause.value, event.detail)
    if event.item != running_item_name(slot):
        return _slice(event, machine)
    return ItemEnded(event.slot, event.at_s, event.started_s, event.cause, event.detail, _counters(event))


def _of_earlier_load(event: BoardEvent, slot: MachineSlot, machine: Machine) -> bool:
    """Whether an event says that another module came into a slot than the one that is awaited there."""
    if not event.image or not slot.module:
        return False
    pool = next(pool for pool in machine.state.pools.values() if slot.index in pool.slots)
    return any(images.get(slot.index) == event.image for name, images in pool.fits.items() if name != slot.module)


def _slice(event: BoardEvent, machine: Machine) -> SliceEnded | None:
    """The end of a slice of a kernel on one core; None for one that the machine no longer holds."""
    found = machine.clusters.find_slice(event.slot, event.item) if machine.clusters is not None else None
    if found is None:
        return None
    counters = _counters(event)
    return SliceEnded(
        event.slot,
        found.job,
        found.core,
        event.at_s,
        event.started_s,
        event.cause,
        event.detail,
        counters[0] if counters else None,
    )


def _counters(event: BoardEvent) -> tuple[CoreCounters, ...]:
    """What the cores of a cluster counted, in order of cores."""
    return tuple(report.counters for report in sorted(event.cores, key=lambda report: report.core))


def pool_slots(description: BoardDescription, pool: Pool) -> dict[int, float]:
    """The slots of a pool, with the load time to expect: image bytes over the port's rate."""
    rate = description.configuration_bytes_per_s
    return {s.index: s.image_bytes / rate for s in description.slots if s.pool is pool}


def make_resident_images(description: BoardDescription) -> ResidentImages:
    """The account of the images in a board's memory, which is empty at first."""
    rate, sizes = description.storage_bytes_per_s, {slot.index: slot.image_bytes for slot in description.slots}
    read_s = {index: size / rate if rate else 0.0 for index, size in sizes.items()}
    return ResidentImages(description.image_cache_bytes, sizes, read_s)


def pipeline_slots(description: BoardDescription) -> dict[int, float]:
    """The slots of the `pipeline` pool."""
    return pool_slots(description, Pool.PIPELINE)


def scrubbed_modules(images: Iterable[Image]) -> frozenset[str]:
    """Modules that may serve another tenant without a load: a reset scrubs every image of them that there is."""
    images = tuple(images)
    return frozenset(image.module for image in images) - {image.module for image in images if not image.scrubs}


def unchecked_modules(images: Iterable[Image]) -> frozenset[str]:
    """Modules of which an image holds a build that has no check on record."""
    return frozenset(image.module for image in images if not image.checked)


def index_images(images: Iterable[Image], slots: Iterable[int]) -> dict[str, dict[int, str]]:
    """Module to slot to image; of several images for the same module and slot, the last one listed."""
    wanted, found = set(slots), dict[str, dict[int, str]]()
    for image in images:
        if image.slot in wanted:
            found.setdefault(image.module, {})[image.slot] = image.sha256
    return found


def board_offer(
    description: BoardDescription,
    images: Iterable[Image],
    refused: Collection[str] = (),
    why: Callable[[str], str] = no_check,
) -> BoardOffer:
    """What a board has for jobs.

    Args:
        images: That it may load for them.
        refused: Modules that it has, and that are given to none: their builds have no check on record.
        why: Why one of these is given to none, as it is when it is asked.
    """
    pipeline, gpu = (index_images(images, pool_slots(description, pool)) for pool in (Pool.PIPELINE, Pool.GPU))
    slots = {module: len(held) for module, held in gpu.items()}
    return BoardOffer(description.arena_bytes, frozenset(pipeline), frozenset(gpu), slots, frozenset(refused), why)
