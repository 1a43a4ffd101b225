# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The shell's own bank through its register map: identity, time, bad accesses, the configuration port's events."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge
from eddy_drivers.regs import shell
from eddy_drivers.regs.base import Register

SYNCHRONIZER = 3
"""Most cycles until a level of another clock is seen."""
CONFIG = ("avail", "prdone", "prerror")


async def start(dut: Any, levels: int = 0) -> None:
    for name in ("sel_i", "write_i", "addr_i", "wdata_i", "wstrb_i", "miss_i", "miss_addr_i"):
        getattr(dut, name).value = 0
    for name in ("flush_busy", "hits", "misses"):
        getattr(dut, f"cache_{name}_i").value = 0
    for bit, name in enumerate(CONFIG):
        getattr(dut, f"cfg_{name}_i").value = levels >> bit & 1
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 5)
    await FallingEdge(dut.clk_i)
    assert (dut.ack_o.value, dut.slverr_o.value, dut.cfg_irq_o.value, int(dut.cycles_o.value)) == (0, 0, 0, 0)
    dut.rst_ni.value = 1


async def access(dut: Any, offset: int, data: int | None = None, strb: int = 15) -> tuple[int, bool]:
    """One access: (what was read, whether nothing was there)."""
    dut.sel_i.value, dut.write_i.value, dut.addr_i.value = 1, int(data is not None), offset
    dut.wdata_i.value, dut.wstrb_i.value = data or 0, strb
    await FallingEdge(dut.clk_i)
    dut.sel_i.value = 0
    assert dut.ack_o.value == 1, "answered in the cycle after"
    answer = int(dut.rdata_o.value), bool(dut.err_o.value == 1)
    await FallingEdge(dut.clk_i)
    assert dut.ack_o.value == 0
    return answer


async def get(dut: Any, register: Register) -> dict[str, int]:
    value, missing = await access(dut, register.offset)
    assert not missing
    return register.decode(value)


async def put(dut: Any, register: Register, strb: int = 15, **fields: int) -> None:
    _, missing = await access(dut, register.offset, register.encode(**fields), strb)
    assert not missing


async def miss(dut: Any, address: int) -> None:
    dut.miss_i.value, dut.miss_addr_i.value = 1, address
    await FallingEdge(dut.clk_i)
    dut.miss_i.value, dut.miss_addr_i.value = 0, 0xFFFFFF


@cocotb.test()
async def it_says_what_it_is(dut: Any) -> None:
    await start(dut)
    assert await get(dut, shell.ID) == shell.ID.decode(shell.ID.reset)
    assert (await get(dut, shell.CONFIG))["slots"] == int(dut.NumSlots.value)
    low, high = [(await access(dut, register.offset))[0] for register in (shell.BUILD_LO, shell.BUILD_HI)]
    assert high << 32 | low == int(dut.BuildHash.value) != 0
    # What cannot be written stays.
    for register in (shell.ID, shell.CONFIG, shell.BUILD_LO, shell.CYCLES_HI):
        before = await access(dut, register.offset)
        await access(dut, register.offset, 0xFFFF_FFFF)
        assert await access(dut, register.offset) == before


@cocotb.test()
async def where_nothing_is_it_says_so(dut: Any) -> None:
    await start(dut)
    known = {register.offset for register in shell.REGISTERS}
    rng = random.Random(61)
    for offset in [*range(0, 0x100, 4), *(rng.randrange(0x4000) * 4 for _ in range(60)), 0xFFFC]:
        for data in (None, 0):
            _, missing = await access(dut, offset, data)
            assert missing == (offset not in known), f"{offset:#x}"


@cocotb.test()
async def time_is_read_whole_while_it_goes_on(dut: Any) -> None:
    """The counter is set just below a carry; the two words read one after the other are of one moment."""
    await start(dut)
    rng = random.Random(62)
    for _ in range(40):
        carry = rng.getrandbits(31) + 1
        dut.cycles_q.value = (carry << 32) - rng.randrange(1, 12)
        await FallingEdge(dut.clk_i)
        at = int(dut.cycles_o.value)
        low, _ = await access(dut, shell.CYCLES_LO.offset)
        for _ in range(rng.randrange(6)):
            await FallingEdge(dut.clk_i)
        high, _ = await access(dut, shell.CYCLES_HI.offset)
        assert high << 32 | low == at


@cocotb.test()
async def time_counts_every_cycle(dut: Any) -> None:
    await start(dut)
    for cycle in range(200):
        assert int(dut.cycles_o.value) == cycle
        await FallingEdge(dut.clk_i)


@cocotb.test()
async def the_first_bad_access_is_kept_until_it_is_cleared(dut: Any) -> None:
    await start(dut)
    rng = random.Random(63)
    for _ in range(20):
        assert (await get(dut, shell.BAD_ACCESS))["seen"] == 0
        first = rng.getrandbits(24)
        await miss(dut, first)
        for _ in range(rng.randrange(4)):
            await miss(dut, rng.getrandbits(24))
        assert (await get(dut, shell.BAD_ACCESS))["seen"] == 1
        assert (await get(dut, shell.BAD_ADDRESS))["offset"] == first
        # Zero, and other bytes, clear nothing.
        await put(dut, shell.BAD_ACCESS, seen=0)
        await put(dut, shell.BAD_ACCESS, strb=0b1110, seen=1)
        assert (await get(dut, shell.BAD_ACCESS))["seen"] == 1
        await put(dut, shell.BAD_ACCESS, seen=1)


