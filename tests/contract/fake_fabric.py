# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A static region in plain Python, at the seam the board adapter works on: what the RTL does, without the RTL.

Every access takes 100 ns of its time, nothing happens but in accesses and waits, and memory has the worst cache there
is (`eddy_sim.boards.memory`). Modules write the word `MARK` to the address in registers 0x10 and 0x14, or misbehave, as
the simulated board's rogue modules do.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import numpy.typing as npt
from contract.fake_cluster import FakeCluster, Surroundings
from eddy.board.model.model_modules import cluster_shape
from eddy.board.overlay import ClusterControl
from eddy.board.port.clock import run_due
from eddy.board.port.port import Cause, MonitorCounters
from eddy.board.port.profile import Profile
from eddy.board.pynq.fabric import ClusterDriver, Fault, Identity, SlotFabric, StreamEnd, Window
from eddy.core.counters import MemoryUse
from eddy.core.slots import Control
from eddy_drivers.gpu_cluster import GpuCluster
from eddy_sim.boards.memory import CacheView
from eddy_sim.design import bitfile

ACCESS_S = 1e-7
ITEM_S = 1e-5
DONE_AFTER_S = 7.3e-3
"""How long a module rings in vain before it is done."""
MARK = (0x0123456789ABCDEF).to_bytes(8, "little")
SHELL = "00000000cafe0001"


class FakeTime:
    """Time that passes only when it is told to, and things that happen at a time."""

    free_running = False

    def __init__(self) -> None:
        self._now_s = 0.0
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self.port_bytes_per_s = 1e8

    def now_s(self) -> float:
        return self._now_s

    def at(self, time_s: float, what: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._agenda, (time_s, self._order, what))

    def access(self) -> None:
        self.run_to(self._now_s + ACCESS_S)

    def run_to(self, time_s: float) -> None:
        while self._agenda and self._agenda[0][0] <= time_s:
            at_s, _, what = heapq.heappop(self._agenda)
            self._now_s = max(self._now_s, at_s)
            what()
        self._now_s = max(self._now_s, time_s)

    def wait(self, until_s: float, loop: asyncio.AbstractEventLoop, bell: asyncio.Event) -> None:
        run_due(loop)
        while not bell.is_set() and self._now_s < until_s:
            if self._agenda and self._agenda[0][0] <= until_s:
                self.run_to(self._agenda[0][0])
            elif until_s < float("inf"):
                self.run_to(until_s)
            else:
                return
            run_due(loop)

    def start(self, work: Callable[[], None], done: Callable[[], None]) -> Future[None]:
        """The work is done at once; it looks done when the port would be."""
        future: Future[None] = Future()
        self.transferred = 0

        def finish() -> None:
            try:
                work()
            except OSError as error:
                future.set_exception(error)
            else:
                future.set_result(None)
            done()

        self.at(self._now_s + 2e-4, finish)
        return future


class FakeLine:
    def __init__(self, bell: asyncio.Event) -> None:
        self._bell = bell
        self._armed = self._fired = self._level = False
        self.held = False
        """High whatever the module does."""

    @property
    def level(self) -> bool:
        return self._level

    @level.setter
    def level(self, value: bool) -> None:
        self._level = value
        self._look()

    def arm(self) -> None:
        self._armed = True
        self._look()

    def take_interrupt(self) -> bool:
        fired, self._fired = self._fired, False
        return fired

    def forget(self) -> None:
        self._armed = False

    def _look(self) -> None:
        if self._armed and (self._level or self.held):
            self._armed, self._fired = False, True
            self._bell.set()


class FakeMemory:
    def __init__(self, profile: Profile) -> None:
        self.address = profile.arena.base
        self.cache = CacheView(profile.arena.base, profile.arena.bytes, coherent=False)
        # What the last owner of the machine left behind.
        self.cache.device[:] = 0xA5

    @property
    def bytes(self) -> npt.NDArray[np.uint8]:
        return self.cache.cpu

    def flush(self, start: int, end: int) -> None:
        self.cache.flush(self.address + start, end - start)

    def invalidate(self, start: int, end: int) -> None:
        self.cache.invalidate(self.address + start, end - start)


