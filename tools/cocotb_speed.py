# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Idle cycles and register reads of a 4-slot shell in cocotb, for `tools/benches/sim.py`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

IDLE_CYCLES = 50_000
READS = 1_000


@cocotb.test()
async def speed(dut: Any) -> None:
    """Measure, and leave the rates where the environment says."""
    for name in ("cfg_avail_i", "cfg_prdone_i", "cfg_prerror_i", "m_axi_bvalid", "m_axi_rvalid", "m_axi_arready"):
        getattr(dut, name).value = 0
    dut.rst_ni.value = 0
    await Timer(5, "ns")  # the reset is there before the first edge
    Clock(dut.clk_i, 10, "ns").start()
    cpu = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await ClockCycles(dut.clk_i, 16)
    dut.rst_ni.value = 1
    await ClockCycles(dut.clk_i, 16)
    assert int.from_bytes((await cpu.read(0, 4)).data, "little") >> 16 == 0xED01

    begin = time.process_time()
    await ClockCycles(dut.clk_i, IDLE_CYCLES)
    idle = IDLE_CYCLES / (time.process_time() - begin)
    begin = time.process_time()
    for _ in range(READS):
        await cpu.read(0, 4)
    reads = READS / (time.process_time() - begin)
    rates = {"cocotb idle, cycles/s": idle, "cocotb reads/s": reads}
    Path(os.environ["EDDY_BENCH_RESULT"]).write_text(json.dumps(rates), encoding="utf-8")
