# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The whole static region with two slots on unrelated clocks, against cocotbext-axi's models."""

from __future__ import annotations

import itertools
import random
import zlib
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiResp
from eddy_drivers.regs import axi_intc, icap_engine, shell, slot_ctrl, window
from eddy_drivers.regs.base import Register
from eddy_drivers.regs.slot_ctrl import Cause
from eddy_sim.boards.icape3 import DESYNC, SYNC, WRITE_CMD, Icape3
from shell_system import SHELL_PS, System, started

MODULE = (window.MODULE.at(0), window.MODULE.at(1))
CONTROL_TIMEOUT = 300
MEMORY_TIMEOUT = 400
CLOCK_TIMEOUT = 60


async def bounds(system: System, slot: int) -> None:
    await system.put(slot, slot_ctrl.CONTROL_TIMEOUT, cycles=CONTROL_TIMEOUT)
    await system.put(slot, slot_ctrl.MEMORY_TIMEOUT, cycles=MEMORY_TIMEOUT)
    await system.put(slot, slot_ctrl.CLOCK_TIMEOUT, cycles=CLOCK_TIMEOUT)


async def ready(dut: Any) -> System:
    """Both slots open; slot k may reach the megabyte k."""
    system = await started(dut)
    for slot in (0, 1):
        await bounds(system, slot)
        await system.window(slot, slot * 3, slot << 20, (slot << 20) + 0xFFFFF)
        await system.open(slot)
    return system


@cocotb.test()
async def it_says_what_it_is(dut: Any) -> None:
    system = await started(dut)
    assert await system.read(shell.CONFIG.offset) == 2
    assert await system.read(shell.BUILD_LO.offset) == 0x89ABCDEF
    assert await system.read(shell.BUILD_HI.offset) == 0x01234567
    first, second = [await system.read(shell.CYCLES_LO.offset) for _ in range(2)]
    assert 0 < second - first < 40
    for slot in (0, 1):
        assert await system.read(system.bank(slot, slot_ctrl.ID)) == slot_ctrl.ID.reset
    for offset in (0x02_0000, 0x00_0400, 0x06_0000, 0x12_0000, 0x04_0300, 0x01_0024, 0xFF_FFFC):
        value, cycles = await system.timed_read(offset)
        assert value == 0xDEAD0001, f"{offset:#x} reads {value:#x}"
        assert cycles < 20
    assert shell.BAD_ADDRESS.decode(await system.read(shell.BAD_ADDRESS.offset)) == {"offset": 0x02_0000}
    assert await system.read(shell.BAD_ACCESS.offset) == 1
    await system.write(shell.BAD_ACCESS.offset, 0x101)
    answer = await system.cpu.read(0x02_0004, 4)
    assert answer.resp == AxiResp.SLVERR
    assert await system.read(shell.BAD_ACCESS.offset) == 0x101


@cocotb.test()
async def a_closed_slot_answers_poison(dut: Any) -> None:
    system = await started(dut)
    for slot in (0, 1):
        status = await system.get(slot, slot_ctrl.STATUS)
        assert (status["control_closed"], status["memory_closed"], status["in_reset"]) == (1, 1, 1)
        value, cycles = await system.timed_read(MODULE[slot] + 0x1230)
        assert value == 0xDEAD1230
        assert cycles < 30
        assert (await system.get(slot, slot_ctrl.FIRST_FAULT))["cause"] == Cause.CONTROL_REFUSED
        assert await system.read(system.bank(slot, slot_ctrl.FAULT_ADDRESS_LO)) == 0x1230
        await system.put(slot, slot_ctrl.FAULT_CLEAR, clear=1)
        assert await system.read(system.bank(slot, slot_ctrl.CAUSE)) == 0
    # A fence answers as well, and is no fault.
    await system.open(0, fence=1)
    assert await system.read(MODULE[0] + 0x44) == 0xDEAD0044
    assert await system.read(system.bank(0, slot_ctrl.CAUSE)) == 0


