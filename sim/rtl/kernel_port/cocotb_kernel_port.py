# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's memory ports: what each reads and writes, byte by byte by AXI's rules, whatever its width and its bursts.

Two ports of the widths of the build work at once on parts of memory of their own. What a burst touches is worked out
beat by beat (ARM IHI 0022, A3.4.1); toward memory, the slot contract's own checker watches.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, gather
from cocotbext.axi import AxiBus, AxiReadBus, AxiSlave, AxiWriteBus
from cocotbext.axi.axi_channels import AxiARSource, AxiAWSource, AxiBSink, AxiRSink, AxiWSource
from eddy_sim.modcheck.harness import Memory, pauses
from eddy_sim.modcheck.protocol import ProtocolChecker

FIXED, INCR, WRAP = 0, 1, 2
OKAY, SLVERR = 0, 2
PAGE = 4096


@dataclass(frozen=True)
class Burst:
    """What a kernel asks for."""

    addr: int
    len: int
    size: int
    burst: int
    id: int
    lock: int = 0

    def beats(self) -> list[int]:
        """Address of every beat (AXI A3.4.1)."""
        if self.burst == FIXED:
            return [self.addr] * (self.len + 1)
        size = 1 << self.size
        return [self.addr, *(self.addr // size * size + size * beat for beat in range(1, self.len + 1))]

    def touched(self, beat: int) -> range:
        """The bytes of a beat."""
        return range(beat, beat // (1 << self.size) * (1 << self.size) + (1 << self.size))


class KernelPort:
    """A kernel's end of one port, and what memory must hold of its own part."""

    def __init__(self, dut: Any, name: str, base: int, seed: int) -> None:
        self.rng, self.base = random.Random(seed), base
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        write, read = AxiWriteBus.from_prefix(dut, name), AxiReadBus.from_prefix(dut, name)
        self.aw, self.w = AxiAWSource(write.aw, dut.clk_i, **reset), AxiWSource(write.w, dut.clk_i, **reset)
        self.b = AxiBSink(write.b, dut.clk_i, **reset)
        self.ar, self.r = AxiARSource(read.ar, dut.clk_i, **reset), AxiRSink(read.r, dut.clk_i, **reset)
        self.channels = (self.aw, self.w, self.b, self.ar, self.r)
        self.bytes, self.ids = len(write.w.wstrb), len(write.aw.awid)
        self.memory = bytearray(self.rng.randbytes(4 * PAGE))

    def pause(self, chance: float) -> None:
        for channel in self.channels:
            channel.set_pause_generator(pauses(self.rng.getrandbits(30), chance))

    def draw(self) -> Burst:
        """A burst that is served: any size, length and alignment, across 4 KiB too, within three pages."""
        size = self.rng.choice((self.bytes.bit_length() - 1, self.rng.randrange(self.bytes.bit_length())))
        burst = self.rng.choice((INCR, INCR, INCR, FIXED))
        length = self.rng.choice((1, 2, 3, 15, 16, 17, 31, 64, 255, 256)) if burst == INCR else self.rng.randint(1, 16)
        room = 3 * PAGE >> size
        addr = self.rng.randrange(0, (room - min(length, room // 2)) << size)
        if self.rng.random() < 0.5:
            addr = addr >> size << size
        return Burst(self.base + addr, min(length, room // 2) - 1, size, burst, self.rng.randrange(1 << self.ids))

    async def write(self, burst: Burst, wanted: int = OKAY) -> None:
        """Send a burst's address and data; memory must hold it after its answer, if it is served."""
        await self.ask(self.aw, "aw", burst)
        beats = burst.beats()
        for number, beat in enumerate(beats):
            data, strobes = bytearray(self.rng.randbytes(self.bytes)), 0
            for address in burst.touched(beat):
                if self.rng.random() < 0.8:
                    strobes |= 1 << address % self.bytes
                    if wanted == OKAY:
                        self.memory[address - self.base] = data[address % self.bytes]
            word = self.w._transaction_obj()
            word.wdata, word.wstrb = int.from_bytes(data, "little"), strobes
            word.wlast = int(number == len(beats) - 1)
            await self.w.send(word)

    async def ask(self, channel: Any, name: str, burst: Burst) -> None:
        request = channel._transaction_obj()
        for field in ("addr", "len", "size", "burst", "id", "lock"):
            setattr(request, name + field, getattr(burst, field))
        await channel.send(request)

    async def written(self, bursts: list[Burst], wanted: int = OKAY) -> None:
        """Take the answers, in order."""
        for burst in bursts:
            answer = await self.b.recv()
            assert (int(answer.bid), int(answer.bresp)) == (burst.id, wanted), burst

    async def read(self, bursts: list[Burst], wanted: int = OKAY) -> None:
        """Take the answers of reads, in order, and compare them with memory."""
        for burst in bursts:
            beats = burst.beats()
            for number, beat in enumerate(beats):
                answer = await self.r.recv()
                told = int(answer.rid), int(answer.rresp), int(answer.rlast)
                assert told == (burst.id, wanted, int(number == len(beats) - 1)), (burst, number)
                data = int(answer.rdata).to_bytes(self.bytes, "little")
                for address in burst.touched(beat):
                    value = self.memory[address - self.base] if wanted == OKAY else 0
                    assert data[address % self.bytes] == value, (burst, number, hex(address))


class Bench:
    """Both ports, and memory."""

    def __init__(self, dut: Any, seed: int) -> None:
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        self.dut, self.memory, self.checker = dut, Memory(), ProtocolChecker(dut)
        dut.rst_ni.value = 0
        Clock(dut.clk_i, 10, unit="ns").start()
        self.ports = [KernelPort(dut, name, 0x10_0000 * (k + 1), seed + k) for k, name in enumerate("ab")]
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, target=self.memory, **reset)
        for port in self.ports:
            self.memory.load(port.base, bytes(port.memory))
            for channel in port.channels:
                channel.log.setLevel(logging.ERROR)
        for interface in (self.slave.write_if, self.slave.read_if):
            interface.log.setLevel(logging.ERROR)
        self.counts = dict.fromkeys(("refused", "read_error", "write_error"), 0)
        cocotb.start_soon(self.checker.run())
        cocotb.start_soon(self.count())

    async def count(self) -> None:
        """How often each pulse came, on either port."""
        while True:
            await RisingEdge(self.dut.clk_i)
            for name in self.counts:
                self.counts[name] += int(getattr(self.dut, f"{name}_o").value).bit_count()

    async def start(self) -> None:
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def pause(self, memory: float, kernel: float) -> None:
        """Hold up memory's channels, and the kernel's, in these shares of the cycles."""
        slave = self.slave
        for k, channel in enumerate(
            (slave.write_if.aw_channel, slave.write_if.w_channel, slave.write_if.b_channel, slave.read_if.ar_channel,
             slave.read_if.r_channel)
        ):  # fmt: skip
            channel.set_pause_generator(pauses(k + 7, memory))
        for port in self.ports:
            port.pause(kernel)

    async def together(self, *works: Any) -> None:
        await gather(*works)

    async def end(self) -> None:
        """All is answered, and nothing the slot contract forbids was seen."""
        await ClockCycles(self.dut.clk_i, 8)
        assert int(self.dut.quiet_o.value) == 3
        assert not self.checker.violations, self.checker.violations[0]
        for port in self.ports:
            assert self.memory.dump(port.base, len(port.memory)) == bytes(port.memory)


def flows() -> Iterator[tuple[float, float]]:
    """Shares of the cycles in which memory, and the kernel, hold back."""
    yield from ((0.0, 0.0), (0.5, 0.0), (0.0, 0.6), (0.3, 0.3), (0.8, 0.1))


async def _writes(port: KernelPort, number: int) -> None:
    bursts = [port.draw() for _ in range(number)]
    taken = cocotb.start_soon(port.written(bursts))
    for burst in bursts:
        await port.write(burst)
    await taken


async def _reads(port: KernelPort, number: int) -> None:
    bursts = [port.draw() for _ in range(number)]
    taken = cocotb.start_soon(port.read(bursts))
    for burst in bursts:
        await port.ask(port.ar, "ar", burst)
    await taken


@cocotb.test()
async def bursts_touch_what_they_name(dut: Any) -> None:
    bench = Bench(dut, 1)
    await bench.start()
    for memory, kernel in flows():
        bench.pause(memory, kernel)
        await bench.together(*(_writes(port, 6) for port in bench.ports))
        await bench.together(*(_reads(port, 6) for port in bench.ports))
    await bench.end()
    assert bench.checker.traffic.longest <= 16
    assert not any(bench.counts.values()), bench.counts


@cocotb.test()
async def a_port_that_takes_nothing_holds_up_no_other(dut: Any) -> None:
    """One asks for more than it has room for and takes no answer; one offers addresses without data."""
    bench = Bench(dut, 2)
    await bench.start()
    still, other = bench.ports
    size = still.bytes.bit_length() - 1
    asked = [Burst(still.base + PAGE * (k % 2), 63, size, INCR, k) for k in range(12)]
    held = [Burst(still.base, 1, size, INCR, k) for k in range(4)]
    still.r.pause = still.w.pause = still.b.pause = True
    for burst in asked:
        await still.ask(still.ar, "ar", burst)
    for burst in held:
        await still.write(burst)
    await bench.together(_writes(other, 8))
    await bench.together(_reads(other, 8))
    still.r.pause = still.w.pause = still.b.pause = False
    await still.written(held)
    for burst in asked:
        for _ in burst.beats():
            assert int((await still.r.recv()).rid) == burst.id
    await bench.end()


@cocotb.test()
async def what_a_slot_has_not_is_refused(dut: Any) -> None:
    """WRAP and reserved bursts, locked ones, beats wider than the bus, addresses beyond 40 bits; others go on."""
    bench = Bench(dut, 3)
    await bench.start()
    port = bench.ports[0]
    size = port.bytes.bit_length() - 1
    good = Burst(port.base, 3, size, INCR, 1)
    bad = [
        Burst(port.base, 3, size, WRAP, 1),
        Burst(port.base, 1, size, 3, 2),
        Burst(port.base, 0, size, INCR, 3, lock=1),
        Burst(port.base, 16, size, FIXED, 1),
    ]
    if len(dut.a_araddr) > 40:
        bad.append(Burst(1 << 40 | port.base, 2, size, INCR, 2))
    if size < 6:
        bad.append(Burst(port.base, 2, size + 1, INCR, 0))
    for memory, kernel in ((0.0, 0.0), (0.4, 0.4)):
        bench.pause(memory, kernel)
        for burst in bad:
            for each, wanted in ((good, OKAY), (burst, SLVERR), (good, OKAY)):
                await port.write(each, wanted)
                await port.ask(port.ar, "ar", each)
            for each, wanted in ((good, OKAY), (burst, SLVERR), (good, OKAY)):
                await port.written([each], wanted)
            for each, wanted in ((good, OKAY), (burst, SLVERR), (good, OKAY)):
                for _ in each.beats():
                    answer = await port.r.recv()
                    assert (int(answer.rid), int(answer.rresp)) == (each.id, wanted), each
                    assert wanted == OKAY or int(answer.rdata) == 0
    await bench.end()
    # A read and a write that are refused in one cycle are told as one.
    assert 2 * len(bad) <= bench.counts["refused"] <= 4 * len(bad)
    assert bench.counts["read_error"] == bench.counts["write_error"] == 0


@cocotb.test()
async def errors_are_answered_and_told(dut: Any) -> None:
    """One word that fails makes its beat's answer, and its write's, an error; nothing else."""
    bench = Bench(dut, 4)
    await bench.start()
    port = bench.ports[0]
    size = port.bytes.bit_length() - 1
    burst = Burst(port.base, 39, size, INCR, 2)
    word = len(dut.m_axi_wstrb)
    failing = port.base + 20 * port.bytes // word * word
    bench.memory.fail_reads = bench.memory.fail_writes = range(failing, failing + word)
    await port.ask(port.ar, "ar", burst)
    failed = 0
    for beat in burst.beats():
        answer = await port.r.recv()
        bad = any(address // word * word == failing for address in burst.touched(beat))
        failed += bad
        assert bool(int(answer.rresp)) == bad, hex(beat)
    assert failed
    await port.write(burst, SLVERR)
    await port.written([burst], SLVERR)
    after = Burst(port.base, 0, size, INCR, 1)
    await port.write(after)
    await port.written([after])
    assert bench.counts["refused"] == 0
    assert bench.counts["read_error"] >= 1
    assert bench.counts["write_error"] == 1


@cocotb.test()
async def a_port_keeps_memory_busy(dut: Any) -> None:
    """Bytes a cycle, from the first to the last, in each direction: what the slot's port, or the kernel's, can move."""
    bench = Bench(dut, 5)
    await bench.start()
    for port in bench.ports:
        size = port.bytes.bit_length() - 1
        beats = min(256, PAGE // port.bytes)
        limit = min(port.bytes, len(dut.m_axi_wstrb))
        bursts = [Burst(port.base + PAGE * (k % 3), beats - 1, size, INCR, 0) for k in range(4)]
        for way, valid, ready in (("r", dut.m_axi_rvalid, dut.m_axi_rready), ("w", dut.m_axi_wvalid, dut.m_axi_wready)):
            counted = cocotb.start_soon(_count(dut, valid, ready, 4 * beats * port.bytes // limit))
            if way == "r":
                for burst in bursts:
                    await port.ask(port.ar, "ar", burst)
                await port.read(bursts)
            else:
                for burst in bursts:
                    await port.write(burst)
                await port.written(bursts)
            words, cycles = await counted
            told = (
                f"{8 * port.bytes} bits on {8 * len(dut.m_axi_wstrb)}, {way}: {words * limit / cycles:.2f} of {limit}"
            )
            print(f"{told} bytes a cycle")
            assert words >= 0.9 * cycles, told
    await bench.end()


async def _count(dut: Any, valid: Any, ready: Any, number: int) -> tuple[int, int]:
    """Words, and the cycles from the first of them to the last."""
    seen = cycles = 0
    while seen < number:
        await RisingEdge(dut.clk_i)
        seen += int(valid.value) & int(ready.value)
        cycles += seen > 0
    return seen, cycles
