# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One slot's control bank: decoupler, reset, clock check, firewall, regulator, monitor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eddy_drivers.bank import Bank
from eddy_drivers.regs import slot_ctrl as regs
from eddy_drivers.regs.base import Register

Cause = regs.Cause

COUNTERS = (
    "cycles",
    "read_bytes",
    "write_bytes",
    "read_requests",
    "write_requests",
    "row_hits",
    "row_misses",
    "read_stall_cycles",
    "write_stall_cycles",
    "regulator_stall_cycles",
)
"""Names of the monitor's counters, in the order of COUNTER."""

_HASHES = (regs.MONITOR_HASH0, regs.MONITOR_HASH1, regs.MONITOR_HASH2, regs.MONITOR_HASH3, regs.MONITOR_HASH4)
ALL_CONTEXTS = 16
"""The context number that stands for the sum."""


@dataclass(frozen=True)
class FirstFault:
    """The fault that came first.

    Attributes:
        cause: Its number.
        address: Physical address of the burst, or offset of the register access.
        context: Memory context of the burst.
    """

    cause: Cause
    address: int
    context: int


@dataclass(frozen=True)
class PageWindow:
    """A firewall window: pages `first` to `last`, both included, for the contexts of a bit mask."""

    first: int
    last: int
    read: bool
    write: bool
    contexts: int


def _flags(window: PageWindow | None) -> int:
    if window is None:
        return 0
    return regs.WINDOW_FLAGS.encode(read=window.read, write=window.write, contexts=window.contexts)