@cocotb.test()
async def registers_and_memory_reach_the_right_places(dut: Any) -> None:
    system = await ready(dut)
    rng = random.Random(4)
    system.ram.read_if.r_channel.set_pause_generator(itertools.cycle([0, 0, 1, 0, 1]))
    system.ram.write_if.w_channel.set_pause_generator(itertools.cycle([0, 1, 1, 0]))
    for slot in (0, 1):
        system.dma[slot].read_if.r_channel.set_pause_generator(itertools.cycle([0, 1, 0]))
        system.dma[slot].write_if.b_channel.set_pause_generator(itertools.cycle([1, 1, 0]))
        system.dma[slot].write_if.w_channel.set_pause_generator(itertools.cycle([0, 0, 1]))
    expected = bytearray(1 << 21)

    async def traffic(slot: int) -> None:
        for _ in range(25):
            address = (slot << 20) + rng.randrange(0x20000)
            data = rng.randbytes(rng.randrange(1, 3000))
            assert (await system.dma[slot].write(address, data)).resp == AxiResp.OKAY
            expected[address : address + len(data)] = data
            back = await system.dma[slot].read(address - 5 if address % 4096 > 5 else address, len(data))
            assert back.resp == AxiResp.OKAY

    async def registers() -> None:
        for _ in range(30):
            slot, offset, value = rng.randrange(2), rng.randrange(0x1000) * 4, rng.getrandbits(32)
            await system.write(MODULE[slot] + offset, value)
            assert system.module[slot].read_dword(offset) == value
            assert await system.read(MODULE[slot] + offset) == value

    for task in [cocotb.start_soon(traffic(0)), cocotb.start_soon(traffic(1)), cocotb.start_soon(registers())]:
        await with_timeout(task, 3, "ms")
    assert system.ram.read(0, 1 << 21) == expected
    for slot in (0, 1):
        assert await system.read(system.bank(slot, slot_ctrl.CAUSE)) == 0
        await system.until(slot, memory_idle=1, control_idle=1)


@cocotb.test()
async def a_burst_outside_its_windows_is_refused_and_reported(dut: Any) -> None:
    system = await ready(dut)
    await system.write(axi_intc.IER.offset + window.INTC.offset, 1 << 16)
    await system.write(axi_intc.MER.offset + window.INTC.offset, 3)
    system.ram.write(0x100000, b"untouched")
    answer = await system.dma[0].write(0x100000, b"overwrite", user=0)
    assert answer.resp == AxiResp.SLVERR
    assert system.ram.read(0x100000, 9) == b"untouched"
    assert (await system.get(0, slot_ctrl.FIRST_FAULT))["cause"] == Cause.WRITE_OUTSIDE_WINDOW
    assert await system.read(system.bank(0, slot_ctrl.FAULT_ADDRESS_LO)) == 0x100000
    assert dut.irq_o.value == 1
    assert await system.read(axi_intc.IVR.offset + window.INTC.offset) == 16
    # The slot goes on, and another context has no windows here.
    assert (await system.dma[0].write(0x2000, b"fine")).resp == AxiResp.OKAY
    assert (await system.dma[0].read(0x2000, 4, user=3)).resp == AxiResp.SLVERR
    await system.put(0, slot_ctrl.FAULT_CLEAR, clear=1)
    await system.write(axi_intc.IAR.offset + window.INTC.offset, 1 << 16)
    await system.cycles(5)
    assert dut.irq_o.value == 0
    assert (await system.dma[0].read(0x2000, 4, user=3)).resp == AxiResp.SLVERR
    first = await system.get(0, slot_ctrl.FIRST_FAULT)
    assert first == {"cause": Cause.READ_OUTSIDE_WINDOW, "memory_context": 3}
    assert await system.read(system.bank(1, slot_ctrl.CAUSE)) == 0