@cocotb.test()
async def a_bad_access_in_the_cycle_of_the_clearing_is_not_lost(dut: Any) -> None:
    await start(dut)
    await miss(dut, 0x123456)
    dut.sel_i.value, dut.write_i.value, dut.addr_i.value = 1, 1, shell.BAD_ACCESS.offset
    dut.wdata_i.value, dut.wstrb_i.value = 1, 15
    await miss(dut, 0x000777)
    dut.sel_i.value = 0
    await FallingEdge(dut.clk_i)
    assert (await get(dut, shell.BAD_ACCESS))["seen"] == 1


@cocotb.test()
async def slverr_is_a_setting(dut: Any) -> None:
    await start(dut)
    await put(dut, shell.BAD_ACCESS, slverr=1)
    assert dut.slverr_o.value == 1
    # Its byte is its own.
    await put(dut, shell.BAD_ACCESS, strb=0b0001, slverr=0)
    assert dut.slverr_o.value == 1
    await put(dut, shell.BAD_ACCESS, slverr=0)
    assert dut.slverr_o.value == 0


@dataclass
class Model:
    """The sticky events after a sequence of levels and clearings."""

    done: int = 0
    error: int = 0
    levels: int = 0

    def change(self, levels: int) -> None:
        self.done |= levels >> 1 & ~(self.levels >> 1) & 1
        self.error |= levels >> 2 & ~(self.levels >> 2) & 1
        self.levels = levels


@cocotb.test()
async def the_ports_events_are_kept_and_interrupt_where_enabled(dut: Any) -> None:
    await start(dut)
    rng, model = random.Random(64), Model()
    for _ in range(150):
        levels = rng.getrandbits(3)
        for bit, name in enumerate(CONFIG):
            getattr(dut, f"cfg_{name}_i").value = levels >> bit & 1
        model.change(levels)
        await ClockCycles(dut.clk_i, SYNCHRONIZER + 1)
        await FallingEdge(dut.clk_i)
        status = await get(dut, shell.CFG_STATUS)
        shown = {"avail": levels & 1, "prdone": levels >> 1 & 1, "prerror": levels >> 2}
        assert status == {**shown, "done_seen": model.done, "error_seen": model.error}
        enabled = {"done": rng.getrandbits(1), "error": rng.getrandbits(1)}
        await put(dut, shell.CFG_IRQ, **enabled)
        assert dut.cfg_irq_o.value == (model.done & enabled["done"] | model.error & enabled["error"])
        clear = {"done_seen": rng.getrandbits(1), "error_seen": rng.getrandbits(1)}
        await put(dut, shell.CFG_STATUS, **clear)
        model.done &= ~clear["done_seen"]
        model.error &= ~clear["error_seen"]
        assert dut.cfg_irq_o.value == (model.done & enabled["done"] | model.error & enabled["error"])


@cocotb.test()
async def a_level_from_before_the_reset_is_no_event(dut: Any) -> None:
    await start(dut, levels=0b111)
    await ClockCycles(dut.clk_i, 10)
    await FallingEdge(dut.clk_i)
    status = await get(dut, shell.CFG_STATUS)
    assert status == {"avail": 1, "prdone": 1, "prerror": 1, "done_seen": 0, "error_seen": 0}


@cocotb.test()
async def the_cache_is_told_what_to_flush_and_whom_to_keep(dut: Any) -> None:
    await start(dut)
    assert await get(dut, shell.CACHE) == {"log2_bytes": 12, "ways": 4}
    assert (dut.cache_force_o.value, dut.cache_flush_o.value) == (0xFFFF, 0)
    await put(dut, shell.CACHE_FORCE, slots=0x0155)
    assert dut.cache_force_o.value == 0x0155
    await put(dut, shell.CACHE_FLUSH_FIRST, page=0x0ABCDEF)
    await put(dut, shell.CACHE_FLUSH_LAST, page=0xFEDCBA9)
    for flushes, busy in ((1, 0), (1, 1), (2, 0)):
        dut.cache_flush_busy_i.value = busy
        assert (await get(dut, shell.CACHE_FLUSH))["busy"] == busy
        dut.sel_i.value, dut.write_i.value, dut.addr_i.value, dut.wdata_i.value = 1, 1, shell.CACHE_FLUSH.offset, 1
        await FallingEdge(dut.clk_i)
        dut.sel_i.value = 0
        assert dut.cache_flush_o.value == 1
        assert (int(dut.cache_flush_first_o.value), int(dut.cache_flush_last_o.value)) == (0x0ABCDEF, 0xFEDCBA9)
        await FallingEdge(dut.clk_i)
        assert dut.cache_flush_o.value == 0, "a pulse"
        assert (await get(dut, shell.CACHE_FLUSHES))["flushes"] == flushes


@cocotb.test()
async def the_cache_counters_are_read_whole(dut: Any) -> None:
    await start(dut)
    await put(dut, shell.CACHE_COUNT, slot=6)
    assert dut.cache_slot_o.value == 6
    for name, low, high in (
        ("hits", shell.CACHE_HITS_LO, shell.CACHE_HITS_HI),
        ("misses", shell.CACHE_MISSES_LO, shell.CACHE_MISSES_HI),
    ):
        getattr(dut, f"cache_{name}_i").value = 0x12_FFFF_FFFF
        first = (await get(dut, low))["lines"]
        getattr(dut, f"cache_{name}_i").value = 0x13_0000_0000
        assert (await get(dut, high))["lines"] << 32 | first == 0x12_FFFF_FFFF