class SlotCtrl(Bank):
    """Driver of a slot's bank (hw/regs/slot_ctrl.rdl)."""

    bindto = ["eddy:ip:slot_ctrl:1.0"]  # noqa: RUF012 - the form PYNQ reads
    block = 0xED02

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description)
        # CONTROL is only ever written from here, so its word is known without reading it back.
        self._control = self._get(regs.CONTROL.offset)
        self._windows: list[PageWindow | None] = [None] * regs.WINDOW_BASE.count
        self._known = False
        self._words: dict[int, int] = {}
        """What was written to the windows' registers, by offset."""

    def _change(self, **values: int) -> None:
        for name, value in values.items():
            field = next(f for f in regs.CONTROL.fields if f.name == name)
            self._control = field.put(value, self._control)
        self._put(regs.CONTROL.offset, self._control)

    def quiesce(self) -> None:
        """Admit no new memory burst."""
        self._change(quiesce=1)

    def resume(self) -> None:
        """Admit memory bursts again."""
        self._change(quiesce=0)

    def revoke(self) -> None:
        """Refuse every new memory burst, whatever the windows say."""
        self._change(revoke=1)

    def admit(self) -> None:
        """Refuse only what no window lets through."""
        self._change(revoke=0)

    def memory_drained(self) -> bool:
        """Whether no burst that went to memory is outstanding; stays true while everything is refused."""
        return bool(self._fields(regs.STATUS)["memory_drained"])

    def idle(self) -> bool:
        """Whether neither a memory burst nor a register access is outstanding."""
        status = self._fields(regs.STATUS)
        return bool(status["memory_idle"] and status["control_idle"])

    def decouple(self) -> None:
        """Close register path, memory path and interrupt; register accesses read poison without a cause."""
        self._change(open_control=0, open_memory=0, open_interrupt=0, fence=1)

    def hold_reset(self) -> None:
        """Hold the module, and both sides of the crossings, in reset."""
        self._change(run=0)

    def release_reset(self) -> None:
        """Release the module's reset; the paths stay as they are."""
        self._change(run=1)

    def open_control(self) -> None:
        """Couple the register path."""
        self._change(open_control=1, fence=0)

    def open_memory(self, revoked: bool = False) -> None:
        """Couple the memory path, admit bursts (or refuse all, until `admit`), let the interrupt through."""
        self._change(open_memory=1, open_interrupt=1, quiesce=0, revoke=int(revoked))

    def closed(self) -> bool:
        """Whether both paths are closed and the module is in reset, as the hardware says."""
        status = self._fields(regs.STATUS)
        return bool(status["control_closed"] and status["memory_closed"] and status["in_reset"])

    def clock_alive(self) -> bool:
        """Check the slot's clock now; bounded by CLOCK_TIMEOUT."""
        self._put(regs.CLOCK_CHECK.offset, regs.CLOCK_CHECK.encode(start=1))
        # A register read takes several cycles, so as many reads as CLOCK_TIMEOUT has cycles are more than enough.
        for _ in range(self._get(regs.CLOCK_TIMEOUT.offset) + 16):
            status = self._fields(regs.STATUS)
            if not status["clock_busy"]:
                return bool(status["clock_alive"])
        return False

    def first_fault(self) -> FirstFault | None:
        """The fault that came first since the causes were cleared; None where there was none."""
        if not self._get(regs.CAUSE.offset):
            return None
        first = self._fields(regs.FIRST_FAULT)
        low, high = self._get(regs.FAULT_ADDRESS_LO.offset), self._get(regs.FAULT_ADDRESS_HI.offset)
        return FirstFault(Cause(first["cause"]), high << 32 | low, first["memory_context"])

    def clear_causes(self) -> None:
        """Forget every cause, and end the isolation that some leave; while the slot is in reset, or it comes back."""
        self._put(regs.FAULT_CLEAR.offset, regs.FAULT_CLEAR.encode(clear=1))

    @property
    def window_count(self) -> int:
        """How many windows the firewall of a slot has."""
        return regs.WINDOW_BASE.count

    def set_windows(self, windows: Sequence[PageWindow]) -> None:
        """Make these the slot's windows: the first ones in order, all others disabled.

        A window that is as it was, in the same place, is not touched: bursts that use it go on. While everything is
        refused no window acts, and only the words that differ are written.

        Raises:
            ValueError: More than the firewall has.
        """
        if len(windows) > self.window_count:
            raise ValueError(f"{len(windows)} windows asked for, the firewall has {self.window_count}")
        wanted = [*windows, *([None] * (self.window_count - len(windows)))]
        changed = [index for index, window in enumerate(wanted) if not self._known or window != self._windows[index]]
        if not regs.CONTROL.decode(self._control)["revoke"]:
            for index in changed:
                self._put_window(regs.WINDOW_FLAGS, index, 0)
        for index in changed:
            window = wanted[index]
            if window is not None:
                self._put_window(regs.WINDOW_BASE, index, window.first)
                self._put_window(regs.WINDOW_LAST, index, window.last)
            self._put_window(regs.WINDOW_FLAGS, index, _flags(window))
        self._windows, self._known = wanted, True

    def _put_window(self, register: Register, index: int, word: int) -> None:
        """Write a word of a window, unless it is known to be there."""
        offset = register.at(index)
        if self._words.get(offset) != word:
            self._put(offset, word)
            self._words[offset] = word

    def set_regulator(self, bytes_per_cycle: float | None, burst_bytes: int = 4096) -> None:
        """Bound the slot's memory traffic.

        Args:
            bytes_per_cycle: Sustained rate in bytes per shell-clock cycle, reads and writes together, the
                port's width for each beat whatever its size; None lifts the bound.
            burst_bytes: What may go at once after a pause.
        """
        self._put(regs.REGULATOR_BURST.offset, regs.REGULATOR_BURST.encode(bytes=burst_bytes))
        word = 0
        if bytes_per_cycle is not None:
            word = regs.REGULATOR_RATE.encode(rate=round(bytes_per_cycle * 65536), enable=1)
        self._put(regs.REGULATOR_RATE.offset, word)

    def set_geometry(self, bank_shift: int, bank_bits: int, row_shift: int, hash_masks: Sequence[int] = ()) -> None:
        """Tell the monitor how addresses fall into DRAM rows and banks.

        Args:
            bank_shift: Lowest address bit of the bank.
            bank_bits: Bits of the bank.
            row_shift: Lowest address bit of the row.
            hash_masks: For each bit of the bank, the address bits whose parity is added to it; none below bit 12.
        """
        word = regs.MONITOR_GEOMETRY.encode(bank_shift=bank_shift, bank_bits=bank_bits, row_shift=row_shift)
        self._put(regs.MONITOR_GEOMETRY.offset, word)
        for register, mask in zip(_HASHES, hash_masks, strict=False):
            self._put(register.offset, mask >> 12)

    def counters(self, context: int = ALL_CONTEXTS, keep: bool = False) -> dict[str, int]:
        """All counters of a context as one snapshot, by name; with `keep`, of the cycle of the snapshot before."""
        self._put(regs.MONITOR_SNAPSHOT.offset, regs.MONITOR_SNAPSHOT.encode(memory_context=context, keep=keep))
        return {name: self._counter(index) for index, name in enumerate(COUNTERS)}

    def clear_counters(self) -> None:
        """Set every counter of the slot to zero; what comes after this counts."""
        self._put(regs.MONITOR_SNAPSHOT.offset, regs.MONITOR_SNAPSHOT.encode(memory_context=ALL_CONTEXTS, clear=1))
        # The instant at which they start lies a walk over the counters after the write; a read waits for it.
        self._counter(0)

    def _counter(self, index: int) -> int:
        return self._get(regs.COUNTER_HI.at(index)) << 32 | self._get(regs.COUNTER_LO.at(index))