class FakeSlot:
    """Control bank, clocking wizard and module of one slot."""

    window_count = 16
    shares_cache = False

    def __init__(self, fabric: FakeFabric, index: int) -> None:
        self.fabric, self.index = fabric, index
        self.control_open = self.memory_open = self.running = self.quiet = False
        self.fenced = True
        self.windows: tuple[Window, ...] = ()
        self.locks = True
        self.has_clock = True
        self.drains = True
        self.memory_drains = True
        self.revoked = False
        self.behaviour = "empty"
        self.module = self.build = ""
        self.cluster: ClusterDriver | None = None
        self.registers: dict[int, int] = {}
        self.finished_flag = self.rings = False
        self._fault = Fault(Cause.NONE)
        self.counts = dict.fromkeys(MonitorCounters.__slots__, 0)
        self.uses: dict[int, MemoryUse] = {}
        self.done, self.fault_line = FakeLine(fabric.bell), FakeLine(fabric.bell)
        self.log: list[str] = []

    @property
    def reachable(self) -> tuple[Window, ...]:
        """What the slot may reach now."""
        return () if self.revoked else self.windows

    # Control bank

    def _note(self, what: str) -> None:
        self.fabric.time.access()
        self.log.append(what)

    def stop_memory(self) -> None:
        self._note("stop_memory")
        self.quiet = True

    def drained(self) -> bool:
        self.fabric.time.access()
        return self.drains

    def resume_memory(self) -> None:
        self._note("resume_memory")
        self.quiet = False

    def revoke(self) -> None:
        self._note("revoke")
        self.revoked = True

    def admit(self) -> None:
        self._note("admit")
        self.revoked = False

    def memory_drained(self) -> bool:
        self.fabric.time.access()
        assert self.revoked or self.quiet, "a yes must stay true"
        return self.memory_drains

    def decouple(self) -> None:
        self._note("decouple")
        self.control_open = self.memory_open = False
        self.done.level = False

    def hold_reset(self) -> None:
        self._note("hold_reset")
        self.running = False
        self.registers, self.finished_flag, self.rings = {}, False, False

    def release_reset(self) -> None:
        self._note("release_reset")
        self.running = True

    def open_control(self) -> None:
        self._note("open_control")
        self.control_open = True

    def open_memory(self) -> None:
        self._note("open_memory")
        self.memory_open, self.quiet, self.revoked = True, False, True

    def clock_running(self) -> bool:
        self.fabric.time.access()
        return self.has_clock

    def fault(self) -> Fault:
        self.fabric.time.access()
        return self._fault

    def clear_fault(self) -> None:
        self._note("clear_fault")
        self._fault = Fault(Cause.NONE)
        self.fault_line.level = False

    def set_windows(self, windows: tuple[Window, ...]) -> None:
        self._note("set_windows")
        self.windows = windows

    def open_stream(self, end: StreamEnd) -> None:
        raise AssertionError(f"{end} where there are no streams")

    def stream_fault(self) -> Fault:
        raise AssertionError("nothing to ask where there are no streams")

    def stop_receiving(self) -> None:
        raise AssertionError("nothing to end where there are no streams")

    def end_sending(self) -> None:
        raise AssertionError("nothing to end where there are no streams")

    def break_streams(self) -> None:
        self._note("break_streams")

    def clear_counters(self) -> None:
        self.counts = dict.fromkeys(MonitorCounters.__slots__, 0)

    def snapshot(self, context: int | None) -> MonitorCounters:
        del context
        return MonitorCounters(**self.counts)

    def memory_use(self, contexts: Sequence[int]) -> Mapping[int, MemoryUse]:
        self.fabric.time.access()
        return {context: self.uses.get(context, MemoryUse()) for context in contexts}

    # Clocking wizard

    def set_rate(self, hz: float) -> None:
        self._note("set_rate")
        if hz > 1e9:
            raise ValueError("too fast")
        self.set_hz = hz

    def rate_hz(self) -> float:
        self.fabric.time.access()
        return self.set_hz

    def locked(self) -> bool:
        self.fabric.time.access()
        return self.locks

    # Module

    def fence(self) -> None:
        self.fenced = True
        self.log.append("fence")

    def unfence(self) -> None:
        self.fenced = False
        self.log.append("unfence")

    def identity(self) -> Identity:
        self._note("identity")
        if not (self.control_open and self.running) or self.behaviour in ("empty", "garbage"):
            return Identity(0xDEAD0001, 0xDEAD, 0, 1, "dead0001dead0001")
        if self.behaviour == "dead":
            self.raise_fault(Cause.CONTROL_TIMEOUT, "control-timeout at register offset 0xf000")
            return Identity(0xDEAD0002, 0xDEAD, 0, 2, "dead0002dead0002")
        build = "0" * 16 if self.behaviour == "wrong-identity" else self.build
        if cluster_shape(self.module) is not None:
            self.bank = FakeCluster(self._surroundings())
            self.cluster = ClusterControl(GpuCluster(self.bank.description()), lambda: None)
            return Identity(0x45444459, 2, 1, 0, build)
        self.cluster = None
        return Identity(0x45444459, 9 if self.behaviour == "unknown-kind" else 1, 1, 0, build)

    def has_driver(self, identity: Identity) -> bool:
        return (identity.kind, identity.map_major) in ((1, 1), (2, 1))

    def quiesce(self) -> None:
        self._note("quiesce")
        if isinstance(self.cluster, ClusterControl):
            self.cluster.quiesce()

    def _surroundings(self) -> Surroundings:
        time, memory = self.fabric.time, self.fabric.memory

        def read(address: int, size: int) -> bytes:
            at = address - memory.address
            return memory.cache.device[at : at + size].tobytes()

        def load(address: int, context: int) -> None:
            self._outside(address, 1, context, Cause.READ_OUTSIDE_WINDOW)

        def interrupt(level: bool) -> None:
            self.done.level = level and self.control_open

        return Surroundings(
            access=time.access,
            at=lambda delay_s, what: time.at(time.now_s() + delay_s, what),
            read=read,
            store=self.store,
            load=load,
            interrupt=interrupt,
        )

    def read(self, offset: int) -> int:
        assert not self.fenced
        self._note(f"read {offset:#x}")
        return self.registers.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        assert not self.fenced
        self._note(f"write {offset:#x}")
        self.registers[offset] = value
        if offset == 0 and value & 1:
            self.start()

    def start(self) -> None:
        assert not self.fenced
        self._note("start")
        self.fabric.time.at(self.fabric.time.now_s() + ITEM_S, self._act)

    def unready_reason(self) -> str:
        assert not self.fenced
        self.fabric.time.access()
        return "it is done with a run before" if self.finished_flag else ""

    def is_at_rest(self) -> bool:
        self.fabric.time.access()
        return not self.finished_flag

    def finished(self, control: Control) -> bool:
        """Of the behaviour `chain`, what says done stays until it is let go by that protocol."""
        assert not self.fenced
        self.fabric.time.access()
        finished = self.finished_flag
        self.finished_flag = finished and self.behaviour == "chain" and control is not Control.CHAIN
        if finished:
            self.done.level = False
        return finished

    # What it does

    def raise_fault(self, cause: Cause, detail: str, context: int = 0, address: int = 0) -> None:
        if self._fault.cause is Cause.NONE:
            self._fault = Fault(cause, detail, context, address)
        self.fault_line.level = True

    def store(self, address: int, data: bytes, context: int = 0) -> None:
        """A write burst of the module, through the firewall."""
        if not self.memory_open or self.quiet:
            return
        if self._outside(address, len(data), context, Cause.WRITE_OUTSIDE_WINDOW):
            return
        at = address - self.fabric.memory.address
        self.fabric.memory.cache.device[at : at + len(data)] = np.frombuffer(data, np.uint8)
        self.counts["write_bytes"] += len(data)
        self.counts["write_requests"] += 1

    def _outside(self, address: int, size: int, context: int, cause: Cause) -> bool:
        """Whether a burst leaves every window of its context; if so, the fault is recorded."""
        first, last = address // 4096, (address + size - 1) // 4096
        read = cause is Cause.READ_OUTSIDE_WINDOW
        for window in self.reachable:
            allowed = window.contexts >> context & 1 and (window.read if read else window.write)
            if allowed and window.first_page <= first and last <= window.last_page:
                return False
        self.raise_fault(cause, f"{cause.value} at address {address:#x}, context {context}", context, address)
        return True

    def _act(self) -> None:
        if not self.running or self.behaviour == "hang":
            return
        if self.behaviour in ("interrupt", "toggle", "interrupt-then-done") and not self.rings:
            self.rings, self.done.level = True, self.control_open
            if self.behaviour == "interrupt-then-done":
                self.fabric.time.at(self.fabric.time.now_s() + DONE_AFTER_S, self._act)
            return
        self.store(self.registers.get(0x14, 0) << 32 | self.registers.get(0x10, 0), MARK)
        if self.behaviour == "write-outside":
            self.store(self.fabric.memory.address + 4096 * 1000, MARK)
        self.finished_flag = True
        self.done.level = self.control_open


