# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The control path: every register access ends within its bound, whatever the module does."""

from __future__ import annotations

from typing import Any

import cocotb
from boundary_bench import Boundary
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb.utils import get_sim_time

TIMEOUT = 50
SLVERR = 2


async def start(dut: Any) -> tuple[Boundary, Any]:
    bench = Boundary(dut)
    await bench.start()
    dut.ctrl_timeout_i.value = TIMEOUT
    return bench, bench.cpu()


async def timed_read(cpu: Any, address: int) -> tuple[int, int, float]:
    begin = get_sim_time("ns")
    answer = await cpu.read(address, 4)
    return int.from_bytes(answer.data, "little"), int(answer.resp), (get_sim_time("ns") - begin) / 10


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_dead_module_reads_poison_within_the_bound(dut: Any) -> None:
    bench, cpu = await start(dut)
    word, resp, cycles = await timed_read(cpu, 0x1234)
    assert (word, resp) == (0xDEAD1234, 0)
    assert TIMEOUT <= cycles <= TIMEOUT + 10
    assert await bench.cause() == "control-timeout"
    assert int(dut.fault_addr_o.value) == 0x1234
    # The next one does not wait again: the first is still with the module.
    word, _, cycles = await timed_read(cpu, 0x20)
    assert word == 0xDEAD0020
    assert cycles <= 10
    answer = await cpu.write(0x40, b"\1\2\3\4")
    assert int(answer.resp) == 0
    assert int(dut.fault_addr_o.value) == 0x1234, "the first fault is kept"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_late_answer_is_swallowed_and_the_path_works_again(dut: Any) -> None:
    bench, cpu = await start(dut)
    dut.slot_axil_arready.value = 1
    assert (await timed_read(cpu, 0x10))[0] == 0xDEAD0010
    assert dut.ctrl_idle_o.value == 0
    # The answer to 0x10 comes now; it must not be taken for that of 0x14.
    dut.slot_axil_rdata.value = 0x0BAD_0BAD
    dut.slot_axil_rvalid.value = 1
    await RisingEdge(dut.clk_i)
    dut.slot_axil_rvalid.value = 0
    await ClockCycles(dut.clk_i, 2)
    assert dut.ctrl_idle_o.value == 1
    reading = cocotb.start_soon(timed_read(cpu, 0x14))
    await bench.until(lambda: dut.slot_axil_arvalid.value == 1, 20)
    await ClockCycles(dut.clk_i, 3)
    dut.slot_axil_rdata.value = 0x600D
    dut.slot_axil_rvalid.value = 1
    await RisingEdge(dut.clk_i)
    dut.slot_axil_rvalid.value = 0
    assert (await reading)[0] == 0x600D


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_closed_path_refuses_at_once(dut: Any) -> None:
    bench, cpu = await start(dut)
    dut.ctrl_open_i.value = 0
    word, resp, cycles = await timed_read(cpu, 0x30)
    assert (word, resp) == (0xDEAD0030, 0)
    assert cycles <= 10
    assert await bench.cause() == "control-refused"
    assert dut.slot_axil_arvalid.value == 0
    dut.slverr_i.value = 1
    assert (await timed_read(cpu, 0x30))[1] == SLVERR
    assert int((await cpu.write(0x30, b"abcd")).resp) == SLVERR


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def closing_answers_what_is_under_way(dut: Any) -> None:
    bench, cpu = await start(dut)
    dut.ctrl_timeout_i.value = 10_000
    reading = cocotb.start_soon(timed_read(cpu, 0x50))
    await ClockCycles(dut.clk_i, 20)
    assert not reading.done()
    dut.ctrl_open_i.value = 0
    word, _, cycles = await reading
    assert word == 0xDEAD0050
    assert cycles <= 30
    assert await bench.cause() == "control-refused"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_module_cannot_cause_a_bus_error(dut: Any) -> None:
    bench, cpu = await start(dut)
    dut.slot_axil_arready.value = 1
    dut.slot_axil_rvalid.value = 1
    dut.slot_axil_rresp.value = 3
    word, resp, _ = await timed_read(cpu, 0x60)
    assert (word, resp) == (0xDEAD0060, 0)
    assert await bench.cause() == "control-refused"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_path_reset_forgets_late_accesses_and_clear_the_fault(dut: Any) -> None:
    bench, cpu = await start(dut)
    await timed_read(cpu, 0x70)
    await cpu.write(0x70, b"abcd")
    assert dut.ctrl_idle_o.value == 0
    dut.clear_path_i.value = 1
    dut.clear_i.value = 1
    await ClockCycles(dut.clk_i, 2)
    dut.clear_i.value = 0
    dut.clear_path_i.value = 0
    await ClockCycles(dut.clk_i, 2)
    assert dut.ctrl_idle_o.value == 1
    assert await bench.cause() == "none"
    bench.module_registers()
    await cpu.write_dword(0x70, 77)
    assert await cpu.read_dword(0x70) == 77
