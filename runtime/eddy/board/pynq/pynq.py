# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The board behind PYNQ: the same lines for a real board and for RTL in Verilator, but for two calls (`overlay.py`).

`PynqBoard` implements `BoardPort` over a `Fabric` (the drivers of a configured overlay) and a `Clock`. It never blocks
but in `wait`, and in the bounded polls of the swap. One thread calls it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path

from eddy.board.images.images import ImageStore
from eddy.board.images.signing import Trust
from eddy.board.images.tenant_images import TenantImages
from eddy.board.port.clock import Clock
from eddy.board.port.events import EventLog
from eddy.board.port.held import check_accesses, check_held
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
from eddy.board.pynq.arena import Arena
from eddy.board.pynq.check_bypass import CheckBypass
from eddy.board.pynq.fabric import Fabric
from eddy.board.pynq.slot import (
    BoardSlot,
    buffer_in_use_error,
    check_launch,
    holder_of,
    make_held_runner,
    resettable_image,
    slot_busy_error,
    slot_state,
)
from eddy.board.pynq.slot_loader import SlotLoader
from eddy.board.pynq.slot_service import SlotService
from eddy.board.pynq.slot_steps import SlotSteps, closed_slots
from eddy.core.counters import SharingCounters
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.core.slots import Image


class PynqBoard:
    """A board under PYNQ.

    Args:
        fabric: Drivers of the configured static region; every slot of it is closed first.
        clock: Board time.
        profile: What the board is.
        store: The images it can load.
        trust: Whose signatures count.
        first_seq: Number of the first event.
        preparer: Whether the board can load a module, by its name; the simulated board builds the module's model first.
    """

    def __init__(
        self,
        fabric: Fabric,
        clock: Clock,
        profile: Profile,
        store: ImageStore,
        trust: Trust,
        first_seq: int = 0,
        preparer: Callable[[str], Preparation] = lambda module: READY,
    ) -> None:
        if len(fabric.slots) != len(profile.slots):
            raise InvalidRequest(
                f"profile {profile.name} has {len(profile.slots)} slots, the shell on the board has"
                f" {len(fabric.slots)}; start with the profile the overlay was built from",
                field="profile",
            )
        self._fabric, self._clock, self._profile, self._store, self._trust = fabric, clock, profile, store, trust
        self._preparer = preparer
        self._tenants = TenantImages(trust)
        self._arena = Arena(fabric.memory)
        self._steps = SlotSteps(fabric, clock)
        self._slots = closed_slots(fabric, clock, self._arena, self._steps)
        self._log = EventLog(first_seq)
        self._loads = SlotLoader(fabric, self._slots, self._steps, self._arena, self._log)
        self._service = SlotService(fabric, clock, self._slots, self._steps, self._loads, self._log)
        self._shell = fabric.shell.build()
        self._released = False

    # What the board is, and how it stands

    @property
    def clock(self) -> Clock:
        """Board time."""
        return self._clock

    def describe(self) -> BoardDescription:
        """Say what the board is."""
        return self._profile.description(self._shell, self._arena.size, self._trust.required)

    def state(self) -> BoardState:
        """Say what is loaded, what runs, and which buffers are whose."""
        return BoardState(
            now_s=self._clock.now_s(),
            next_seq=self._log.next_seq,
            slots=tuple(slot_state(index, slot) for index, slot in enumerate(self._slots)),
            buffers=self._arena.buffers(),
        )

    def now_s(self) -> float:
        """Board time in seconds."""
        return self._clock.now_s()

    def counters(self, slot: int, context: int | None = None) -> SlotCounters:
        """Read a slot's monitor."""
        if context is not None and not 0 <= context < 16:
            raise InvalidRequest(f"there is no context {context}", field="context", allowed="0..15, or none for all")
        found = self._slot(slot).hardware.control.snapshot(context)
        return SlotCounters(slot=slot, context=context, **dataclasses.asdict(found))

    def sharing(self, slot: int) -> SharingCounters:
        """What items did on a slot, by account; see the port."""
        target = self._slot(slot)
        running = () if target.runner is None else target.runner.running_counters()
        accounts = target.accounts.read(running)
        return SharingCounters(slot, self._clock.now_s(), target.held.clk_hz if target.held else 0.0, accounts)

    # Images

    def images(self) -> tuple[Image, ...]:
        """The images the board can load."""
        return tuple(
            self._trust.strip_unproven_claims(image) for image in self._store.images() if image.shell == self._shell
        )

    def take_image(self, image: Image, tenant: str, data: bytes) -> None:
        """Keep an image of a tenant's own in memory, to be loaded into its slot; see the port."""
        self._slot(image.slot)
        self._tenants.take(image, tenant, data, self._profile.slots[image.slot], self._shell)

    def prefetch(self, image: str) -> None:
        """Bring an image into the board's memory ahead of its load; a hint, never an error."""
        self._store.prefetch(image)

    def read_ahead(self, images: tuple[str, ...]) -> None:
        """Bring images into the board's memory while nothing else is to be read; a hint, never an error."""
        self._store.read_ahead(images)

    def prepare(self, module: str) -> Preparation:
        """Begin what the loads of a module need beforehand, and say how that stands."""
        own = self._tenants.file_of(module)
        return self._preparer(module if own is None else str(own))

    def load(self, slot: int, image: str) -> None:
        """Check an image, close the slot, and start the download; the rest happens in `wait`."""
        found, file = self._admit(slot, image)
        self._loads.begin(slot, found, self._trust.strip_unproven_claims(found), file, self._profile.slots[slot].region)

    def past_checks(self) -> CheckBypass:
        """What `eddy board-test` does past the checks, for whoever has the board in its own process."""
        regions = [slot.region for slot in self._profile.slots]
        return CheckBypass(self._fabric, self._slots, self._loads, regions, self._admit)

    def scrub(self, slot: int) -> None:
        """Close an idle slot, reset what it holds, and open it again, for another tenant."""
        self._loads.scrub(slot, resettable_image(slot, self._slot(slot)))

    # Items

    def launch(self, slot: int, launch: Launch) -> None:
        """Open what is granted and start the item, beside those that run where the module takes several."""
        target = self._slot(slot)
        if target.runner is None or not target.can_start_item:
            raise slot_busy_error(slot, target)
        check_launch(launch, (running.item for each in self._slots for running in each.launches))
        check_streams(slot, launch, self._profile.streams, len(self._slots))
        if launch.held:
            check_held(slot, launch)
            target.runner = make_held_runner(slot, target, self._clock, self._arena)
        self._service.start(slot, launch)

    def access(self, slot: int, item: str, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Read and write registers of a module that an item holds, in order; see the port."""
        check_accesses(accesses)
        return self._service.access(slot, holder_of(slot, self._slot(slot), item), accesses)

    def listen(self, slot: int, item: str) -> None:
        """Have the next interrupt of a module that an item holds reported, once."""
        holder_of(slot, self._slot(slot), item).listen()

    def stop(self, slot: int, item: str = "") -> None:
        """Stop what a slot runs, or the one item: `ITEM_FAILED` with cause `STOPPED`. Nothing where it does not run."""
        self._slot(slot)
        self._service.stop(slot, item)

    def close(self, slot: int) -> None:
        """Close a slot: decouple, hold reset; an item it runs is stopped. What it held must be loaded again."""
        target = self._slot(slot)
        if self._loads.slot == slot:
            raise Conflict(f"slot {slot} is being loaded; wait for the load to end", field="slot")
        self.stop(slot)
        self._steps.force_close(target, SlotPhase.EMPTY)

    def wait(self, until_s: float, acknowledge: int = -1) -> tuple[BoardEvent, ...]:
        """Events not yet acknowledged, in order, once there is one; or () at board time `until_s`."""
        self._log.acknowledge(acknowledge)
        self._service.wait_and_service(min(until_s, self._clock.now_s()))
        while not self._log.kept() and self._clock.now_s() < until_s:
            if until_s == float("inf") and not self.busy:
                break  # nothing is under way: nothing would ever come
            self._service.wait_and_service(until_s)
        return self._log.kept()

    def advance(self, until_s: float) -> None:
        """Let board time pass for a caller that is not there: items finish, limits hold, events are kept."""
        self._service.wait_and_service(until_s)

    @property
    def busy(self) -> bool:
        """Whether an item runs or a slot is being loaded; what is only held open may stand still."""
        items = (launch for slot in self._slots for launch in slot.launches)
        return self._loads.slot is not None or any(not launch.held for launch in items)

    def report_lost(self, slot: int, item: str = "", image: str = "") -> None:
        """Record that an item, or a load, was lost with the process that had the board before."""
        now_s = self._clock.now_s()
        kind = EventKind.ITEM_FAILED if item else EventKind.CONFIGURATION_FAILED
        detail = "the process that owned the board ended; the slot was closed"
        cause = Cause.BOARD_RESTARTED
        self._log.add(kind, slot, at_s=now_s, started_s=now_s, item=item, image=image, cause=cause, detail=detail)

    # Memory

    def allocate(self, bytes: int, owner: str) -> Buffer:
        """Reserve a scrubbed buffer."""
        return self._arena.allocate(bytes, owner)

    def free(self, buffer: int) -> None:
        """Give a buffer back; it is scrubbed before anyone else gets it."""
        self._arena.get(buffer)
        for index, slot in enumerate(self._slots):
            for launch in slot.launches:
                if any(grant.buffer == buffer for grant in launch.grants):
                    raise buffer_in_use_error(buffer, index, launch)
            slot.gate.settle()
        # Loans end with the items; the pages of one that could not be ended stay nobody's until it has.
        self._arena.free(buffer)

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Copy bytes into a buffer, visible to modules launched afterwards."""
        self._arena.write(buffer, offset, data)

    def read(self, buffer: int, offset: int, bytes: int) -> bytes:
        """Copy bytes out of a buffer, as modules that have finished left them."""
        return self._arena.read(buffer, offset, bytes)

    def release(self) -> None:
        """Close every slot; see the port."""
        if self._released:
            return
        self._released = True
        with contextlib.ExitStack() as ending:
            # Whatever goes wrong with one of them, the others are closed all the same.
            ending.callback(self._store.close)
            ending.callback(self._tenants.close)
            ending.callback(self._fabric.close)
            for index, slot in enumerate(self._slots):
                if self._loads.slot != index:
                    ending.callback(self._steps.force_close, slot, SlotPhase.EMPTY)
            ending.callback(self._loads.abandon)

    # Behind the calls

    def _admit(self, slot: int, image: str) -> tuple[Image, Path]:
        """An image that may be loaded into a slot now, and its checked copy."""
        target = self._slot(slot)
        # One that the board offers is loaded as the board has it, whatever a tenant's manifest says of the same file.
        own = None if self._store.knows(image) else self._tenants.find(image, slot)
        admitted = own or self._store.admit(image, self._profile.slots[slot], self._shell, self._trust)
        if self._loads.slot is not None:
            raise Conflict(f"slot {self._loads.slot} is being loaded; one load at a time", field="slot")
        if target.launches:
            item = target.launches[0].item
            message = f"slot {slot} runs an item; stop it or wait for it before you load the slot"
            raise Conflict(message, field="slot", item=item)
        return admitted

    def _slot(self, index: int) -> BoardSlot:
        if not 0 <= index < len(self._slots):
            raise NotFound(f"no slot {index}", field="slot", allowed=f"0..{len(self._slots) - 1}")
        return self._slots[index]
