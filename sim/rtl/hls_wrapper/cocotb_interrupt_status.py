# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The wrapper's interrupt registers, bit by bit, as Vitis HLS has them by default."""

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles
from eddy_sim.modcheck import trials
from eddy_sim.modcheck.harness import GIE, IER, ISR


@cocotb.test()
async def isr_toggles_on_write(dut: Any) -> None:
    """A one toggles its bit, whatever it was; a zero, and a strobe that is not set, leave it."""
    harness = await trials.bring_up(dut, "dct")
    for written, read in ((1, 1), (2, 3), (1, 2), (0, 2), (3, 1), (1, 0)):
        await harness.write(ISR, written)
        assert await harness.read(ISR) == read, f"ISR reads otherwise than {read} after {written} was written"
    await harness.write_bytes(ISR + 1, b"\xff")
    assert await harness.read(ISR) == 0


@cocotb.test()
async def the_interrupt_is_a_level_of_all_three(dut: Any) -> None:
    harness = await trials.bring_up(dut, "dct")
    for gie in (0, 1):
        for ier in range(4):
            for isr in range(4):
                await harness.write(GIE, gie)
                await harness.write(IER, ier)
                await harness.write(ISR, isr ^ await harness.read(ISR))
                await ClockCycles(dut.clk_i, 2)
                assert bool(int(dut.irq_o.value)) == bool(gie and isr & ier), (gie, ier, isr)