class FakeFabric:
    """All of it. `next_load` says what comes up at the next download, as the simulated board's load faults do."""

    def __init__(self, profile: Profile, time: FakeTime | None = None) -> None:
        self.time = time or FakeTime()
        self.loop = asyncio.new_event_loop()
        self.bell = asyncio.Event()
        self.memory = FakeMemory(profile)
        self.models = [FakeSlot(self, index) for index in range(len(profile.slots))]
        self.slots = tuple(SlotFabric(m, m, m, m.done, m.fault_line) for m in self.models)
        self.next_load = "sound"
        self._error = False

    @property
    def shell(self) -> FakeFabric:
        return self

    def build(self) -> str:
        return SHELL

    def clear_configuration_status(self) -> None:
        self._error = False

    def configuration_error(self) -> bool:
        return self._error

    def download(self, region: str, file: Path) -> None:
        behaviour, self.next_load = self.next_load, "sound"
        slot = self.models[int(region.removeprefix("slot"))]
        # Whatever drives the boundary meanwhile must not get through: the slot has to be closed and in reset.
        assert not slot.control_open
        assert not slot.memory_open
        assert not slot.running
        slot.log.append("download")
        if behaviour == "refused":
            raise OSError("the port refused the image")
        identity = bitfile.identity_of(bitfile.read_bit(file)[1])
        slot.module, slot.build = identity.module, identity.build
        slot.behaviour = "garbage" if behaviour == "fails" else behaviour
        slot.has_clock = behaviour != "no-clock"
        self._error = behaviour == "fails"

    def close(self) -> None:
        for slot in self.slots:
            slot.done.forget()
            slot.fault.forget()
        self.loop.close()
