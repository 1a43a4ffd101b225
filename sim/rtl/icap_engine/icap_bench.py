# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An engine with a memory and a port around it, driven cycle by cycle, on a clock of the shell and one of the port."""

from __future__ import annotations

import os
import random
import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer
from eddy_drivers.regs import icap_engine as regs
from eddy_drivers.regs.base import Register
from eddy_sim.boards.icape3 import DESYNC, SYNC, WRITE_CMD, Icape3
from eddy_sim.design.axi_fields import AX

BASE = 0x4000_0000
NOOP = 0x20000000
SHELL_PS = 10_000
PORT_PS = int(os.environ.get("EDDY_BENCH_PORT_PS", "5000"))
"""Periods of the two clocks; an even number of picoseconds."""
PORT_CYCLES = SHELL_PS / PORT_PS
"""Cycles of the port's clock in one of the shell's."""


def fields_of(word: int) -> dict[str, int]:
    values = {}
    for name, width in reversed(AX):
        values[name] = word & (1 << width) - 1
        word >>= width
    return values


def packed(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def image(rng: random.Random, words: int) -> list[int]:
    """So many words that a device takes for a partial image: runs and words of their own between both ends."""
    body: list[int] = []
    while len(body) < words - 6:
        length = rng.choice((1, 2, 5, 40))
        kind = rng.randrange(3)
        same = rng.getrandbits(31)
        body += [0 if kind == 0 else same if kind == 1 else rng.getrandbits(31) for _ in range(length)]
    return [0xFFFFFFFF, SYNC, *body[: words - 6], NOOP, WRITE_CMD, DESYNC, NOOP]


@dataclass
class Flow:
    """How often memory takes a request and gives a beat, and how many cycles a beat needs at least."""

    take: float = 1.0
    give: float = 1.0
    latency: int = 20


@dataclass
class Memory:
    """What is read, and how it answers.

    Attributes:
        data: From `BASE` on.
        error: The beat that comes with an error, by ordinal.
        silent: From which beat on nothing comes.
    """

    data: bytes = b""
    error: int | None = None
    silent: int | None = None
    flow: Flow = field(default_factory=Flow)
    asked: list[tuple[int, int]] = field(default_factory=list)
    beats: int = 0
    most_owed: int = 0


class Bench:
    """Registers, memory and port of one engine."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.memory, self.port = Memory(), Icape3()
        self.owed: deque[tuple[int, int, bool]] = deque()
        self.cycle = 0
        self.held: int | None = None
        # Handles that each of a hundred thousand cycles asks.
        self._edge, self._ar_valid_o, self._ar_o = FallingEdge(dut.clk_i), dut.ar_valid_o, dut.ar_o
        self._r_valid_i, self._r_i, self._ar_ready_i = dut.r_valid_i, dut.r_i, dut.ar_ready_i

    async def start(self) -> None:
        dut = self.dut
        for name in ("sel_i", "write_i", "addr_i", "wdata_i", "wstrb_i", "ar_ready_i", "r_i", "r_valid_i", "o_i"):
            getattr(dut, name).value = 0
        dut.avail_i.value, dut.prdone_i.value, dut.prerror_i.value = 1, 1, 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, SHELL_PS, "ps").start()
        self.port_clock = Clock(dut.port_clk_i, PORT_PS, "ps")
        # Out of step with the shell's.
        await Timer(self.rng.randrange(0, PORT_PS, 2) + 2, "ps")
        self.port_clock.start()
        cocotb.start_soon(self._port())
        await ClockCycles(dut.clk_i, 4)
        await ClockCycles(dut.port_clk_i, 4)
        await FallingEdge(dut.clk_i)
        assert (dut.csib_o.value, dut.rdwrb_o.value, dut.ar_valid_o.value, dut.irq_o.value) == (1, 1, 0, 0)
        dut.rst_ni.value = 1
        # Both sides leave their reset.
        for _ in range(12 + round(12 / PORT_CYCLES)):
            await self.step()

    async def _port(self) -> None:
        """The port, on its clock: it is given what it sees before the edge."""
        dut, port, shown = self.dut, self.port, (1, 1, 0, 0)
        edge, csib_o, rdwrb_o, i_o = FallingEdge(dut.port_clk_i), dut.csib_o, dut.rdwrb_o, dut.i_o
        driven = (dut.avail_i, dut.prdone_i, dut.prerror_i, dut.o_i)
        while True:
            await edge
            port.edge(int(csib_o.value), int(rdwrb_o.value), int(i_o.value))
            found = (int(port.avail), int(port.prdone), int(port.prerror), port.o)
            if found != shown:
                shown = found
                for signal, value in zip(driven, found, strict=True):
                    signal.value = value

    async def reset(self) -> None:
        """The shell's reset, for one cycle; both sides leave it. Whatever software had set is gone."""
        self.dut.rst_ni.value = 0
        await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        # What memory owed comes all the same, and is no answer.
        self.held = None
        for _ in range(20 + round(20 / PORT_CYCLES)):
            await self.step()

    def stop_port(self) -> None:
        """The port's clock stands still, low."""
        self.port_clock.stop()
        self.dut.port_clk_i.value = 0

    async def go_port(self) -> None:
        """The port's clock is back; the two sides come out of the reset that they were put in."""
        self.port_clock.start()
        for _ in range(20 + round(20 / PORT_CYCLES)):
            await self.step()

    async def step(self) -> None:
        """One cycle of the shell's clock: memory is given what it sees before the edge."""
        rng, memory = self.rng, self.memory
        offered = self._ar_valid_o.value == 1
        word = int(self._ar_o.value) if offered else None
        assert self.held is None or word == self.held, "a request changed before it was taken"
        ready = rng.random() < memory.flow.take
        self.held = word if offered and not ready else None
        if word is not None and ready:
            self.take_request(word)
        answers = bool(self.owed) and self.owed[0][0] <= self.cycle and rng.random() < memory.flow.give
        if memory.silent is not None and memory.beats >= memory.silent:
            answers = False
        value = self.answer() if answers else rng.getrandbits(71)
        self._ar_ready_i.value, self._r_valid_i.value, self._r_i.value = int(ready), int(answers), value
        await self._edge
        self.cycle += 1

    def take_request(self, word: int) -> None:
        request, memory = fields_of(word), self.memory
        beats = request["len"] + 1
        assert (request["size"], request["burst"], request["prot"]) == (3, 1, 2)
        assert request["addr"] % 128 == 0, "a burst begins where 128 bytes do"
        assert beats <= 16, "a burst ends within them"
        memory.asked.append((request["addr"], beats))
        for beat in range(beats):
            at = request["addr"] - BASE + 8 * beat
            data = int.from_bytes(memory.data[at : at + 8].ljust(8, b"\xa5"), "little") if at >= 0 else 0
            self.owed.append((self.cycle + memory.flow.latency, data, beat == beats - 1))
        memory.most_owed = max(memory.most_owed, len(self.owed))

    def answer(self) -> int:
        _, data, last = self.owed.popleft()
        response = 2 if self.memory.beats == self.memory.error else 0
        self.memory.beats += 1
        return data << 3 | response << 1 | last

    async def put(self, register: Register, **fields: int) -> None:
        await self._access(register, register.encode(**fields))

    async def get(self, register: Register) -> dict[str, int]:
        return register.decode(await self._access(register, None))

    async def _access(self, register: Register, data: int | None) -> int:
        dut = self.dut
        dut.sel_i.value, dut.write_i.value, dut.addr_i.value = 1, int(data is not None), register.offset
        dut.wdata_i.value, dut.wstrb_i.value = data or 0, 15
        await self.step()
        dut.sel_i.value = 0
        assert (dut.ack_o.value, dut.err_o.value) == (1, 0)
        return int(dut.rdata_o.value)

    async def ask(
        self,
        source: bytes,
        words: list[int],
        *,
        compressed: bool = False,
        rehearse: bool = False,
        pages: tuple[int, int] | None = None,
        timeout: int = 400,
        crc: int | None = None,
    ) -> None:
        """Set a load up and start it; the source lies at `BASE`. The timeout is in cycles of the shell's clock."""
        self.memory.data = source
        first, last = pages or (BASE >> 12, BASE + len(source) - 1 >> 12)
        await self.put(regs.MODE, compressed=int(compressed), rehearse=int(rehearse))
        await self.put(regs.SOURCE, place=BASE >> 7)
        await self.put(regs.SOURCE_WORDS, words=len(source) // 4)
        await self.put(regs.IMAGE_WORDS, words=len(words))
        await self.put(regs.CRC, crc=zlib.crc32(packed(words)) if crc is None else crc)
        await self.put(regs.WINDOW_FIRST, page=first)
        await self.put(regs.WINDOW_LAST, page=last)
        await self.put(regs.TIMEOUT, cycles=round(timeout * PORT_CYCLES))
        await self.put(regs.IRQ, ended=1)
        self.port.words.clear()
        self.memory.asked.clear()
        self.memory.beats = 0
        await self.put(regs.CONTROL, start=1)

    async def ended(self, bound: int = 20_000) -> regs.Cause:
        """Wait for the interrupt, acknowledge it; the cause. The port is closed then."""
        cause = await self.ended_closed_or_not(bound)
        assert (self.dut.csib_o.value, self.dut.rdwrb_o.value) == (1, 1), "the port is closed"
        return cause

    async def ended_closed_or_not(self, bound: int = 20_000) -> regs.Cause:
        """Wait for the interrupt, acknowledge it; the cause."""
        for _ in range(bound):
            if self.dut.irq_o.value == 1:
                break
            await self.step()
        else:
            raise AssertionError(f"no end within {bound} cycles")
        status = await self.get(regs.STATUS)
        assert (status["busy"], status["ended"]) == (0, 1)
        await self.put(regs.STATUS, ended=1)
        assert self.dut.irq_o.value == 0
        return regs.Cause(status["cause"])

    async def quiet(self) -> None:
        """Until memory owes nothing."""
        self.memory.silent = None
        for _ in range(2000):
            if not self.owed and self.dut.ar_valid_o.value == 0:
                break
            await self.step()
        assert (await self.get(regs.STATUS))["memory_idle"] == 1

    async def load(self, source: bytes, words: list[int], **options: Any) -> regs.Cause:
        await self.ask(source, words, **options)
        return await self.ended()


async def bench(dut: Any, seed: int) -> Bench:
    """A bench out of reset."""
    found = Bench(dut, seed)
    await found.start()
    return found


__all__ = ["BASE", "NOOP", "PORT_CYCLES", "Bench", "Flow", "Icape3", "bench", "cocotb", "image", "packed", "regs"]