@cocotb.test()
async def a_module_that_never_answers_costs_one_bound(dut: Any) -> None:
    system = await ready(dut)
    system.module[0].read_if.ar_channel.pause = True
    value, cycles = await system.timed_read(MODULE[0] + 0x10)
    assert value == 0xDEAD0010
    assert CONTROL_TIMEOUT <= cycles <= CONTROL_TIMEOUT + 20
    assert (await system.get(0, slot_ctrl.FIRST_FAULT))["cause"] == Cause.CONTROL_TIMEOUT
    value, cycles = await system.timed_read(MODULE[0] + 0x14)
    assert value == 0xDEAD0014
    assert cycles < 30
    await system.write(MODULE[1] + 0x10, 77)
    assert await system.read(MODULE[1] + 0x10) == 77


@cocotb.test()
async def a_lost_clock_harms_nobody_else(dut: Any) -> None:
    system = await ready(dut)
    await system.put(0, slot_ctrl.CLOCK_CHECK, start=1)
    await system.until(0, clock_busy=0)
    assert (await system.get(0, slot_ctrl.STATUS))["clock_alive"] == 1
    burst = cocotb.start_soon(system.dma[0].write(0x1000, bytes(4096)))
    await system.cycles(40)
    system.stop_clock(0)
    value, cycles = await system.timed_read(MODULE[0] + 0x20)
    assert value == 0xDEAD0020
    assert cycles <= CONTROL_TIMEOUT + 20
    await system.until(0, memory_idle=1)
    cause = slot_ctrl.CAUSE.decode(await system.read(system.bank(0, slot_ctrl.CAUSE)))
    assert cause["clock_lost"] == 1
    assert (await system.get(0, slot_ctrl.FIRST_FAULT))["cause"] == Cause.CLOCK_LOST
    assert (await system.get(0, slot_ctrl.STATUS))["clock_alive"] == 0
    assert (await system.dma[1].write(0x100000, b"slot one" * 64)).resp == AxiResp.OKAY
    assert system.ram.read(0x100000, 512) == b"slot one" * 64
    burst.cancel()


@cocotb.test()
async def a_write_without_data_holds_up_nobody_else(dut: Any) -> None:
    system = await ready(dut)
    system.ram.write(0x3000, b"\x55" * 256)
    system.dma[0].write_if.w_channel.pause = True
    stuck = cocotb.start_soon(system.dma[0].write(0x3000, b"\xaa" * 256))
    await system.cycles(50)
    # While it is stuck, the other's bursts take no longer than on their own.
    before = cocotb.utils.get_sim_time("ps")
    for _ in range(4):
        assert (await system.dma[1].write(0x101000, bytes(range(64)))).resp == AxiResp.OKAY
    assert (cocotb.utils.get_sim_time("ps") - before) / SHELL_PS < MEMORY_TIMEOUT - 60
    await system.until(0, isolated=1, memory_idle=1)
    assert (await system.get(0, slot_ctrl.FIRST_FAULT))["cause"] == Cause.WRITE_STALLED
    # Made up with strobes low: nothing was written.
    assert system.ram.read(0x3000, 256) == b"\x55" * 256
    stuck.cancel()


