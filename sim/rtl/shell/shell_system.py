# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A shell of two slots, a CPU, memory, and modules that behave or not: what the shell's tests are written in."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiMaster, AxiRam
from eddy_drivers.regs import shell, slot_ctrl, window
from eddy_drivers.regs.base import Register

SHELL_PS, SLOT_PS = 10000, (7300, 13700)
MEMORY_BYTES = 1 << 22


class System:
    """The bench: `cpu` reads and writes registers, `dma[k]` is slot k's manager, `module[k]` its registers."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.slot_clocks: list[Clock] = []
        self.cpu = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, dut.rst_ni, False)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, dut.rst_ni, False, size=MEMORY_BYTES)
        self.dma, self.module = [], []
        for k in (0, 1):
            clk, rst = getattr(dut, f"slot{k}_clk_i"), getattr(dut, f"slot{k}_rst_no")
            self.dma.append(AxiMaster(AxiBus.from_prefix(dut, f"slot{k}_m_axi"), clk, rst, False))
            self.module.append(
                AxiLiteRam(AxiLiteBus.from_prefix(dut, f"slot{k}_s_axil"), clk, rst, False, size=0x10000)
            )

    async def start(self) -> None:
        """Start the clocks and come out of reset."""
        dut = self.dut
        for name in ("cfg_avail_i", "cfg_prdone_i", "cfg_prerror_i", "icap_o_i", "slot0_irq_i", "slot1_irq_i"):
            getattr(dut, name).value = 0
        dut.rst_ni.value = 0
        Clock(dut.clk_i, SHELL_PS, "ps").start()
        Clock(dut.icap_clk_i, SHELL_PS // 2, "ps").start()
        for k in (0, 1):
            self.slot_clocks.append(Clock(getattr(dut, f"slot{k}_clk_i"), SLOT_PS[k], "ps"))
            self.slot_clocks[k].start()
        await ClockCycles(dut.clk_i, 40)
        dut.rst_ni.value = 1
        await ClockCycles(dut.clk_i, 20)

    async def read(self, offset: int) -> int:
        """Read a register at an offset in the shell's window."""
        return int.from_bytes((await self.cpu.read(offset, 4)).data, "little")

    async def write(self, offset: int, value: int) -> None:
        """Write one."""
        await self.cpu.write(offset, value.to_bytes(4, "little"))

    async def timed_read(self, offset: int) -> tuple[int, int]:
        """Read a register; also the shell-clock cycles the answer took."""
        before = cocotb.utils.get_sim_time("ps")
        value = await self.read(offset)
        return value, round((cocotb.utils.get_sim_time("ps") - before) / SHELL_PS)

    def bank(self, slot: int, register: Register, index: int = 0) -> int:
        """Offset of a register of a slot's control bank."""
        return window.CONTROL.at(slot) + register.at(index)

    async def get(self, slot: int, register: Register, index: int = 0) -> dict[str, int]:
        """A register of a slot's control bank, field by field."""
        return register.decode(await self.read(self.bank(slot, register, index)))

    async def put(self, slot: int, register: Register, index: int = 0, **fields: int) -> None:
        """Write one."""
        await self.write(self.bank(slot, register, index), register.encode(**fields))

    async def open(self, slot: int, **control: int) -> None:
        """Release a slot and open all its paths."""
        fields = {"run": 1, "open_control": 1, "open_memory": 1, "open_interrupt": 1, **control}
        await self.put(slot, slot_ctrl.CONTROL, **fields)
        await self.until(slot, control_closed=1 - fields["open_control"], memory_closed=1 - fields["open_memory"])
        await ClockCycles(self.dut.clk_i, 10)

    async def until(self, slot: int, tries: int = 1000, **status: int) -> None:
        """Poll STATUS until the named fields have these values."""
        for _ in range(tries):
            now = await self.get(slot, slot_ctrl.STATUS)
            if all(now[name] == value for name, value in status.items()):
                return
        raise AssertionError(f"slot {slot}: STATUS never reached {status}; it is {now}")

    async def window(self, slot: int, index: int, base: int, last: int, access: str = "rw", contexts: int = 1) -> None:
        """Open a window of whole pages; addresses in bytes, `last` inclusive."""
        await self.put(slot, slot_ctrl.WINDOW_BASE, index, page=base >> 12)
        await self.put(slot, slot_ctrl.WINDOW_LAST, index, page=last >> 12)
        flags = {"read": int("r" in access), "write": int("w" in access), "contexts": contexts}
        await self.put(slot, slot_ctrl.WINDOW_FLAGS, index, **flags)

    async def counters(self, slot: int, context: int = 16) -> list[int]:
        """A snapshot of a slot's monitor: ten 64-bit counters, in the order of the register map."""
        await self.put(slot, slot_ctrl.MONITOR_SNAPSHOT, memory_context=context)
        words = []
        for index in range(slot_ctrl.COUNTER_LO.count):
            low = await self.read(self.bank(slot, slot_ctrl.COUNTER_LO, index))
            high = await self.read(self.bank(slot, slot_ctrl.COUNTER_HI, index))
            words.append(high << 32 | low)
        return words

    def stop_clock(self, slot: int) -> None:
        """Stop a slot's clock, low."""
        self.slot_clocks[slot].stop()
        getattr(self.dut, f"slot{slot}_clk_i").value = 0

    async def cycles(self, count: int) -> None:
        """Wait shell-clock cycles."""
        await ClockCycles(self.dut.clk_i, count)


async def started(dut: Any) -> System:
    """A system out of reset, whose shell is the one its registers describe."""
    system = System(dut)
    await system.start()
    identity = shell.ID.decode(await system.read(shell.ID.offset))
    assert identity == shell.ID.decode(shell.ID.reset)
    return system


__all__ = ["RisingEdge", "System", "started"]
