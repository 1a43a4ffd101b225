# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the server asks of leases: to open, extend and release them, and what their holders do with their slots."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import anyio

from eddy.board.port.pages import PAGE
from eddy.board.port.port import Buffer, RegisterAccess
from eddy.core.errors import Conflict, ImageRefused, InvalidRequest, QuotaExceeded
from eddy.core.leases import DEFAULT_BYTES, LeaseFigures, LeaseOptions, LeaseRecord, LeaseState
from eddy.core.slots import Image, Pool
from eddy.core.tenants import Quota
from eddy.core.units import format_bytes, format_duration
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.engine.engine_worker import EngineWorker
from eddy.hypervisor.engine.lease_keeper import MEMORY, LeaseKeeper
from eddy.hypervisor.jobs.slot import OWN
from eddy.hypervisor.leases.lease import LiveLease, item_of, lease_job
from eddy.policy.lease.first_come import LeaseView, expected_begin_s, queue_order

END_S = 5.0
"""Wall seconds for which a request that releases a lease waits for its end."""
MAX_PIECE_BYTES = 1 << 20
"""Bytes of memory that one request moves."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeaseStatus:
    """A lease as it stands.

    Attributes:
        record: What is kept of it.
        figures: How it stands now; None for one that has ended.
        expected_unix_s: When one that waits should begin; None where that is not known.
    """

    record: LeaseRecord
    figures: LeaseFigures | None = None
    expected_unix_s: float | None = None


class LeaseService:
    """Leases, for the event loop.

    Args:
        worker: Turns it; what is done on the board is done in its thread.
    """

    def __init__(self, engine: Engine, worker: EngineWorker) -> None:
        self._engine, self._worker = engine, worker
        self._turns: WeakKeyDictionary[LiveLease, asyncio.Lock] = WeakKeyDictionary()
        """One access of a lease at a time: a burst of one holder takes the board's thread from the others once."""

    @property
    def _keeper(self) -> LeaseKeeper:
        return self._engine.leases

    # What there is ------------------------------------------------------------------------------------------------

    def standing(self, record: LeaseRecord) -> LeaseStatus:
        """A lease as it stands now."""
        return self._standings([record])[0]

    def standings(self, tenant: str | None) -> tuple[LeaseStatus, ...]:
        """Leases of a tenant, or of all, oldest first."""
        return self._standings(self._engine.store.leases.all(tenant))

    def _standings(self, records: list[LeaseRecord] | tuple[LeaseRecord, ...]) -> tuple[LeaseStatus, ...]:
        if not self._worker.ready.is_set():
            return tuple(LeaseStatus(record) for record in records)
        view = replace(self._keeper.view(self._engine.machine), leases=self._engine.store.leases.open())
        order = [each.number for each in queue_order(view.leases)]
        live = {each.record.number: each for each in self._keeper.live}
        return tuple(self._standing(record, live.get(record.number), view, order) for record in records)

    def _standing(self, record: LeaseRecord, live: LiveLease | None, view: LeaseView, order: list[int]) -> LeaseStatus:
        if record.state.is_final:
            return LeaseStatus(record)
        place = order.index(record.number) + 1 if record.number in order else 0
        expected_s = expected_begin_s(view, record.number) if place else None
        if live is None:
            return LeaseStatus(record, LeaseFigures(place), expected_s)
        slots = self._engine.machine.slots
        modules = {slot: slots[slot].module if slot in live.held else "" for slot in record.slots}
        buffer = self._buffer(record) if live.memory else None
        figures = live.figures(place, 0 if buffer is None else buffer.address, modules, self._keeper.steady_s())
        return LeaseStatus(record, figures, expected_s)

    @property
    def idle_limit_s(self) -> float:
        """Wall seconds without a sign of its holder after which a lease ends."""
        return self._keeper.rules.idle_s

    def most_slots(self, slots: int) -> int:
        """Of so many slots that can be leased, how many are at once."""
        return self._keeper.rules.most_slots(slots)

    # Their life ---------------------------------------------------------------------------------------------------

    async def open(self, tenant: str, quota: Quota, options: LeaseOptions) -> LeaseRecord:
        """Ask for a lease; durable when this returns.

        Raises:
            InvalidRequest: No slot fits it, ever, or never has the board so much memory for one tenant.
            QuotaExceeded: The tenant has as many as it may, or none may last so long.
        """
        await self._worker.ready.wait()
        self._check_time(quota, options.lasts_s)
        pipeline = self._engine.machine.state.pools[Pool.PIPELINE]
        if not pipeline.slots:
            raise InvalidRequest("This board has no slot for accelerators; there is nothing to lease.", field="kind")
        if options.module and not pipeline.fits.get(options.module):
            known = sorted(name for name, images in pipeline.fits.items() if images)
            message = f"No slot of this board can be loaded with {options.module!r:.80}: `eddy slots` and"
            raise InvalidRequest(f"{message} `eddy apps` have what there is.", field="module", allowed=known[:50])
        most = self._engine.tenant_memory.most
        if not options.memory_bytes:
            options = replace(options, memory_bytes=min(DEFAULT_BYTES, most // 2 // PAGE * PAGE))
        if options.memory_bytes > most:
            message = (
                f"A lease may have {format_bytes(most)} of board memory, not {format_bytes(options.memory_bytes)}."
            )
            raise InvalidRequest(message, field="memory_bytes", asked=options.memory_bytes, allowed=most)
        return await self._worker.request(self._keeper.open, tenant, options, quota.max_leases)

    async def extend(self, name: str, quota: Quota, more_s: float) -> LeaseRecord:
        """Have a lease end later.

        Raises:
            NotFound: There is none of that id.
            QuotaExceeded: It would last longer than it may.
            Conflict: It is about to end.
        """
        return await self._worker.request(
            self._keeper.extend, name, more_s, lambda lasts_s: self._check_time(quota, lasts_s)
        )

    async def release(self, name: str, cause: str) -> None:
        """Have a lease end; it has ended when this returns, unless a load of its slot takes longer than `END_S`."""
        await self._worker.request(self._keeper.release, name, cause)
        record = self._engine.store.leases.get(name)
        await self._until(record, lambda: self._engine.store.leases.get(name).state.is_final, END_S)

    async def wait_until_settled(self, name: str, wait_s: float) -> None:
        """Return when a lease is active and nothing is loaded for it, when it has ended, or after that long."""

        def is_settled() -> bool:
            record = self._engine.store.leases.get(name)
            if record.state is LeaseState.ACTIVE:
                return all(not live.wanted for live in self._keeper.live if live.record.id == name)
            return record.state.is_final

        await self._until(self._engine.store.leases.get(name), is_settled, wait_s)

    def _check_time(self, quota: Quota, lasts_s: float) -> None:
        if lasts_s > quota.max_lease_s:
            asked, most = format_duration(lasts_s), format_duration(quota.max_lease_s)
            message = f"A lease of yours lasts {most} at most, not {asked}: ask the operator for more."
            raise QuotaExceeded(message, field="quota.max_lease_s", limit=quota.max_lease_s, asked=lasts_s)

    # What their holders do ----------------------------------------------------------------------------------------

    async def load(self, name: str, slot: int, module: str, wait_s: float) -> None:
        """Load a slot of a lease with a module; what was started in it ends.

        Raises:
            InvalidRequest: No image of the module is for that slot.
            Conflict: The slot is being loaded.
            BoardFault: The load failed; says why.
        """
        await self._worker.ready.wait()
        live = self._active(name, slot)
        fits = self._engine.machine.state.pools[Pool.PIPELINE].fits
        if slot not in fits.get(module, {}):
            known = sorted(each for each, images in fits.items() if slot in images)
            message = f"Slot {slot} cannot be loaded with {module!r:.80}."
            raise InvalidRequest(message, field="module", allowed=known[:50])
        await self._load(live, slot, module, wait_s)

    async def load_own(self, name: str, image: Image, read: Callable[[], Awaitable[bytes]], wait_s: float) -> None:
        """Load a slot of a lease with an image of its holder's own; what was started in it ends.

        Args:
            image: The image's manifest, which says for which slot it is.
            read: Reads its `.bit` file, once it is known that the slot takes one.
            wait_s: Wall seconds to wait for its end.

        Raises:
            ImageRefused: It may not go into the slot; says why. What is in the slot goes on.
            Conflict: The slot is being loaded.
            BoardFault: The load failed; says why.
        """
        await self._worker.ready.wait()
        live = self._active(name)
        if image.slot not in live.record.slots:
            mine = ", ".join(map(str, live.record.slots))
            message = f"Image {image.sha256[:12]} was built for slot {image.slot}; lease {name} holds {mine}."
            raise ImageRefused(message, reason="other-slot", asked=image.slot, achievable=list(live.record.slots))
        self._require_settled(live, image.slot)
        data = await read()

        def take() -> None:
            self._require_settled(live, image.slot)  # what is being loaded is read from where this would be kept
            self._engine.board.take_image(image, live.record.tenant, data)

        await self._turn(live, take)
        fits = self._engine.machine.state.pools[Pool.PIPELINE].fits
        offered = [name for name, images in fits.items() if images.get(image.slot) == image.sha256]
        if not offered:  # one that the board has, too, is the board's: its events name that module
            live.images[image.slot] = image.sha256
        await self._load(live, image.slot, offered[0] if offered else f"{OWN}{image.module}", wait_s)

    async def _load(self, live: LiveLease, slot: int, module: str, wait_s: float) -> None:
        self._require_settled(live, slot)
        live.said.pop(slot, None)
        live.wanted[slot] = module
        self._used(live)
        self._keeper.look_now()
        self._worker.wake()
        await self.wait_until_settled(live.record.id, wait_s)

    def _require_settled(self, live: LiveLease, slot: int) -> None:
        if live.wanted:
            raise Conflict(f"Slot {slot} of lease {live.record.id} is being loaded: wait for its end.", field="slot")

    async def access(self, name: str, slot: int, accesses: tuple[RegisterAccess, ...]) -> tuple[int, ...]:
        """Read and write registers of what a lease's slot holds; () only says that the holder is there.

        Raises:
            InvalidRequest: An access is outside the slot's window.
            Conflict: The slot holds nothing that could be driven; says why.
            BoardFault: An access was not answered, or refused; the slot is closed.
        """
        live = self._active(name, slot)
        self._used(live)
        if not accesses:
            return ()
        live.accesses += len(accesses)
        return await self._on_board(live, slot, self._engine.board.access, slot, item_of(live.record, slot), accesses)

    async def wait_interrupt(self, name: str, slot: int, wait_s: float) -> bool:
        """Wait for the next interrupt of what a lease's slot holds; answers whether it came within that long.

        Raises:
            Conflict: The slot holds nothing that could be driven, or was closed meanwhile.
        """
        live = self._active(name, slot)
        self._used(live)
        if slot not in live.rang and slot not in live.listening:
            live.listening.add(slot)
            try:
                await self._on_board(live, slot, self._engine.board.listen, slot, item_of(live.record, slot))
            except BaseException:
                live.listening.discard(slot)
                raise
        await self._until(live.record, lambda: slot in live.rang or slot not in live.held, wait_s)
        self._active(name, slot)
        came = slot in live.rang
        live.rang.discard(slot)
        if not came:
            live.listening.discard(slot)  # the board reports it all the same, and it is told to who asks next
        self._require_held(live, slot)
        return came

    async def read_memory(self, name: str, offset: int, size: int) -> bytes:
        """Bytes of a lease's memory, as modules left them.

        Raises:
            InvalidRequest: The range is not in it.
        """
        live = self._active(name)
        buffer = self._range(live, offset, size)
        return await self._turn(live, self._engine.board.read, buffer.id, offset, size)

    async def write_memory(self, name: str, offset: int, data: bytes) -> None:
        """Put bytes into a lease's memory, visible to modules from then on.

        Raises:
            InvalidRequest: The range is not in it.
        """
        live = self._active(name)
        buffer = self._range(live, offset, len(data))
        await self._turn(live, self._engine.board.write, buffer.id, offset, data)

    # Behind them --------------------------------------------------------------------------------------------------

    def _active(self, name: str, slot: int | None = None) -> LiveLease:
        live = self._keeper.get(name)
        if live.record.state is not LeaseState.ACTIVE:
            state = live.record.state.value
            raise Conflict(f"Lease {name} is {state}: nothing is driven yet.", field="lease", state=state)
        if slot is not None and slot not in live.record.slots:
            allowed = list(live.record.slots)
            raise InvalidRequest(f"Lease {name} does not hold slot {slot}.", field="slot", allowed=allowed)
        return live

    def _require_held(self, live: LiveLease, slot: int) -> None:
        if slot in live.held:
            return
        name, why = live.record.id, live.said.get(slot, "")
        if slot in live.wanted:
            raise Conflict(f"Slot {slot} of lease {name} is being loaded: wait for its end.", field="slot")
        closed = f"was closed ({why}): load it again" if why else "holds nothing: load a module first"
        raise Conflict(f"Slot {slot} of lease {name} {closed}.", field="slot", cause=why.partition(":")[0])

    def _range(self, live: LiveLease, offset: int, size: int) -> Buffer:
        most = live.record.options.memory_bytes
        if not (offset >= 0 and 0 <= size <= MAX_PIECE_BYTES and offset + size <= most):
            asked, held = format_bytes(size), format_bytes(most)
            message = f"{asked} at {offset} are not in the lease's {held}, or too much at once."
            allowed = f"0..{most}, {format_bytes(MAX_PIECE_BYTES)} at once"
            raise InvalidRequest(message, field="offset", allowed=allowed)
        self._used(live)
        live.bytes_moved += size
        return self._buffer(live.record)

    def _buffer(self, record: LeaseRecord) -> Buffer:
        return self._engine.buffers.find(lease_job(record.number), MEMORY)

    def _used(self, live: LiveLease) -> None:
        live.used_s = self._keeper.steady_s()

    async def _on_board(self, live: LiveLease, slot: int, call: Callable[..., T], *arguments: object) -> T:
        """Make a call about a slot that is held in the board's thread, and have the board's time go on."""
        self._require_held(live, slot)
        found = await self._turn(live, call, *arguments)
        self._worker.wake()
        return found

    async def _turn(self, live: LiveLease, call: Callable[..., T], *arguments: object) -> T:
        """Make a call in the board's thread, one of a lease at a time."""
        async with self._turns.setdefault(live, asyncio.Lock()):
            return await self._worker.on_board(call, *arguments)

    async def _until(self, record: LeaseRecord, is_over: Callable[[], bool], wait_s: float) -> None:
        """Wait for something that comes with what happens to a lease."""
        keeper, loop, came = self._keeper, asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            if is_over():
                loop.call_soon_threadsafe(came.set)

        keeper.follow(record.number, wake)
        try:
            if not is_over():
                with anyio.move_on_after(wait_s):
                    await came.wait()
        finally:
            keeper.leave(record.number, wake)