@cocotb.test()
async def a_flooding_slot_leaves_the_other_its_share(dut: Any) -> None:
    system = await ready(dut)
    rate, burst = 2, 4096
    await system.put(0, slot_ctrl.REGULATOR_BURST, bytes=burst)
    await system.put(0, slot_ctrl.REGULATOR_RATE, rate=rate << 16, enable=1)
    admitted: list[tuple[int, int]] = []

    async def watch() -> None:
        cycle = 0
        while True:
            await RisingEdge(dut.clk_i)
            cycle += 1
            if dut.m_axi_arvalid.value == 1 and dut.m_axi_arready.value == 1 and int(dut.m_axi_aruser.value) >> 4 == 0:
                admitted.append((cycle, (int(dut.m_axi_arlen.value) + 1) << int(dut.m_axi_arsize.value)))

    cocotb.start_soon(watch())
    flood = [cocotb.start_soon(system.dma[0].read(n << 12, 4096)) for n in range(12)]
    before = cocotb.utils.get_sim_time("ps")
    await system.dma[1].read(0x100000, 32768)
    alone = (cocotb.utils.get_sim_time("ps") - before) / SHELL_PS
    for task in flood:
        await with_timeout(task, 2, "ms")
    # One cycle of slack each way: a request is admitted a little before it is seen here, by a varying time.
    slack = 64
    for (start, _), (end, _) in itertools.product(admitted, admitted):
        if start <= end:
            total = sum(size for cycle, size in admitted if start <= cycle <= end)
            assert total <= burst + rate * (end - start + 1 + slack)
    # 8 bytes a cycle at most, of which the other takes 2: the reader keeps three quarters, less its own slower clock.
    assert 32768 / alone > 8 * SHELL_PS / 13700 * 0.6
    assert sum(size for _, size in admitted) == 12 * 4096


class Engine:
    """The configuration engine, and the device behind its port."""

    def __init__(self, system: System) -> None:
        self.system, self.port = system, Icape3()
        self.beats: dict[int, int] = {}
        cocotb.start_soon(self._device())
        cocotb.start_soon(self._watch())

    async def _device(self) -> None:
        dut, port = self.system.dut, self.port
        while True:
            await RisingEdge(dut.icap_clk_i)
            port.edge(int(dut.icap_csib_o.value), int(dut.icap_rdwrb_o.value), int(dut.icap_i_o.value))
            dut.cfg_avail_i.value, dut.cfg_prdone_i.value = int(port.avail), int(port.prdone)
            dut.cfg_prerror_i.value, dut.icap_o_i.value = int(port.prerror), port.o

    async def _watch(self) -> None:
        """Beats that each of those who ask for memory read."""
        dut = self.system.dut
        while True:
            await RisingEdge(dut.clk_i)
            if dut.m_axi_arvalid.value == 1 and dut.m_axi_arready.value == 1:
                who = int(dut.m_axi_aruser.value) >> 4
                assert int(dut.m_axi_arid.value) >> 4 == who
                self.beats[who] = self.beats.get(who, 0) + int(dut.m_axi_arlen.value) + 1

    async def put(self, register: Register, **fields: int) -> None:
        await self.system.write(window.ENGINE.offset + register.offset, register.encode(**fields))

    async def get(self, register: Register) -> dict[str, int]:
        return register.decode(await self.system.read(window.ENGINE.offset + register.offset))

    async def begin(self, address: int, words: list[int], last: int | None = None) -> None:
        data = b"".join(word.to_bytes(4, "little") for word in words)
        self.system.ram.write(address, data)
        await self.put(icap_engine.SOURCE, place=address >> 7)
        await self.put(icap_engine.SOURCE_WORDS, words=len(words))
        await self.put(icap_engine.IMAGE_WORDS, words=len(words))
        await self.put(icap_engine.CRC, crc=zlib.crc32(data))
        await self.put(icap_engine.WINDOW_FIRST, page=address >> 12)
        await self.put(icap_engine.WINDOW_LAST, page=(address + len(data) - 1 if last is None else last) >> 12)
        await self.put(icap_engine.IRQ, ended=1)
        await self.put(icap_engine.CONTROL, start=1)

    async def ended(self) -> icap_engine.Cause:
        while not (await self.get(icap_engine.STATUS))["ended"]:
            pass
        assert self.system.dut.irq_o.value == 1, "through the interrupt controller"
        await self.put(icap_engine.STATUS, ended=1)
        return icap_engine.Cause((await self.get(icap_engine.STATUS))["cause"])


def image(rng: random.Random, words: int) -> list[int]:
    """So many words that a device takes for a partial image."""
    return [SYNC, *(rng.getrandbits(31) for _ in range(words - 4)), WRITE_CMD, DESYNC, 0x20000000]


