# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's whole fabric as a simulated board: registers through the processing system's port, memory behind another.

`WholeFabric` runs cocotb's side: clocks, wizards, what arrives at the configuration port. `FabricBoard` is the other
side, where the code for a real board runs in a thread: it has the calls of `eddy_sim.boards.board.SimBoard`, so a
`SimDevice` takes it for one. Time passes only while that thread waits for a call to be answered.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import cocotb
import numpy as np
import numpy.typing as npt
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, FallingEdge, First, ReadOnly, Timer, ValueChange
from eddy.board.port.profile import Profile
from eddy_drivers.regs import window
from eddy_sim.boards.board import StopReason
from eddy_sim.boards.memory import CacheView
from eddy_sim.design import bitfile

SHELL_PS, PORT_PS = 10_000, 5_000
LOCK_NS = 300
"""Time a wizard takes to lock."""
NOISE, SOUND, HOSTILE = 0, 1, 2
"""What a slot holds (slot_contents.sv)."""
IMAGE_LEAD = 12
"""Words of an image before its synchronisation word."""


class WholeFabric:
    """Clocks and resets of the fabric, and what a device would do with an image."""

    def __init__(self, dut: Any, slots: int) -> None:
        top = dut.u_zynqmp
        self.ps, self.icap, self.engine_busy = top.u_ps.u_ps8, top.u_ps.u_icap, top.engine_busy
        self.port_clock = top.u_port_clock
        places = [getattr(top, f"gen_slots[{k}]") for k in range(slots)]
        self.wizards = [place.u_clock for place in places]
        self.contents = [place.u_slot.u_contents for place in places]
        self.clocks: list[Clock] = []
        self.loads: list[bytes] = []
        """Payloads that came in, as in their files."""
        self.builds: dict[str, str] = {}
        """What images may bring: module to build."""
        self.changed = Event()
        self.happened = StopReason.NONE

    async def start(self) -> None:
        """Clocks, then the reset of the processing system."""
        self.ps.pl_rst_n.value = 0
        self.ps.go.value = 0
        Clock(self.ps.pl_clk, SHELL_PS, "ps").start()
        await Timer(600, "ps")
        Clock(self.port_clock.clk, PORT_PS, "ps").start()
        for k, wizard in enumerate(self.wizards):
            wizard.is_locked.value = 1
            # Out of step with one another.
            self.clocks.append(Clock(wizard.clk, SHELL_PS, "ps"))
            await Timer(1700, "ps")
            self.clocks[k].start()
            cocotb.start_soon(self._wizard(k))
        await ClockCycles(self.ps.pl_clk, 60)
        await FallingEdge(self.ps.pl_clk)
        self.ps.pl_rst_n.value = 1
        for watch in (self._images(), self._watch(self.ps.irq, 1, StopReason.IRQ)):
            cocotb.start_soon(watch)
        cocotb.start_soon(self._watch(self.engine_busy, 0, StopReason.CONFIG))
        # `ps_hp` takes nothing in the first 64 cycles.
        await ClockCycles(self.ps.pl_clk, 80)

    async def _wizard(self, slot: int) -> None:
        """PG065: the output stops, and is locked again some time later at what the registers say."""
        wizard = self.wizards[slot]
        while True:
            await ValueChange(wizard.changes)
            await ReadOnly()
            feedback, divide = int(wizard.feedback.value), int(wizard.divide.value)
            multiply = (feedback >> 8 & 0xFF) / (feedback & 0xFF)
            period_ps = SHELL_PS * ((divide & 0xFF) + (divide >> 8 & 0x3FF) / 1000) / multiply
            await Timer(40, "ns")
            self.stop_clock(slot)
            wizard.is_locked.value = 0
            await Timer(LOCK_NS, "ns")
            self.clocks[slot] = Clock(wizard.clk, 2 * round(period_ps / 2), "ps")
            self.clocks[slot].start()
            wizard.is_locked.value = 1

    def stop_clock(self, slot: int) -> None:
        """Stop a slot's clock, low."""
        self.clocks[slot].stop()
        self.wizards[slot].clk.value = 0

    async def _images(self) -> None:
        """What the frames of an image are after its end: a module, where the image is one of this bench's."""
        while True:
            await ValueChange(self.icap.images)
            first, last = int(self.icap.sync_at.value) - IMAGE_LEAD, int(self.icap.count.value)
            body = b"".join(int(self.icap.words[at].value).to_bytes(4, "big") for at in range(first, last))
            self.loads.append(body)
            found = bitfile.identity_of(body)
            sound = bitfile.crc_ok(body) and self.builds.get(found.module) == found.build
            self.contents[found.slot].holds.value = SOUND if sound else NOISE

    async def _watch(self, signal: Any, value: int, what: StopReason) -> None:
        while True:
            await ValueChange(signal)
            if int(signal.value) == value:
                self.happened |= what
                self.changed.set()

    async def access(self, write: bool, address: int, words: list[int], count: int, id: int) -> tuple[list[int], int]:
        """A burst of register accesses of the processing system; the words read, and the worst answer."""
        ps = self.ps
        ps.is_write.value, ps.address.value, ps.length.value, ps.id.value = int(write), address, count - 1, id
        for index, word in enumerate(words):
            ps.words[index].value = word
        ps.go.value = 1 - int(ps.go.value)
        await ValueChange(ps.done)
        await ReadOnly()
        read = [] if write else [int(ps.words[index].value) for index in range(count)]
        answer = int(ps.answer.value)
        await FallingEdge(ps.pl_clk)
        return read, answer

    async def poke(self, address: int, data: bytes) -> None:
        """Put whole words of 64 bits into memory."""
        for index in range(0, len(data), 8):
            self.ps.memory[(address + index) // 8].value = int.from_bytes(data[index : index + 8], "little")
        await FallingEdge(self.ps.pl_clk)

    def peek(self, address: int, length: int) -> bytes:
        """Whole words of 64 bits of memory."""
        places = range(address // 8, (address + length) // 8)
        return b"".join(int(self.ps.memory[at].value).to_bytes(8, "little") for at in places)

    async def step(self, until_ps: float, stop_on: StopReason) -> StopReason:
        """Let time pass, as `SimBoard.step_until`."""
        while True:
            told = self.happened & stop_on
            left_ps = until_ps - cocotb.utils.get_sim_time("ps")
            if told or left_ps <= 0:
                self.happened &= ~told
                return told or StopReason.DEADLINE
            self.changed.clear()
            await First(Timer(max(1, round(left_ps)), "ps"), self.changed.wait())

    async def ask(self, slot: int, address: int, write: bool = False, beats: int = 1, context: int = 0) -> int:
        """A burst of a hostile module; what it is answered."""
        inside = self.contents[slot]
        inside.address.value, inside.length.value = address, beats - 1
        inside.is_write.value, inside.memory_context.value = int(write), context
        inside.holds.value = HOSTILE
        await FallingEdge(self.wizards[slot].clk)
        inside.go.value = 1 - int(inside.go.value)
        await First(ValueChange(inside.done), Timer(200, "us"))
        await FallingEdge(self.wizards[slot].clk)
        assert int(inside.done.value) == int(inside.go.value), "the module's request was never answered"
        return int(inside.answer.value)

    async def periods(self) -> list[float]:
        """Nanoseconds between edges of each slot's clock, over a microsecond; infinite where it stands still."""
        before = [int(inside.ticks.value) for inside in self.contents]
        await Timer(2000, "ns")
        ticks = [int(inside.ticks.value) - was for inside, was in zip(self.contents, before, strict=True)]
        return [2000 / count if count else float("inf") for count in ticks]


class FabricBoard:
    """The simulated board as a `SimDevice` asks for it; every call may come from any thread but cocotb's.

    Args:
        fabric: Cocotb's side.
        profile: What the board is.
    """

    def __init__(self, fabric: WholeFabric, profile: Profile) -> None:
        self._fabric, self.profile, self.dram_base = fabric, profile, profile.dram.base
        self._cache = CacheView(profile.dram.base, profile.dram.bytes, False, None)
        self._calls: queue.SimpleQueue[tuple[Callable[[], Awaitable[Any]], queue.SimpleQueue[Any]] | None]
        self._calls = queue.SimpleQueue()
        self._id = 0
        self.load_error = ""

    async def run(self, work: Callable[[], None]) -> None:
        """Let a thread do its work, answering its calls; what it raises comes out here."""
        failed: list[BaseException] = []

        def worked() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)
            self._calls.put(None)

        thread = threading.Thread(target=worked, name="board", daemon=True)
        thread.start()
        while (call := self._calls.get()) is not None:
            make, reply = call
            try:
                reply.put((await make(), None))
            except BaseException as error:
                reply.put((None, error))
        thread.join()
        if failed:
            raise failed[0]

    def do(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine of cocotb's, and wait for it."""
        reply: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._calls.put((make, reply))
        value, error = reply.get()
        if error is not None:
            raise error
        return value

    def attach(self, sink: object) -> None:
        """Nothing: the bench knows its images."""

    def burst(self, offset: int, count: int) -> list[int]:
        """Read registers that lie side by side, by one burst."""
        words, answer = self._access(False, offset, [], count)
        assert answer == 0
        return words

    def read32(self, offset: int) -> int:
        """Read a register."""
        words, answer = self._access(False, offset, [], 1)
        assert answer == 0, f"a read of {offset:#x} was answered with {answer}"
        return words[0]

    def write32(self, offset: int, value: int) -> None:
        """Write a register."""
        _, answer = self._access(True, offset, [value], 1)
        assert answer == 0, f"a write of {offset:#x} was answered with {answer}"

    def _access(self, write: bool, offset: int, words: list[int], count: int) -> tuple[list[int], int]:
        # Ids of 16 bits, another one each time.
        self._id = (self._id * 40503 + 12345) & 0xFFFF
        answer: tuple[list[int], int] = self.do(
            lambda: self._fabric.access(write, window.BASE + offset, words, count, self._id)
        )
        return answer

    @property
    def dram(self) -> npt.NDArray[np.uint8]:
        """Memory as the processor's cache shows it."""
        return self._cache.cpu

    @property
    def device_dram(self) -> npt.NDArray[np.uint8]:
        """Memory as it was when it was last looked at."""
        return self._cache.device

    def flush(self, address: int, length: int) -> None:
        """Write lines back, to where the fabric sees them."""
        self._cache.flush(address, length)
        first, last = address // 64 * 64, -(-(address + length) // 64) * 64
        lines = self._cache.device[first - self.dram_base : last - self.dram_base].tobytes()
        self.do(lambda: self._fabric.poke(first, lines))

    def invalidate(self, address: int, length: int) -> None:
        """Drop lines, so that what the fabric wrote is seen."""
        first, last = address // 64 * 64, -(-(address + length) // 64) * 64
        lines = self.do(lambda: _at_once(lambda: self._fabric.peek(first, last - first)))
        self._cache.device[first - self.dram_base : last - self.dram_base] = np.frombuffer(lines, np.uint8)
        self._cache.invalidate(address, length)

    @property
    def now_s(self) -> float:
        """Seconds since the start of the simulation."""
        return float(self.do(lambda: _at_once(lambda: cocotb.utils.get_sim_time("ps")))) * 1e-12

    @property
    def irq(self) -> bool:
        """Level of pl_ps_irq0 at the processing system."""
        return bool(self.do(lambda: _at_once(lambda: int(self._fabric.ps.irq.value))))

    @property
    def config_busy(self) -> bool:
        """Whether the engine has a load under way."""
        return bool(self.do(lambda: _at_once(lambda: int(self._fabric.engine_busy.value))))

    def step_until(self, deadline_s: float, stop_on: StopReason = StopReason.NONE) -> StopReason:
        """Let time pass until a time, or until something happens."""
        stop: StopReason = self.do(lambda: self._fabric.step(deadline_s * 1e12, stop_on))
        return stop

    def reset(self) -> None:
        """A full image is what the simulation began with."""


async def _at_once(look: Callable[[], Any]) -> Any:
    return look()
