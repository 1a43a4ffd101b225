# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory path: what is refused, what is made good, and what memory sees of it."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from boundary_bench import Boundary
from cocotb.triggers import ClockCycles, RisingEdge

OKAY, SLVERR = 0, 2
FIXED, INCR, WRAP = 0, 1, 2
TIMEOUT = 60


def legal(address: int, length: int, size: int, burst: int, bus_bytes: int) -> bool:
    """AXI's rules, written from the specification's text and not from the RTL."""
    beats, width = length + 1, 1 << size
    if width > bus_bytes or burst not in (FIXED, INCR, WRAP):
        return False
    if burst == FIXED:
        return beats <= 16
    if burst == WRAP:
        return beats in (2, 4, 8, 16) and address % width == 0
    return (address // width * width + beats * width - 1) // 4096 == address // 4096


async def start(dut: Any) -> tuple[Boundary, Any]:
    bench = Boundary(dut)
    await bench.start()
    dut.mem_timeout_i.value = TIMEOUT
    memory = bench.memory()
    bench.window(0, 2, 3, contexts=1 << 1)
    bench.window(1, 5, 5, write=False, contexts=0xFFFF)
    bench.window(2, 7, 7, read=False, contexts=0xFFFF)
    await bench.windows_set()
    return bench, memory


async def request(dut: Any, channel: str, address: int, length: int = 0, size: int = 3, burst: int = INCR) -> None:
    await request_as(dut, channel, address, 1, length, size, burst)


async def request_as(
    dut: Any, channel: str, address: int, context: int, length: int = 0, size: int = 3, burst: int = INCR
) -> None:
    values = {"id": 3, "addr": address, "len": length, "size": size, "burst": burst, "user": context}
    for name, value in values.items():
        getattr(dut, f"slot_axi_{channel}{name}").value = value
    getattr(dut, f"slot_axi_{channel}valid").value = 1
    await RisingEdge(dut.clk_i)
    while getattr(dut, f"slot_axi_{channel}ready").value == 0:
        await RisingEdge(dut.clk_i)
    getattr(dut, f"slot_axi_{channel}valid").value = 0


async def data(dut: Any, beats: int, *, last: int | None = None, word: int = 0x1111_1111_1111_1111) -> None:
    for beat in range(beats):
        dut.slot_axi_wdata.value = word
        dut.slot_axi_wstrb.value = 0xFF
        dut.slot_axi_wlast.value = int(beat == (beats - 1 if last is None else last))
        dut.slot_axi_wvalid.value = 1
        await RisingEdge(dut.clk_i)
        while dut.slot_axi_wready.value == 0:
            await RisingEdge(dut.clk_i)
        dut.slot_axi_wvalid.value = 0


async def answer(dut: Any) -> int:
    dut.slot_axi_bready.value = 1
    await RisingEdge(dut.clk_i)
    while dut.slot_axi_bvalid.value == 0:
        await RisingEdge(dut.clk_i)
    assert int(dut.slot_axi_bid.value) == 3
    dut.slot_axi_bready.value = 0
    return int(dut.slot_axi_bresp.value)


async def beats(dut: Any) -> list[int]:
    """The responses of the beats of one read."""
    dut.slot_axi_rready.value = 1
    got: list[int] = []
    while True:
        await RisingEdge(dut.clk_i)
        if dut.slot_axi_rvalid.value == 1:
            got.append(int(dut.slot_axi_rresp.value))
            if dut.slot_axi_rlast.value == 1:
                dut.slot_axi_rready.value = 0
                return got


class Watch:
    """Counts what memory is asked."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.addresses: list[int] = []
        self.lasts: list[tuple[int, int]] = []
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk_i)
            for channel in ("aw", "ar"):
                if getattr(dut, f"mem_axi_{channel}valid").value == 1 == getattr(dut, f"mem_axi_{channel}ready").value:
                    self.addresses.append(int(getattr(dut, f"mem_axi_{channel}addr").value))
            if dut.mem_axi_wvalid.value == 1 == dut.mem_axi_wready.value:
                self.lasts.append((int(dut.mem_axi_wstrb.value), int(dut.mem_axi_wlast.value)))


async def clear(dut: Any) -> None:
    dut.clear_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.clear_i.value = 0
    await RisingEdge(dut.clk_i)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def windows_hold_per_page_direction_and_context(dut: Any) -> None:
    bench, _ = await start(dut)
    watch = Watch(dut)
    cases = [
        ("ar", 0x2000, 1, "none"),
        ("ar", 0x3FF8, 1, "none"),
        ("ar", 0x1FF8, 1, "read-outside-window"),
        ("ar", 0x4000, 1, "read-outside-window"),
        ("ar", 0x2000, 2, "read-outside-window"),
        ("ar", 0x5000, 9, "none"),
        ("aw", 0x5000, 9, "write-outside-window"),
        ("aw", 0x7000, 9, "none"),
        ("ar", 0x7000, 9, "read-outside-window"),
        ("aw", 0x80_0000_2000, 1, "write-outside-window"),
    ]
    for channel, address, context, cause in cases:
        await request_as(dut, channel, address, context)
        if channel == "aw":
            await data(dut, 1)
            resp = await answer(dut)
        else:
            resp = (await beats(dut))[-1]
        assert resp == (OKAY if cause == "none" else SLVERR)
        assert await bench.cause() == cause
        if cause != "none":
            assert int(dut.fault_addr_o.value) == address
            assert int(dut.fault_context_o.value) == context
        assert dut.isolated_o.value == 0
        await clear(dut)
    assert watch.addresses == [address for _, address, _, cause in cases if cause == "none"]


async def clear_later(dut: Any, cycles: int) -> None:
    await ClockCycles(dut.clk_i, cycles)
    dut.clear_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.clear_i.value = 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(later=[-1, 0, 1, 2, 3])
async def a_clear_forgets_what_was_before_it_alone(dut: Any, later: int) -> None:
    """Clear that many cycles after the one in which a burst is refused."""
    bench, _ = await start(dut)
    await RisingEdge(dut.clk_i)
    clearing = cocotb.start_soon(clear_later(dut, 2 + later))
    await ClockCycles(dut.clk_i, 2)
    await request(dut, "ar", 0x2000, burst=3)
    assert await beats(dut) == [SLVERR]
    await clearing
    await RisingEdge(dut.clk_i)
    assert await bench.cause() == ("illegal-burst" if later <= 0 else "none")


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_burst_is_judged_as_the_specification_does(dut: Any) -> None:
    bench, _ = await start(dut)
    bench.window(0, 0, 15)
    await bench.windows_set()
    rng, whole = random.Random(17), len(dut.slot_axi_wstrb).bit_length() - 1
    allowed = 0
    for _ in range(150):
        size, burst = (
            rng.choice([0, 1, 2, whole - 1, whole, whole, whole + 1]),
            rng.choice([FIXED, INCR, INCR, WRAP, WRAP, 3]),
        )
        length = rng.choice([0, 1, 3, 7, 15, 2, 16, rng.randrange(64)])
        address = 0x3000 + rng.choice([rng.randrange(4096), 0xFC0 + rng.randrange(64), rng.randrange(0, 4096, 8)])
        good = legal(address, length, size, burst, 1 << whole)
        allowed += good
        await request(dut, "ar", address, length, size, burst)
        got = await beats(dut)
        assert len(got) == length + 1
        assert set(got) == {OKAY if good else SLVERR}, (hex(address), length, size, burst)
        assert await bench.cause() == ("none" if good else "illegal-burst")
        await clear(dut)
    assert 30 < allowed < 120, "the mix must hold both kinds"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def stalled_write_data_is_made_up_without_writing(dut: Any) -> None:
    bench, memory = await start(dut)
    memory.write(0x2000, bytes(range(64)))
    watch = Watch(dut)
    await request(dut, "aw", 0x2000, 7)
    await data(dut, 3, last=99)
    cycles = await bench.until(lambda: dut.mem_idle_o.value == 1 and dut.isolated_o.value == 1, TIMEOUT + 40)
    assert cycles >= TIMEOUT - 5
    assert await bench.cause() == "write-stalled"
    assert int(dut.fault_addr_o.value) == 0x2000
    assert [last for _, last in watch.lasts] == [0] * 7 + [1]
    assert [strb for strb, _ in watch.lasts] == [0xFF] * 3 + [0] * 5
    assert memory.read(0x2000, 64) == b"\x11" * 24 + bytes(range(24, 64))
    # Isolated: nothing more gets through.
    dut.slot_axi_arvalid.value = 1
    await ClockCycles(dut.clk_i, 30)
    assert len(watch.addresses) == 1
    dut.slot_axi_arvalid.value = 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(last=[1, 99])
async def a_last_in_the_wrong_beat_isolates(dut: Any, last: int) -> None:
    bench, _ = await start(dut)
    watch = Watch(dut)
    await request(dut, "aw", 0x2000, 3)
    sending = cocotb.start_soon(data(dut, 4, last=last))
    await bench.until(lambda: dut.mem_idle_o.value == 1 and dut.isolated_o.value == 1, 60)
    assert await bench.cause() == "illegal-burst"
    assert [last for _, last in watch.lasts] == [0, 0, 0, 1]
    sending.cancel()


def blamed(dut: Any) -> tuple[int, int]:
    """Address and context of the fault that is told."""
    return int(dut.fault_addr_o.value), int(dut.fault_context_o.value)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(what=["early", "late", "none"], which=[0, 1, 2, 3], waits=[0, 1])
async def a_fault_of_data_names_the_burst_it_is_owed_to(dut: Any, what: str, which: int, waits: int) -> None:
    """Four bursts of four contexts are under way, and a fifth one's request waits, or nothing does."""
    bench, _ = await start(dut)
    dut.slot_axi_bready.value = 1
    bursts = [(0x2000, 1), (0x7000, 9), (0x7100, 6), (0x7200, 3)]
    for address, context in bursts:
        await request_as(dut, "aw", address, context, 3)
    dut.slot_axi_awaddr.value, dut.slot_axi_awuser.value, dut.slot_axi_awvalid.value = 0x7300, 12, waits
    for _ in range(which):
        await data(dut, 4)
    sending = cocotb.start_soon(data(dut, 0 if what == "none" else 4, last=1 if what == "early" else 99))
    await bench.until(lambda: dut.isolated_o.value == 1, TIMEOUT + 40)
    assert await bench.cause() == ("write-stalled" if what == "none" else "illegal-burst")
    assert blamed(dut) == bursts[which]
    sending.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(channel=["aw", "ar"])
async def a_stalled_response_names_the_latest_burst(dut: Any, channel: str) -> None:
    bench, _ = await start(dut)
    await request_as(dut, channel, 0x2000, 1, 3)
    latest = (0x7000, 9) if channel == "aw" else (0x5000, 9)
    await request_as(dut, channel, *latest, 3)
    for _ in range(2 if channel == "aw" else 0):
        await data(dut, 4)
    # What is offered next is none of it.
    getattr(dut, f"slot_axi_{channel}addr").value, getattr(dut, f"slot_axi_{channel}user").value = 0x2000, 1
    await bench.until(lambda: dut.isolated_o.value == 1, 2 * TIMEOUT)
    assert await bench.cause() == "response-stalled"
    assert blamed(dut) == latest


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(channel=["aw", "ar"])
async def responses_that_are_not_taken_are_sunk(dut: Any, channel: str) -> None:
    bench, _ = await start(dut)
    await request(dut, channel, 0x2000, 3)
    if channel == "aw":
        await data(dut, 4)
    await bench.until(lambda: dut.isolated_o.value == 1, TIMEOUT + 40)
    await bench.until(lambda: dut.mem_idle_o.value == 1, 20)
    assert await bench.cause() == "response-stalled"
    assert dut.slot_axi_bvalid.value == 0
    assert dut.slot_axi_rvalid.value == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def quiescing_finishes_what_is_under_way_and_starts_nothing(dut: Any) -> None:
    bench, _ = await start(dut)
    watch = Watch(dut)
    await request(dut, "aw", 0x2000, 3)
    dut.quiesce_i.value = 1
    dut.slot_axi_arvalid.value = 1
    dut.slot_axi_araddr.value = 0x2000
    await ClockCycles(dut.clk_i, 20)
    assert dut.mem_idle_o.value == 0
    await data(dut, 4)
    assert await answer(dut) == OKAY
    await bench.until(lambda: dut.mem_idle_o.value == 1, 5)
    await ClockCycles(dut.clk_i, 20)
    assert watch.addresses == [0x2000]
    dut.quiesce_i.value = 0
    await bench.until(lambda: len(watch.addresses) == 2, 20)
    assert await bench.cause() == "none"


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(how=["revoked", "windows closed"])
async def memory_taken_away_is_reached_no_more_once_drained(dut: Any, how: str) -> None:
    bench, _ = await start(dut)
    watch = Watch(dut)
    # One write without its data, one read: both admitted before.
    await request(dut, "aw", 0x2000, 3)
    await request(dut, "ar", 0x3000, 1)
    assert dut.mem_drained_o.value == 0
    if how == "revoked":
        dut.revoke_i.value = 1
    else:
        for index in range(3):
            bench.window(index, 0, 0, read=False, write=False, contexts=0)
        await bench.windows_set()
    await ClockCycles(dut.clk_i, 20)
    assert dut.mem_drained_o.value == 0, "the write's data is still to come"
    await data(dut, 4)
    assert await answer(dut) == OKAY
    assert await beats(dut) == [OKAY, OKAY]
    await bench.until(lambda: dut.mem_drained_o.value == 1, 5)
    # What comes now is refused, and a refused write that keeps its data back does not look like one to memory.
    await request(dut, "aw", 0x2000, 3)
    for _ in range(20):
        await RisingEdge(dut.clk_i)
        assert (dut.mem_idle_o.value, dut.mem_drained_o.value) == (0, 1)
    assert await bench.cause() == "write-outside-window"
    assert watch.addresses == [0x2000, 0x3000]
    await data(dut, 4)
    assert await answer(dut) == SLVERR
    if how == "revoked":
        dut.revoke_i.value = 0
        await request(dut, "ar", 0x3000)
        assert await beats(dut) == [OKAY]
        assert len(watch.addresses) == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_forced_close_finishes_bursts_and_leaks_nothing_to_the_next_module(dut: Any) -> None:
    bench, memory = await start(dut)
    memory.read_if.r_channel.set_pause_generator(None)
    memory.read_if.r_channel.pause = True
    await request(dut, "ar", 0x2000, 3)
    await request(dut, "aw", 0x2000, 7)
    dut.mem_open_i.value = 0
    await ClockCycles(dut.clk_i, 30)
    assert dut.mem_idle_o.value == 0, "memory still owes the read"
    # Opened again too early: the old read's data must not reach the new module.
    dut.mem_open_i.value = 1
    dut.slot_axi_rready.value = 1
    memory.read_if.r_channel.pause = False
    for _ in range(20):
        await RisingEdge(dut.clk_i)
        assert dut.slot_axi_rvalid.value == 0
    dut.slot_axi_rready.value = 0
    assert dut.mem_idle_o.value == 1
    assert await bench.cause() == "none"
    await request(dut, "ar", 0x2000, 1)
    assert await beats(dut) == [OKAY, OKAY]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def outstanding_bursts_are_bounded(dut: Any) -> None:
    bench, memory = await start(dut)
    memory.read_if.r_channel.pause = True
    watch = Watch(dut)
    dut.slot_axi_araddr.value = 0x2000
    dut.slot_axi_arlen.value = 0
    dut.slot_axi_arsize.value = 3
    dut.slot_axi_arburst.value = INCR
    dut.slot_axi_aruser.value = 1
    dut.slot_axi_arvalid.value = 1
    await ClockCycles(dut.clk_i, 40)
    assert len(watch.addresses) == int(dut.MaxOutstanding.value)
    assert await bench.cause() == "none"