async def with_engine(dut: Any) -> tuple[System, Engine]:
    """Both slots open, and the engine's end of a load at the interrupt line."""
    system = await ready(dut)
    engine = Engine(system)
    await system.cycles(10)
    await system.write(window.INTC.offset + axi_intc.IER.offset, 1 << axi_intc.Input.CONFIGURATION)
    await system.write(window.INTC.offset + axi_intc.MER.offset, 3)
    return system, engine


@cocotb.test()
async def the_engine_takes_an_image_from_memory_to_the_port(dut: Any) -> None:
    system, engine = await with_engine(dut)
    identity = icap_engine.ID.decode(await system.read(window.ENGINE.offset))
    assert identity == icap_engine.ID.decode(icap_engine.ID.reset)
    words = image(random.Random(5), 600)
    await engine.begin(0x380000, words)
    assert await engine.ended() is icap_engine.Cause.NONE
    assert engine.port.words == words
    assert engine.beats == {2: 300}, "the engine is the slot after the last"
    engine.port.words.clear()
    await engine.begin(0x380000, words, last=0x37FFFF)
    assert await engine.ended() is icap_engine.Cause.OUTSIDE_WINDOW
    assert SYNC not in engine.port.words
    assert engine.beats == {2: 300}, "nothing more was read"
    # A slot's window is none of the engine's, and the engine's none of a slot's.
    answer = await system.dma[0].read(0x380000, 8)
    assert answer.resp == AxiResp.SLVERR


@cocotb.test()
async def a_load_leaves_the_slots_their_share(dut: Any) -> None:
    """While an image is loaded a slot loses no more than the engine's regulator admits, and a flood delays the load."""
    system, engine = await with_engine(dut)

    async def reading(slot: int) -> float:
        before = cocotb.utils.get_sim_time("ps")
        await system.dma[slot].read(slot << 20, 16384)
        return float(cocotb.utils.get_sim_time("ps") - before) / SHELL_PS

    alone = await reading(1)
    words = image(random.Random(6), 8000)
    begin = cocotb.utils.get_sim_time("ps")
    await engine.begin(0x380000, words)
    beside = await reading(1)
    assert (await engine.get(icap_engine.STATUS))["busy"], "the load went on all the while"
    # 8 bytes a cycle, of which the engine takes 4 at most; the slot's clock is slower than the shell's.
    assert beside < alone * 1.5
    flood = [cocotb.start_soon(system.dma[0].read(n << 12, 4096)) for n in range(10)]
    assert await engine.ended() is icap_engine.Cause.NONE
    assert engine.port.words == words
    took = (cocotb.utils.get_sim_time("ps") - begin) / SHELL_PS
    assert len(words) <= took < 3 * len(words)
    for task in flood:
        await with_timeout(task, 2, "ms")


@cocotb.test()
async def the_monitor_counts_what_went_by(dut: Any) -> None:
    system = await ready(dut)
    await system.window(0, 1, 0, 0x1FFFFF, contexts=0xFFFF)
    await system.put(0, slot_ctrl.MONITOR_GEOMETRY, bank_shift=12, bank_bits=2, row_shift=14)
    await system.put(0, slot_ctrl.MONITOR_SNAPSHOT, memory_context=16, clear=1)
    # Waits until they are.
    await system.read(system.bank(0, slot_ctrl.COUNTER_LO, 0))
    rng = random.Random(9)
    rows: dict[int, int] = {}
    model = {context: [0] * 6 for context in (0, 5, 16)}
    for _ in range(40):
        context, address, write = rng.choice((0, 5)), rng.randrange(0x10000) & ~7, rng.randrange(2)
        data = rng.randbytes(8 * rng.randrange(1, 16))
        data = data[: 4096 - address % 4096]
        if write:
            await system.dma[0].write(address, data, user=context)
        else:
            await system.dma[0].read(address, len(data), user=context)
        bank, row = address >> 12 & 3, address >> 14
        for counts in (model[context], model[16]):
            counts[write] += len(data)
            counts[2 + write] += 1
            counts[4 if rows.get(bank) == row else 5] += 1
        rows[bank] = row
    for context, counts in model.items():
        assert (await system.counters(0, context))[1:7] == counts, f"context {context}"
    assert (await system.counters(1))[1:] == [0] * 9
    first, second = [(await system.counters(0))[0] for _ in range(2)]
    assert second > first


