# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The `model` board: discrete events in virtual time behind the board port.

Nothing is computed that was not asked for: an item takes what a table says, a load takes a storage read and a transfer
through the configuration port, memory is real bytes or only booked. Time stands still but in `wait` and, where loads
block, in `load`. The same calls in the same order give the same events, times and addresses.

A kernel that says how many work-groups it runs takes `SLICE_S` and so many times what the table says a group takes.

A module whose name says that it is a GPU cluster (`cluster_shape`), or that the board was told is one, takes kernels:
they take the time the latency table says, and report cycles of that time and nothing counted. A board that is given
clusters to compute with has them work on the kernel's memory when it is launched, and reports what they counted.

An accelerator that is held has the registers of Xilinx HLS, its runs take what the table says, and its caller is never
counted as gone: virtual time may leap over any limit between two of its calls.

It is calibrated from the `rtl` board or from measurements on a real one (item latencies per task or module, load times
per slot); where a profile is all there is, loads take image bytes over the profile's two rates.
"""

from __future__ import annotations

import heapq
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from eddy.board.images.signing import Trust
from eddy.board.images.tenant_images import check_own_image
from eddy.board.model.model_forecast import Latency, ModelFaults, ModelForecast
from eddy.board.model.model_held import ModelHold
from eddy.board.model.model_images import ImageReads, LoadTime, model_images
from eddy.board.model.model_items import ModelItems
from eddy.board.model.model_memory import ModelMemory
from eddy.board.model.model_modules import Behaviour, Clusters, Usage, cores_only
from eddy.board.model.model_slot import ModelSlot
from eddy.board.port.events import EventLog
from eddy.board.port.held import check_accesses
from eddy.board.port.port import (
    READY,
    BoardDescription,
    BoardEvent,
    BoardState,
    Buffer,
    Cause,
    EventKind,
    Launch,
    Preparation,
    RegisterAccess,
    SlotCounters,
    SlotPhase,
)
from eddy.board.port.profile import Profile
from eddy.board.port.streams import check_streams
from eddy.core.counters import SharingCounters
from eddy.core.errors import Conflict, ImageRefused, NotFound
from eddy.core.slots import Image
from eddy.gpu.programs.shape import ClusterShape


class Agenda:
    """Planned ends in order of time; of those at one time, in the order in which they were planned."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._last = 0

    def plan(self, at_s: float, slot: int) -> int:
        """Plan an end in a slot.

        Returns:
            Its number, from 1; no two have the same.
        """
        self._last += 1
        heapq.heappush(self._heap, (at_s, self._last, slot))
        return self._last

    def reserve(self) -> int:
        """A number for something that has no planned end."""
        self._last += 1
        return self._last

    def next_s(self) -> float | None:
        """When the next one is; None where none is planned."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, until_s: float) -> Iterator[tuple[float, int, int]]:
        """Take out what is due, those planned meanwhile included: time, number and slot of each."""
        while self._heap and self._heap[0][0] <= until_s:
            yield heapq.heappop(self._heap)


class ModelEvents:
    """Virtual time, and the log of what ended in it.

    Args:
        slots: By index.
        items: End items.
        forecast: Says which loads fail.

    Attributes:
        now_s: Virtual time; it moves in `wait` and `advance` alone.
        log: What ended.
    """

    def __init__(self, slots: Sequence[ModelSlot], items: ModelItems, forecast: ModelForecast) -> None:
        self._slots, self._items, self._forecast = slots, items, forecast
        self._agenda = Agenda()
        self.log = EventLog()
        self.now_s = 0.0

    def plan(self, at_s: float, slot: int) -> int:
        """Plan the end of a load or an item; answers its number. One that is never is not planned."""
        return self._agenda.plan(at_s, slot) if at_s < inf else self._agenda.reserve()

    def ring(self, slot: int, state: ModelSlot) -> None:
        """Report the interrupt of a module that is held, where it is up and somebody listens."""
        if state.hold is not None and state.hold.take_interrupt():
            item = state.hold.launch.item
            self.log.add(EventKind.INTERRUPT, slot, at_s=self.now_s, started_s=self.now_s, item=item)

    def wait(self, until_s: float) -> tuple[BoardEvent, ...]:
        """Let time pass until there is an event that is not acknowledged, or to `until_s`.

        Where nothing is under way and `until_s` is infinite, time stands still and the answer is ().
        """
        self.advance(self.now_s)
        while not self.log.kept() and (next_s := self._agenda.next_s()) is not None and next_s <= until_s:
            self.advance(next_s)
        events = self.log.kept()
        if not events and self.now_s < until_s < inf:
            self.now_s = until_s
        return events

    def advance(self, until_s: float) -> None:
        """Let everything happen that is due, and time pass."""
        for at_s, number, slot in self._agenda.take_due(until_s):
            state = self._slots[slot]
            runs = state.hold is not None and number == state.hold.run
            if number != state.load and number not in state.items and not runs:
                continue
            self.now_s = max(self.now_s, at_s)
            if runs:
                self._items.finish_run(slot, state, at_s, self.log)
                self.ring(slot, state)
            elif number == state.load:
                self._end_load(slot, state, at_s)
            else:
                self._items.finish(slot, state, number, at_s, self.log)
        self.now_s = max(self.now_s, until_s)

    def _end_load(self, slot: int, state: ModelSlot, at_s: float) -> None:
        image, started_s = state.image, state.since_s
        if self._forecast.load_fails():
            state.enter(SlotPhase.EMPTY, at_s)
            kind, cause = EventKind.CONFIGURATION_FAILED, Cause.CONFIGURATION_ERROR
            detail = "the configuration port reported an error"
            self.log.add(kind, slot, at_s=at_s, started_s=started_s, image=image, cause=cause, detail=detail)
            return
        state.enter(SlotPhase.IDLE, at_s, image=image)
        state.count_from(at_s)
        self.log.add(EventKind.CONFIGURED, slot, at_s=at_s, started_s=started_s, image=image)


__all__ = ["SCRUB_S", "SHELL", "Latency", "LoadTime", "ModelBoard", "ModelFaults"]

SHELL = "0" * 16
"""Identity of the modelled shell."""
SCRUB_S = 10e-6
"""What it takes to close, reset and open a slot: register accesses, as measured on the `rtl` board."""


class ModelBoard:
    """A board in virtual time; see the module.

    Args:
        description: What it is.
        images: What it can load.
        latency: Seconds an item takes.
        load_times: By slot; slots left out take their image's bytes over the description's port rate, from memory.
        blocking: Whether `load` returns only when the load has ended, as a bare-metal hypervisor's does.
        cache_bytes: Memory for images: an image loaded or fetched before needs no storage read while it stays in.
        real_memory: Whether buffers hold bytes; otherwise they are only booked, and reads give zeros.
        behaviours: By module; what an item does to its buffers when it ends. Needs `real_memory`.
        faults: What goes wrong.
        clusters: Which modules are GPU clusters of which shape, beside those whose names say so.
        usage: What kernels execute and ask of memory; they only occupy their cores unless said otherwise.
        trust: Whose signatures count for images of tenants' own; of such an image only its manifest's module means
            anything here.
        computing: What computes kernels, in their region's place, when they are launched; None where they only take
            their time. Needs `real_memory`.
    """

    def __init__(
        self,
        description: BoardDescription,
        images: Iterable[Image],
        latency: Latency,
        *,
        load_times: Mapping[int, LoadTime] | None = None,
        blocking: bool = False,
        cache_bytes: int = 0,
        real_memory: bool = True,
        behaviours: Mapping[str, Behaviour] | None = None,
        faults: ModelFaults | None = None,
        clusters: Mapping[str, ClusterShape] | None = None,
        usage: Usage = cores_only,
        trust: Trust = Trust(False),  # noqa: B008 - frozen
        computing: Clusters | None = None,
    ) -> None:
        self._description = description
        self._offered = {image.sha256: image for image in images}
        self._own: dict[str, Image] = {}
        self._images = ChainMap(self._offered, self._own)
        self._trust = trust
        self._reads = ImageReads(description, load_times or {}, cache_bytes)
        self._forecast = ModelForecast(latency, faults or ModelFaults())
        self._blocking = blocking
        self._arena = ModelMemory(0x4000_0000, description.arena_bytes, real_memory)
        self._slots = [ModelSlot() for _ in description.slots]
        self._items = ModelItems(
            self._images, dict(clusters or {}), self._forecast, dict(behaviours or {}), usage, self._arena, computing
        )
        self._events = ModelEvents(self._slots, self._items, self._forecast)

    @classmethod
    def from_profile(
        cls,
        profile: Profile,
        modules: Iterable[str],
        latency: Latency,
        scrubbed: Collection[str] = (),
        unchecked: Collection[str] = (),
        **options: object,
    ) -> ModelBoard:
        """A board of a profile, with an image of every module for every slot.

        Args:
            profile: What it is.
            modules: Names of the modules to have images of.
            latency: Seconds an item takes.
            scrubbed: Modules that a reset makes clean for another tenant.
            unchecked: Modules that have no check on record.
            options: As the constructor takes them; `load_times` and `cache_bytes` come from the profile where they are
                left out.
        """
        described = profile.description(SHELL, profile.arena.bytes, requires_signature=False)
        computes, computes_kernels = bool(options.get("behaviours")), options.get("computing") is not None
        description = replace(described, board="model", computes=computes, computes_kernels=computes_kernels)
        port = profile.configuration
        rate = port.storage_bytes_per_s
        times = {
            s.index: LoadTime(s.image_bytes / rate if rate else 0.0, s.image_bytes / port.bytes_per_s)
            for s in profile.slots
        }
        options.setdefault("load_times", times)
        options.setdefault("cache_bytes", profile.configuration.image_cache_bytes)
        images = model_images(description, modules, scrubbed, unchecked)
        return cls(description, images, latency, **options)  # type: ignore[arg-type]

    # What it is and holds -----------------------------------------------------------------------------------------

    def describe(self) -> BoardDescription:
        """Say what the board is."""
        return self._description

    def state(self) -> BoardState:
        """Say what is loaded, what runs, and which buffers are whose."""
        slots = tuple(slot.shown(index) for index, slot in enumerate(self._slots))
        return BoardState(self._events.now_s, self._events.log.next_seq, slots, self._arena.buffers())

    def inject(self, faults: ModelFaults) -> None:
        """Have other things go wrong from now on."""
        self._forecast.faults = faults

    def now_s(self) -> float:
        """Virtual time."""
        return self._events.now_s

    def images(self) -> tuple[Image, ...]:
        """The images the board can load."""
        return tuple(self._offered.values())

    def take_image(self, image: Image, tenant: str, data: bytes) -> None:
        """Keep an image of a tenant's own, to be loaded into its slot; see the port.

        Raises:
            ImageRefused: It failed a check, or is of a module that the model has no figures of.
        """
        self._slot(image.slot)
        slot, shell = self._description.slots[image.slot], self._description.shell
        check_own_image(self._trust, image, tenant, data, slot, shell)
        if not self._forecast.knows(image.module):
            message = f"this board models times, and has none of {image.module}: such an image needs RTL or a board"
            raise ImageRefused(message, reason="unknown-module")
        held = {state.image for state in self._slots}
        for sha256 in [sha256 for sha256, each in self._own.items() if each.slot == image.slot and sha256 not in held]:
            del self._own[sha256]
        self._own[image.sha256] = replace(image, scrub_build="")

    # Loads --------------------------------------------------------------------------------------------------------

    def load(self, slot: int, image: str) -> None:
        """Start a load; see the port."""
        state, known = self._slot(slot), self._images.get(image)
        if known is None:
            raise ImageRefused(f"no image {image}: `images` lists what there is", image=image)
        if known.slot != slot:
            raise ImageRefused(f"image {image[:12]} is for slot {known.slot}, not {slot}", image=image, slot=slot)
        if any(s.phase is SlotPhase.LOADING for s in self._slots):
            raise Conflict("the configuration port is busy: wait for its event", slot=slot)
        if state.phase is SlotPhase.RUNNING:
            item = next(iter(state.items.values())).launch.item
            raise Conflict(f"slot {slot} runs an item: wait for it, or stop it", slot=slot, item=item)
        ends_s = self._reads.in_memory_s(known, self._events.now_s) + self._reads.load_time(slot).port_s
        state.enter(SlotPhase.LOADING, self._events.now_s, image=image)
        state.load = self._events.plan(ends_s, slot)
        if self._blocking:
            self._events.advance(ends_s)

    def prepare(self, module: str) -> Preparation:
        """Nothing: a module is a name here."""
        return READY

    def scrub(self, slot: int) -> None:
        """Reset what an idle slot holds; see the port. It takes what the swap's steps do, and time passes meanwhile."""
        state = self._slot(slot)
        if state.phase is not SlotPhase.IDLE:
            raise Conflict(f"slot {slot} is {state.phase.value}, not idle", slot=slot)
        held = self._images[state.image]
        if not held.scrubs:
            message = f"that a reset scrubs {held.module} was not verified; load slot {slot} again for another tenant"
            raise ImageRefused(message, reason="not-scrubbed", slot=slot)
        started_s = self._events.now_s
        state.phase = SlotPhase.LOADING
        self._events.advance(started_s + SCRUB_S)
        state.enter(SlotPhase.IDLE, self._events.now_s, image=held.sha256)
        state.count_from(self._events.now_s)
        now_s = self._events.now_s
        self._events.log.add(EventKind.CONFIGURED, slot, at_s=now_s, started_s=started_s, image=held.sha256)

    def prefetch(self, image: str) -> None:
        """Read an image from storage ahead of its load, where there is memory to keep it."""
        known = self._images.get(image)
        if known is not None:
            self._reads.prefetch(known, self._events.now_s)

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Read images from storage while it has nothing else to do; see the port."""
        known = (self._images[image] for image in images if image in self._images)
        self._reads.read_ahead(known, self._events.now_s)

    # Items --------------------------------------------------------------------------------------------------------

    def launch(self, slot: int, launch: Launch) -> None:
        """Start an item; see the port."""
        state = self._slot(slot)
        check_streams(slot, launch, self._description.streams, len(self._slots))
        item, takes_s = self._items.begin(slot, state, launch, self._events.now_s)
        number = self._events.plan(self._events.now_s + takes_s, slot)
        state.enter(SlotPhase.RUNNING, self._events.now_s, state.image, items=state.items)
        state.items[number] = item
        state.hold = ModelHold(number, launch, self._events.now_s) if launch.held else None

    def access(self, slot: int, item: str, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Read and write registers of a module that an item holds; see the port. No fault comes of them here."""
        check_accesses(accesses)
        state = self._slot(slot)
        hold, found = state.holder_of(slot, item), []
        for access in accesses:
            value, begins = hold.access(access)
            if value is not None:
                found.append(value)
            if begins:
                ends_s = self._events.now_s + self._items.run_s(slot, state)
                hold.run = self._events.plan(ends_s, slot)
        return tuple(found)

    def listen(self, slot: int, item: str) -> None:
        """Have the next interrupt of a module that an item holds reported; see the port."""
        state = self._slot(slot)
        state.holder_of(slot, item).listens = True
        self._events.ring(slot, state)

    def stop(self, slot: int, item: str = "") -> None:
        """Stop what a slot runs, or one of its items; nothing where it does not run."""
        state = self._slot(slot)
        for number, running in list(state.items.items()):
            if item in ("", running.launch.item):
                now_s, why = self._events.now_s, "stopped on request"
                self._items.fail(slot, state, number, now_s, Cause.STOPPED, why, self._events.log)

    def close(self, slot: int) -> None:
        """Close a slot; see the port."""
        self.stop(slot)
        state = self._slot(slot)
        if state.phase is SlotPhase.LOADING:
            raise Conflict(f"slot {slot} is being loaded: wait for its event", slot=slot)
        state.enter(SlotPhase.EMPTY, self._events.now_s)

    def release(self) -> None:
        """Close every slot, a load under way with it; see the port."""
        for state in self._slots:
            state.enter(SlotPhase.EMPTY, self._events.now_s)

    # Time ---------------------------------------------------------------------------------------------------------

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """Events not yet acknowledged, time passing until there is one; see the port.

        Where nothing is under way and `until_s` is infinite, time stands still and the answer is ().
        """
        self._events.log.acknowledge(acknowledge)
        return self._events.wait(until_s)

    # Counters and memory ------------------------------------------------------------------------------------------

    def counters(self, slot: int, context: int | None = None) -> SlotCounters:
        """A slot's counters: granted bytes of finished items, in requests of `BURST_BYTES`; stalls are not modelled."""
        state = self._slot(slot)
        return state.counters(slot, context, self._events.now_s, self._description.clk_hz)

    def sharing(self, slot: int) -> SharingCounters:
        """What kernels did on a slot, by account: as `usage` says, up to now."""
        state = self._slot(slot)
        clk_hz = self._images[state.image].clk_hz if state.image else 0.0
        accounts = self._items.accounts(state, self._events.now_s)
        return SharingCounters(slot, self._events.now_s, clk_hz, tuple(sorted(accounts.items())))

    def allocate(self, bytes: int, owner: str) -> Buffer:
        """Reserve a scrubbed buffer; see the port."""
        return self._arena.allocate(bytes, owner)

    def free(self, buffer: int) -> None:
        """Give a buffer back; see the port."""
        for index, state in enumerate(self._slots):
            grants = (grant for item in state.items.values() for grant in item.launch.grants)
            if any(grant.buffer == buffer for grant in grants):
                raise Conflict(f"buffer {buffer} is used by the item that runs in slot {index}", slot=index)
        self._arena.free(buffer)

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer."""
        self._arena.write(buffer, offset, data)

    def read(self, buffer: int, offset: int, bytes: int) -> bytes:
        """Copy bytes out of a buffer."""
        return self._arena.read(buffer, offset, bytes)

    def _slot(self, slot: int) -> ModelSlot:
        if not 0 <= slot < len(self._slots):
            raise NotFound(f"no slot {slot}: this board has 0 to {len(self._slots) - 1}", field="slot", asked=slot)
        return self._slots[slot]
