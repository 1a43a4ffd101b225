# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The gates: closed out of reset, deaf to garbage, idle toward the slot, and good as new when opened again."""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from boundary_bench import Boundary, both_ways
from cocotb.triggers import ClockCycles, RisingEdge

FROM_SLOT = (
    "slot_axi_awvalid",
    "slot_axi_wvalid",
    "slot_axi_arvalid",
    "slot_axi_bready",
    "slot_axi_rready",
    "slot_axi_awaddr",
    "slot_axi_wdata",
    "slot_axil_awready",
    "slot_axil_wready",
    "slot_axil_bvalid",
    "slot_axil_arready",
    "slot_axil_rvalid",
    "slot_axil_rdata",
    "slot_irq_i",
)
TO_FABRIC = (
    "mem_axi_awvalid",
    "mem_axi_wvalid",
    "mem_axi_arvalid",
    "mem_axi_bready",
    "mem_axi_rready",
    "cpu_axil_awready",
    "cpu_axil_wready",
    "cpu_axil_bvalid",
    "cpu_axil_arready",
    "cpu_axil_rvalid",
    "irq_o",
)
TO_SLOT = (
    "slot_axil_awvalid",
    "slot_axil_wvalid",
    "slot_axil_arvalid",
    "slot_axil_bready",
    "slot_axil_rready",
    "slot_axil_wdata",
    "slot_axi_awready",
    "slot_axi_bvalid",
    "slot_axi_rvalid",
    "slot_axi_rdata",
)


async def garbage(dut: Any, rng: random.Random) -> None:
    while True:
        for name in FROM_SLOT:
            signal = getattr(dut, name)
            signal.value = rng.getrandbits(len(signal))
        await RisingEdge(dut.clk_i)


async def nothing_crosses(dut: Any, cycles: int) -> None:
    for _ in range(cycles):
        await RisingEdge(dut.clk_i)
        for name in TO_FABRIC + TO_SLOT:
            assert int(getattr(dut, name).value) == 0, name


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def closed_out_of_reset_whatever_the_slot_drives(dut: Any) -> None:
    bench = Boundary(dut)
    await bench.start(opened=False)
    noise = cocotb.start_soon(garbage(dut, random.Random(5)))
    await nothing_crosses(dut, 200)
    assert (dut.ctrl_open_o.value, dut.mem_open_o.value, dut.irq_open_o.value) == (0, 0, 0)
    noise.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reset_closes_open_gates(dut: Any) -> None:
    bench = Boundary(dut)
    await bench.start()
    assert dut.mem_open_o.value == 1
    dut.clear_path_i.value = 1
    await ClockCycles(dut.clk_i, 2)
    noise = cocotb.start_soon(garbage(dut, random.Random(6)))
    await nothing_crosses(dut, 20)
    noise.cancel()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_gate_follows_its_own_command(dut: Any) -> None:
    """From every setting of the three to every other one: what the gates say, and what crosses."""
    bench = Boundary(dut)
    await bench.start(opened=False)
    dut.cpu_axil_arvalid.value = dut.slot_axi_arvalid.value = dut.slot_irq_i.value = 1
    for before, after in itertools.permutations(itertools.product((0, 1), repeat=3), 2):
        for setting in (before, after):
            dut.ctrl_open_i.value, dut.mem_open_i.value, dut.irq_open_i.value = setting
            await ClockCycles(dut.clk_i, 6)
            gates = (dut.ctrl_open_o.value, dut.mem_open_o.value, dut.irq_open_o.value)
            crossing = (dut.slot_axil_arvalid.value, dut.mem_axi_arvalid.value, dut.irq_o.value)
            assert gates == crossing == setting


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def traffic_is_right_after_garbage(dut: Any) -> None:
    bench = Boundary(dut)
    await bench.start(opened=False)
    noise = cocotb.start_soon(garbage(dut, random.Random(7)))
    await ClockCycles(dut.clk_i, 100)
    noise.cancel()
    bench.idle_slot()
    dut.slot_irq_i.value = 0
    await ClockCycles(dut.clk_i, 3)
    for name in ("ctrl_open_i", "mem_open_i", "irq_open_i"):
        getattr(dut, name).value = 1
    await ClockCycles(dut.clk_i, 5)
    await both_ways(bench, seed=11, rate=0.2)