@cocotb.test()
async def each_gate_follows_its_own_command(dut: Any) -> None:
    """Every setting of the three, in either slot: what the gates say, and what goes through."""
    system = await ready(dut)
    dut.slot0_irq_i.value = dut.slot1_irq_i.value = 1
    for slot, (control, memory, interrupt) in itertools.product((0, 1), itertools.product((0, 1), repeat=3)):
        await system.open(slot, open_control=control, open_memory=memory, open_interrupt=interrupt)
        status = await system.get(slot, slot_ctrl.STATUS)
        gates = (1 - status["control_closed"], 1 - status["memory_closed"], status["interrupt"])
        assert gates == (control, memory, interrupt)
        system.module[slot].write_dword(0x40, 77)
        assert await system.read(MODULE[slot] + 0x40) == (77 if control else 0xDEAD0040)
        if memory:
            read = cocotb.start_soon(system.dma[slot].read((slot << 20) + 0x40, 8))
            assert (await with_timeout(read, 20, "us")).resp == AxiResp.OKAY
        await system.put(slot, slot_ctrl.FAULT_CLEAR, clear=1)


@cocotb.test()
@cocotb.parametrize(control=[{"open_interrupt": 0}, {"run": 0}])
async def software_ends_an_interrupt_whose_clock_stands(dut: Any, control: dict[str, int]) -> None:
    """Its gate, on the slot's clock, cannot: either setting is enough on this side."""
    system = await ready(dut)
    dut.slot0_irq_i.value = 1
    await system.until(0, interrupt=1)
    system.stop_clock(0)
    await system.put(0, slot_ctrl.CONTROL, **{"run": 1, "open_interrupt": 1, **control})
    await system.cycles(10)
    assert (await system.get(0, slot_ctrl.STATUS))["interrupt"] == 0


@cocotb.test()
async def a_fault_of_any_kind_is_an_interrupt_of_its_slot(dut: Any) -> None:
    system = await ready(dut)
    await system.write(axi_intc.MER.offset + window.INTC.offset, 3)
    for slot in (0, 1):
        line = axi_intc.Input.FAULT + slot
        await system.write(axi_intc.IER.offset + window.INTC.offset, 1 << line)
        for cause in (Cause.CONTROL_REFUSED, Cause.READ_OUTSIDE_WINDOW, Cause.CLOCK_LOST):
            assert dut.irq_o.value == 0
            if cause is Cause.CLOCK_LOST:
                # One that the accesses before began is still under way.
                await system.until(slot, clock_busy=0)
                system.stop_clock(slot)
                await system.put(slot, slot_ctrl.CLOCK_CHECK, start=1)
                await system.until(slot, clock_busy=0)
            elif cause is Cause.CONTROL_REFUSED:
                await system.open(slot, open_control=0)
                await system.read(MODULE[slot])
                await system.open(slot)
            else:
                await system.dma[slot].read(0x300000, 8)
            seen = slot_ctrl.CAUSE.decode(await system.read(system.bank(slot, slot_ctrl.CAUSE)))
            assert [name for name, value in seen.items() if value] == [cause.name.lower()]
            assert dut.irq_o.value == 1
            assert await system.read(axi_intc.IVR.offset + window.INTC.offset) == line
            await system.put(slot, slot_ctrl.FAULT_CLEAR, clear=1)
            await system.write(axi_intc.IAR.offset + window.INTC.offset, 1 << line)
            await system.cycles(5)


