# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Drivers against registers in plain Python: what they write, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eddy.board.overlay.control_bank import ControlBank
from eddy.board.port.dram_map import hash_masks
from eddy.board.port.profile import load_profile
from eddy.core.counters import MemoryUse
from eddy_drivers import clocking_wizard as wizard
from eddy_drivers.bank import MapMismatch
from eddy_drivers.clocking_wizard import ClockingWizard
from eddy_drivers.hls_accelerator import HlsAccelerator
from eddy_drivers.icap_engine import IcapEngine
from eddy_drivers.memory_counters import MemoryCounters
from eddy_drivers.regs import icap_engine as engine_regs
from eddy_drivers.regs import memory_counters as memory_regs
from eddy_drivers.regs import shell as shell_regs
from eddy_drivers.regs import slot_ctrl as regs
from eddy_drivers.shell import FlushFailed, Shell
from eddy_drivers.slot_ctrl import COUNTERS, PageWindow, SlotCtrl


class Registers:
    """A PYNQ device of nothing but plain memory."""

    def __init__(self) -> None:
        self.words = np.zeros(0x4000, np.uint32)

    def has_capability(self, name: str) -> bool:
        return name == "MEMORY_MAPPED"

    def mmap(self, base: int, length: int) -> Any:
        return self.words[base // 4 : (base + length) // 4]

    def description(self, **more: Any) -> dict[str, Any]:
        return {"device": self, "phys_addr": 0, "addr_range": 0x1_0000, **more}


@pytest.fixture
def registers() -> Registers:
    return Registers()


def slot_ctrl(registers: Registers) -> SlotCtrl:
    registers.words[0] = regs.ID.reset
    return SlotCtrl(registers.description())


def test_another_block_is_refused(registers: Registers) -> None:
    registers.words[0] = shell_regs.ID.reset
    with pytest.raises(MapMismatch, match="0xed01"):
        SlotCtrl(registers.description())


def test_another_map_version_is_refused(registers: Registers) -> None:
    registers.words[0] = regs.ID.reset + 0x100
    with pytest.raises(MapMismatch, match=r"ID\.major reads 0x2, expected 0x1"):
        SlotCtrl(registers.description())


def test_shell_build_is_sixteen_digits(registers: Registers) -> None:
    registers.words[0] = shell_regs.ID.reset
    registers.words[shell_regs.BUILD_LO.offset // 4] = 0xABC
    registers.words[shell_regs.BUILD_HI.offset // 4] = 0x1
    assert Shell(registers.description()).build() == "0000000100000abc"


class FlushingShell(Registers):
    """A shell with a cache of 4 KiB whose flush takes some reads of its register."""

    def __init__(self, busy_reads: int) -> None:
        super().__init__()
        self.words[0] = shell_regs.ID.reset
        self.words[shell_regs.CACHE.offset // 4] = shell_regs.CACHE.encode(log2_bytes=12, ways=4)
        self.busy_reads = busy_reads
        self.flushed: list[tuple[int, int]] = []

    def mmap(self, base: int, length: int) -> Any:
        return self

    def __getitem__(self, word: int) -> int:
        if word == shell_regs.CACHE_FLUSH.offset // 4:
            self.busy_reads -= 1
            return shell_regs.CACHE_FLUSH.encode(busy=int(self.busy_reads >= 0))
        return int(self.words[word])

    def __setitem__(self, word: int, value: int) -> None:
        self.words[word] = value
        if word == shell_regs.CACHE_FLUSH.offset // 4:
            first, last = (
                self.words[r.offset // 4] for r in (shell_regs.CACHE_FLUSH_FIRST, shell_regs.CACHE_FLUSH_LAST)
            )
            self.flushed.append((int(first), int(last)))


def test_a_flush_covers_every_page_and_waits() -> None:
    registers = FlushingShell(busy_reads=5)
    shell = Shell(registers.description())
    assert shell.cache_bytes == 4096
    shell.flush(0x1FFF, 2)
    assert registers.flushed == [(1, 2)]
    assert registers.busy_reads < 0
    shell.flush(0x3000, 4096)
    shell.flush(0x3000, 0)
    assert registers.flushed == [(1, 2), (3, 3)]


def test_a_flush_that_does_not_end_is_told() -> None:
    registers = FlushingShell(busy_reads=100_000)
    with pytest.raises(FlushFailed, match="from 0x3000"):
        Shell(registers.description()).flush(0x3000, 64)


def test_a_shell_without_a_cache_flushes_nothing(registers: Registers) -> None:
    registers.words[0] = shell_regs.ID.reset
    shell = Shell(registers.description())
    shell.flush(0x3000, 64)
    assert shell.cache_bytes == 0
    assert not registers.words[1:].any()


def test_a_shell_of_before_has_no_cache(registers: Registers) -> None:
    registers.words[0] = shell_regs.ID.reset - 1
    registers.words[shell_regs.CACHE.offset // 4] = 0xDEAD0001
    assert Shell(registers.description()).cache_bytes == 0


def test_opening_never_couples_memory_before_control(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    word = registers.words[regs.CONTROL.offset // 4 :]
    bank.decouple()
    bank.hold_reset()
    assert regs.CONTROL.decode(int(word[0]))["fence"] == 1
    bank.release_reset()
    assert regs.CONTROL.decode(int(word[0]))["run"] == 1
    assert not regs.CONTROL.decode(int(word[0]))["open_control"]
    bank.open_control()
    fields = regs.CONTROL.decode(int(word[0]))
    assert (fields["open_control"], fields["open_memory"], fields["open_interrupt"]) == (1, 0, 0)
    bank.open_memory()
    fields = regs.CONTROL.decode(int(word[0]))
    assert (fields["open_memory"], fields["open_interrupt"], fields["quiesce"]) == (1, 1, 0)
    bank.decouple()
    fields = regs.CONTROL.decode(int(word[0]))
    assert (fields["open_control"], fields["open_memory"], fields["open_interrupt"]) == (0, 0, 0)


def test_windows_that_are_not_asked_for_are_disabled(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    flags = [regs.WINDOW_FLAGS.at(index) // 4 for index in range(bank.window_count)]
    registers.words[flags] = 3
    bank.set_windows([PageWindow(7, 9, read=True, write=False, contexts=1)])
    assert registers.words[regs.WINDOW_BASE.at(0) // 4] == 7
    assert registers.words[regs.WINDOW_LAST.at(0) // 4] == 9
    assert list(registers.words[flags]) == [1 << 16 | 1] + [0] * (bank.window_count - 1)
    bank.set_windows([])
    assert not registers.words[flags].any()
    with pytest.raises(ValueError, match="17"):
        bank.set_windows([PageWindow(0, 0, True, True, 1)] * 17)


def test_a_revoked_bank_is_told_only_what_differs(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = slot_ctrl(registers)
    bank.set_windows([PageWindow(7, 9, True, False, 1), PageWindow(12, 12, True, True, 1)])
    written: list[int] = []
    kept = SlotCtrl._put

    def put(self: SlotCtrl, offset: int, word: int) -> None:
        written.append(offset)
        kept(self, offset, word)

    monkeypatch.setattr(SlotCtrl, "_put", put)
    # A window that changes while it could act is disabled first.
    bank.set_windows([PageWindow(8, 9, True, False, 1), PageWindow(12, 12, True, True, 1)])
    flags, base = regs.WINDOW_FLAGS.at(0), regs.WINDOW_BASE.at(0)
    assert written == [flags, base, flags]
    bank.revoke()
    assert regs.CONTROL.decode(int(registers.words[regs.CONTROL.offset // 4]))["revoke"] == 1
    written.clear()
    bank.set_windows([PageWindow(6, 9, True, False, 1), PageWindow(12, 12, True, True, 1)])
    assert written == [base]
    bank.set_windows([])
    assert not registers.words[[flags // 4, regs.WINDOW_FLAGS.at(1) // 4]].any()
    bank.admit()
    assert regs.CONTROL.decode(int(registers.words[regs.CONTROL.offset // 4]))["revoke"] == 0


def test_counters_are_sixty_four_bits_and_named(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    for index in range(len(COUNTERS)):
        registers.words[regs.COUNTER_LO.at(index) // 4] = index
        registers.words[regs.COUNTER_HI.at(index) // 4] = 1
    assert bank.counters(3) == {name: 1 << 32 | index for index, name in enumerate(COUNTERS)}
    assert registers.words[regs.MONITOR_SNAPSHOT.offset // 4] == 3


def test_a_clock_check_that_never_ends_is_a_dead_clock(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    registers.words[regs.CLOCK_TIMEOUT.offset // 4] = 8
    registers.words[regs.STATUS.offset // 4] = regs.STATUS.encode(clock_busy=1, clock_alive=1)
    assert not bank.clock_alive()
    registers.words[regs.STATUS.offset // 4] = regs.STATUS.encode(clock_alive=1)
    assert bank.clock_alive()


def test_first_fault(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    assert bank.first_fault() is None
    registers.words[regs.CAUSE.offset // 4] = regs.CAUSE.encode(write_outside_window=1)
    registers.words[regs.FIRST_FAULT.offset // 4] = regs.FIRST_FAULT.encode(cause=4, memory_context=2)
    registers.words[regs.FAULT_ADDRESS_LO.offset // 4] = 0x1000
    registers.words[regs.FAULT_ADDRESS_HI.offset // 4] = 0x8
    fault = bank.first_fault()
    assert fault is not None
    assert (fault.cause.name, fault.address, fault.context) == ("WRITE_OUTSIDE_WINDOW", 0x8_0000_1000, 2)


@pytest.mark.parametrize(
    ("asked_hz", "made_hz"), [(100e6, 100e6), (75e6, 1e9 / 13.375), (99_990_005.0, 1e9 / 10.125), (250e6, 250e6)]
)
def test_clock_is_never_faster_than_asked(registers: Registers, asked_hz: float, made_hz: float) -> None:
    registers.words[wizard.FEEDBACK // 4] = 10 << 8 | 1
    clock = ClockingWizard(registers.description(parameters={"PRIM_IN_FREQ": "100.0"}))
    assert clock.set_rate(asked_hz) == pytest.approx(made_hz)
    assert clock.rate_hz() == pytest.approx(made_hz)
    assert clock.rate_hz() <= asked_hz * (1 + 1e-6)
    assert registers.words[wizard.LOAD // 4] == 3


@pytest.mark.parametrize(("reads", "asked"), [(1, 1), (5, 5), (10_000, wizard.FALL_READS)])
def test_locked_is_not_believed_before_it_can_have_fallen(registers: Registers, reads: int, asked: int) -> None:
    registers.words[wizard.FEEDBACK // 4] = 10 << 8 | 1
    clock = ClockingWizard(registers.description(parameters={"PRIM_IN_FREQ": "100.0"}))
    locked = [wizard.LOCKED] * (reads - 1) + [0]
    said: list[int] = []

    class Status:
        def read(self, offset: int) -> int:
            if offset != wizard.STATUS:
                return int(registers.words[offset // 4])
            said.append(locked[min(len(said), len(locked) - 1)])
            return said[-1]

        def write(self, offset: int, value: int) -> None:
            registers.words[offset // 4] = value

    clock.mmio = Status()
    clock.set_rate(100e6)
    assert len(said) == asked


@pytest.mark.parametrize("hz", [1e6, 600e6])
def test_clock_out_of_range(registers: Registers, hz: float) -> None:
    registers.words[wizard.FEEDBACK // 4] = 10 << 8 | 1
    clock = ClockingWizard(registers.description(parameters={"PRIM_IN_FREQ": "100.0"}))
    with pytest.raises(ValueError, match="outside"):
        clock.set_rate(hz)


def test_completion_clears_only_an_interrupt_that_is_set(registers: Registers) -> None:
    driver = HlsAccelerator(registers.description())
    assert not driver.acknowledge_done()
    registers.words[0] = 0b110
    registers.words[3] = 0
    assert driver.acknowledge_done()
    assert registers.words[3] == 0, "a one written to a clear bit would set it"
    driver.start()
    assert list(registers.words[:3]) == [1, 1, 1]


class Accelerator:
    """Registers of an accelerator by a control protocol, in the manner of HLS; a run ends at `end`."""

    def __init__(self, chain: bool) -> None:
        self.chain = chain
        self.done = self.started = False
        self.ier = self.isr = 0
        self.busy_reads = 0
        self.runs = 0

    def end(self) -> None:
        assert self.started
        self.started, self.done = False, True
        self.runs += 1
        self.isr |= self.ier & 1

    def read(self, offset: int) -> int:
        if offset == 0x0C:
            return self.isr
        self.busy_reads -= self.busy_reads > 0
        idle = not self.started and not self.busy_reads and not (self.chain and self.done)
        word = self.started | self.done << 1 | idle << 2
        self.done = self.done and self.chain
        return word

    def write(self, offset: int, value: int) -> None:
        if offset == 0x00:
            # It stalls while it is done: the start stays set, and the run does not begin.
            self.started |= bool(value & 1)
            self.done = self.done and not (self.chain and value & 0x10)
        if offset == 0x08:
            self.ier = value
        if offset == 0x0C:
            self.isr ^= value
            # As long as it is done, HLS's register is set again.
            self.isr |= self.ier & 1 & self.done


@pytest.fixture
def accelerator(registers: Registers, chain: bool) -> tuple[HlsAccelerator, Accelerator]:
    driver, module = HlsAccelerator(registers.description()), Accelerator(chain)
    driver.mmio = module
    return driver, module


@pytest.mark.parametrize("chain", [False, True])
def test_each_run_has_one_end_by_the_protocol_that_the_module_has(
    accelerator: tuple[HlsAccelerator, Accelerator], chain: bool
) -> None:
    driver, module = accelerator
    for run in range(3):
        assert driver.unready_reason() == ""
        driver.start()
        assert not driver.acknowledge_done(chain)
        module.end()
        assert driver.acknowledge_done(chain)
        assert not driver.acknowledge_done(chain)
        assert module.isr == 0, "no interrupt is left for the next run"
        assert module.runs == run + 1


@pytest.mark.parametrize("chain", [True])
def test_what_stays_done_takes_no_start(accelerator: tuple[HlsAccelerator, Accelerator]) -> None:
    """Spoken to by the other protocol, its end would pass for that of the next run."""
    driver, module = accelerator
    driver.start()
    module.end()
    assert driver.acknowledge_done(chain=False)
    assert driver.unready_reason() == "ap_done is still set from a run before"


@pytest.mark.parametrize("chain", [False])
def test_a_module_is_started_at_rest_alone(accelerator: tuple[HlsAccelerator, Accelerator]) -> None:
    driver, module = accelerator
    assert driver.is_at_rest()
    driver.start()
    assert not driver.is_at_rest()
    assert driver.unready_reason() == "it has not taken the start before"
    module.end()
    assert not driver.is_at_rest(), "it has an end to tell, which this takes"
    module.busy_reads = 5
    assert driver.unready_reason() == "", "it comes to rest within a few reads"
    module.busy_reads = 1000
    assert driver.unready_reason() == "it never becomes idle"


MEMORY = ("read_outside_window", "write_outside_window", "illegal_burst", "write_stalled", "response_stalled")


@pytest.mark.parametrize("cause", [cause for cause in regs.Cause if cause is not regs.Cause.NONE])
def test_a_fault_says_an_address_of_its_kind(registers: Registers, cause: regs.Cause) -> None:
    bank = slot_ctrl(registers)
    name = cause.name.lower()
    registers.words[regs.CAUSE.offset // 4] = regs.CAUSE.encode(**{name: 1})
    registers.words[regs.FIRST_FAULT.offset // 4] = regs.FIRST_FAULT.encode(cause=int(cause), memory_context=2)
    registers.words[regs.FAULT_ADDRESS_LO.offset // 4] = 0x1000_0000
    fault = ControlBank(bank, load_profile("tiny")).fault()
    if name in MEMORY:
        assert fault.detail.endswith("at address 0x10000000, context 2")
        assert (fault.address, fault.context) == (0x1000_0000, 2)
    elif name == "clock_lost":
        assert "0x" not in fault.detail
    else:
        assert fault.detail.endswith("at register offset 0x10000000")


def test_rows_are_the_monitors_where_the_controller_shows_none(registers: Registers) -> None:
    bank = slot_ctrl(registers)
    for index in range(len(COUNTERS)):
        registers.words[regs.COUNTER_LO.at(index) // 4] = 100 + index
        registers.words[regs.COUNTER_HI.at(index) // 4] = 0
    used = ControlBank(bank, load_profile("tiny")).memory_use((3,))
    assert used == {3: MemoryUse(reads=103, requests=103 + 104, bytes=101 + 102, row_hits=105)}


def test_contexts_are_read_of_one_cycle(registers: Registers, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = slot_ctrl(registers)
    asked: list[dict[str, int]] = []
    put = bank._put

    def note(offset: int, word: int) -> None:
        if offset == regs.MONITOR_SNAPSHOT.offset:
            asked.append(dict(regs.MONITOR_SNAPSHOT.decode(word)))
        put(offset, word)

    monkeypatch.setattr(bank, "_put", note)
    assert ControlBank(bank, load_profile("tiny")).memory_use((3, 7, 9)).keys() == {3, 7, 9}
    assert [(each["memory_context"], each["keep"]) for each in asked] == [(3, 0), (7, 1), (9, 1)]


def test_the_monitor_is_told_the_hashed_map(registers: Registers) -> None:
    profile = load_profile("hsm")
    ControlBank(slot_ctrl(registers), profile)
    masks = hash_masks(profile.dram)
    written = [registers.words[getattr(regs, f"MONITOR_HASH{bit}").offset // 4] for bit in range(5)]
    assert [word << 12 for word in written] == list(masks)
    assert all(masks[:4])
    assert masks[4] == 0


def test_a_controller_that_counts_is_asked_once_for_all_contexts(registers: Registers) -> None:
    registers.words[0] = memory_regs.ID.reset
    for index in range(6):
        registers.words[memory_regs.COUNTER_LO.at(index) // 4] = 10 + index
        registers.words[memory_regs.COUNTER_HI.at(index) // 4] = int(index in (2, 4))
    driver = MemoryCounters(registers.description())
    driver.capture()
    assert registers.words[memory_regs.SNAPSHOT.offset // 4] == 1
    kept = driver.read_captured(3, (5,))
    assert registers.words[memory_regs.USER.offset // 4] == 0x35
    assert kept[5]["read_bytes"] == 1 << 32 | 12
    assert kept[5]["row_hits"] == 1 << 32 | 14
    assert kept[5]["read_requests"] == 10


class OwedEngine(IcapEngine):
    """An engine to which memory owes something for so many reads of STATUS; what was written, with the reads before."""

    owed = 0
    written: list[tuple[int, int, bool]]

    def _get(self, offset: int) -> int:
        if offset != engine_regs.STATUS.offset:
            return super()._get(offset)
        self.owed -= 1
        (idle,) = (field for field in engine_regs.STATUS.fields if field.name == "memory_idle")
        return idle.put(int(self.owed < 0), 0)

    def _put(self, offset: int, word: int) -> None:
        self.written.append((offset, word, self.owed < 0))


@pytest.mark.parametrize("owed", [0, 5, 10**9])
def test_a_load_begins_when_memory_owes_nothing_to_the_last(registers: Registers, owed: int) -> None:
    """For ever it does not wait: the engine says what is wrong."""
    registers.words[0] = engine_regs.ID.reset
    engine = OwedEngine(registers.description())
    engine.owed, engine.written = owed, []
    engine.begin(0x1000, 8, 0)
    assert engine.written[-1] == (engine_regs.CONTROL.offset, engine_regs.CONTROL.encode(start=1), owed < 10**9)
    assert [offset for offset, _, _ in engine.written].count(engine_regs.CONTROL.offset) == 1
    assert {idle for _, _, idle in engine.written} == {owed < 10**9}, "nothing is set before"