@cocotb.test()
async def stalls_are_counted_for_who_waits(dut: Any) -> None:
    """One context only writes, then another only reads, both short of tokens: nobody else waits for anything."""
    system = await ready(dut)
    await system.window(0, 1, 0, 0x1FFFFF, contexts=0xFFFF)
    await system.put(0, slot_ctrl.REGULATOR_BURST, bytes=2048)
    await system.put(0, slot_ctrl.REGULATOR_RATE, rate=1 << 15, enable=1)
    for context, write in ((5, True), (3, False)):
        await system.put(0, slot_ctrl.MONITOR_SNAPSHOT, memory_context=16, clear=1)
        await system.read(system.bank(0, slot_ctrl.COUNTER_LO, 0))
        for n in range(2):
            if write:
                await system.dma[0].write(n << 12, bytes(2048), user=context)
            else:
                await system.dma[0].read(n << 12, 2048, user=context)
        mine, everybodys = [(await system.counters(0, who))[7:] for who in (context, 16)]
        assert mine == everybodys
        assert (mine[0] > 0, mine[1] > 0) == (not write, write)
        assert mine[2] > 1000


@cocotb.test()
async def each_bit_of_the_bank_has_its_register(dut: Any) -> None:
    """An address that goes to a bank by its hash alone, then one that lies there: a row hit, in that bit alone."""
    system = await ready(dut)
    await system.window(0, 1, 0, 0x1FFFFF)
    await system.put(0, slot_ctrl.MONITOR_GEOMETRY, bank_shift=14, bank_bits=5, row_shift=19)
    hashes = (*(getattr(slot_ctrl, f"MONITOR_HASH{bit}") for bit in range(5)),)
    for bit, register in enumerate(hashes):
        await system.put(0, register, address=1 << 13 - 12)
        await system.put(0, slot_ctrl.MONITOR_SNAPSHOT, memory_context=16, clear=1)
        await system.read(system.bank(0, slot_ctrl.COUNTER_LO, 0))
        for address in (1 << 13, 1 << 14 + bit):
            await system.dma[0].read(address, 8)
        assert (await system.counters(0))[5:7] == [1, 1], f"bit {bit}"
        await system.put(0, register)


@cocotb.test()
async def a_slot_can_be_swapped_in_mid_burst(dut: Any) -> None:
    system = await ready(dut)
    for round_ in range(3):
        old = [cocotb.start_soon(system.dma[0].write(n << 12, bytes([round_]) * 4096)) for n in range(4)]
        await system.cycles(60 + 37 * round_)
        await system.put(0, slot_ctrl.CONTROL)
        await system.until(0, memory_idle=1, in_reset=1, control_closed=1, memory_closed=1)
        for task in old:
            task.cancel()
        await system.put(0, slot_ctrl.FAULT_CLEAR, clear=1)
        await system.cycles(50)
        await system.open(0)
        await system.write(MODULE[0] + 0x30, round_)
        assert await system.read(MODULE[0] + 0x30) == round_
    assert await system.read(system.bank(0, slot_ctrl.CAUSE)) == 0
    assert (await system.dma[1].write(0x100000, b"whole")).resp == AxiResp.OKAY
    assert system.ram.read(0x100000, 5) == b"whole"


@cocotb.test()
async def an_idle_shell_is_still(dut: Any) -> None:
    system = await ready(dut)
    await system.dma[0].write(0x1000, bytes(300))
    await system.read(MODULE[1])
    await system.cycles(3 * CLOCK_TIMEOUT)
    outputs = [name for name in dir(dut) if name.startswith(("m_axi_", "slot0_", "slot1_", "s_axil_"))]
    seen = {name: str(getattr(dut, name).value) for name in outputs if not name.endswith("clk_i")}
    for _ in range(200):
        await RisingEdge(dut.clk_i)
        changed = [name for name, value in seen.items() if str(getattr(dut, name).value) != value]
        assert not changed
