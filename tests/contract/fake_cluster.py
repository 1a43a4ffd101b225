# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A GPU cluster's register bank in plain Python, for the driver to speak to: starts, ends, faults and halts of cores.

It executes nothing: it knows the programs of `contract.kernels` by their bytes and does what they would do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from contract.kernels import CORES, REGION_BYTES, RESULT, THREADS, name_of
from eddy.gpu.launches.executor import CAUSES
from eddy_drivers.regs import gpu_cluster as regs
from eddy_drivers.regs.base import Register

TAKES_S = {"mark": 1e-5, "count": 1e-4}
FAULTS = {
    "illegal": ("illegal", 0x8000_0004, 0xFFFF_FFFF),
    "unknown-csr": ("illegal", 0x8000_0000, 0x12302573),
    "misaligned": ("load_misaligned", 0x8000_0008, 0x8000_1001),
    "ecall": ("ecall", 0x8000_0000, 0),
    "waits": ("barrier_deadlock", 0x8000_0008, 1),
    "deep": ("stack_overflow", 0x8000_0008, 0x1000),
    "store-outside": ("store_fault", 0, 0x8000_2000),
    "load-outside": ("load_fault", 0, 0x8000_2000),
    "load-low": ("load_fault", 0, 0),
    "jump-outside": ("fetch_fault", 0, 0),
}


@dataclass
class _Core:
    running: bool = False
    run: int = 0
    """Grows with every start and end: an end that was planned before is void."""
    fault: tuple[str, int, int] | None = None
    counters: list[int] = field(default_factory=lambda: [0] * (16 + THREADS))


@dataclass
class Surroundings:
    """What a cluster reaches.

    Attributes:
        access: Called at every register access.
        at: Has something done so many seconds from now.
        read: Memory, as the cluster sees it.
        store: A burst through the firewall: address, bytes, context.
        load: The same for a read.
        interrupt: Sets the level of the interrupt.
    """

    access: Callable[[], None]
    at: Callable[[float, Callable[[], None]], None]
    read: Callable[[int, int], bytes]
    store: Callable[[int, bytes, int], None]
    load: Callable[[int, int], None]
    interrupt: Callable[[bool], None]


class FakeCluster:
    """The bank, as a PYNQ device that maps nothing else."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._cores = [_Core() for _ in range(CORES)]
        self._words: dict[int, int] = {}
        self._pending = False
        self._snapshot: list[int] = []
        self.written: list[tuple[int, int]] = []

    # A PYNQ device

    def has_capability(self, name: str) -> bool:
        return name == "MEMORY_MAPPED"

    def mmap(self, base: int, length: int) -> Any:
        del base, length
        return self

    def description(self) -> dict[str, Any]:
        return {"device": self, "phys_addr": 0, "addr_range": 0x1_0000}

    def __getitem__(self, index: int) -> int:
        self._around.access()
        return self._read(4 * index)

    def __setitem__(self, index: int, value: int) -> None:
        self._around.access()
        self.written.append((4 * index, int(value)))
        self._write(4 * index, int(value))

    # The bank

    def _read(self, offset: int) -> int:
        if offset == regs.STATUS.offset:
            return sum(core.running << number for number, core in enumerate(self._cores))
        if offset == regs.CONFIG.offset:
            return regs.CONFIG.encode(cores=CORES, warps=2, threads=THREADS)
        if offset == regs.LIMITS.offset:
            return regs.LIMITS.encode(icache=10, dcache=10, local_memory=12)
        if offset == regs.INTERRUPT_STATUS.offset:
            return int(self._pending)
        if 0x400 <= offset < 0x500:
            value = self._snapshot[(offset - 0x400) // 8]
            return value >> 32 if offset & 4 else value & 0xFFFF_FFFF
        return self._core_word(offset) if 0x120 <= offset < 0x300 else self._words.get(offset, 0)

    def _core_word(self, offset: int) -> int:
        core, place = self._cores[(offset - 0x100) // 0x40], (offset - 0x100) % 0x40
        if place < 0x20:
            return self._words.get(offset, 0)
        if core.fault is None:
            return 0
        name, pc, value = core.fault
        number = next(number for number, cause in CAUSES.items() if cause == name)
        return {0x20: 1 << 31 | number, 0x24: pc, 0x28: value}[place]

    def _write(self, offset: int, word: int) -> None:
        if offset == regs.LAUNCH.offset:
            for number, core in enumerate(self._cores):
                if word >> number & 1 and not core.running:
                    self._start(number, core)
        elif offset == regs.HALT.offset:
            for number, core in enumerate(self._cores):
                if word >> number & 1 and core.running:
                    core.run += 1
                    self._plan(1e-6, number, core, None)
        elif offset == regs.INTERRUPT_STATUS.offset:
            self._pending = self._pending and bool(word & 1)
            self._around.interrupt(self._pending)
        elif offset == regs.SNAPSHOT.offset:
            self._snapshot = list(self._cores[word].counters)
        else:
            self._words[offset] = word

    # The cores

    def _of(self, register: Register, number: int) -> int:
        return self._words.get(register.at(number), 0)

    def _start(self, number: int, core: _Core) -> None:
        core.running, core.fault, core.run = True, None, core.run + 1
        core.counters = [1, *[0] * (15 + THREADS)]
        region = self._of(regs.CORE_BASE2, number) * 4096
        program = name_of(self._around.read(region, 256))
        context = self._of(regs.CORE_CONTEXT, number)
        if program in TAKES_S:
            place = self._of(regs.CORE_PLACE, number) & 0xFF
            argument = self._of(regs.CORE_ARGUMENT, number).to_bytes(4, "little")
            store = (region + RESULT + 4 * place, argument, context)
            self._plan(TAKES_S[program], number, core, None, store)
        elif program in FAULTS:
            self._plan(1e-5, number, core, FAULTS[program])

    def _plan(
        self,
        delay_s: float,
        number: int,
        core: _Core,
        fault: tuple[str, int, int] | None,
        store: tuple[int, bytes, int] | None = None,
    ) -> None:
        run = core.run

        def end() -> None:
            if core.running and core.run == run:
                self._end(number, core, fault, store)

        self._around.at(delay_s, end)

    def _end(
        self, number: int, core: _Core, fault: tuple[str, int, int] | None, store: tuple[int, bytes, int] | None
    ) -> None:
        context, region = self._of(regs.CORE_CONTEXT, number), self._of(regs.CORE_BASE2, number) * 4096
        if store is not None:
            self._around.store(*store)
        if fault is not None and fault[0] == "store_fault":
            self._around.store(region + REGION_BYTES, bytes(4), context)
        elif fault is not None and fault[0] in ("load_fault", "fetch_fault"):
            outside = region + REGION_BYTES if fault[2] else self._of(regs.CORE_BASE0, number) * 4096
            self._around.load(outside, context)
        core.running, core.fault, core.run = False, fault, core.run + 1
        # Ten instructions, all of them of one lane.
        core.counters[0], core.counters[1], core.counters[15], core.counters[16] = 100 + (1 << 33), 10, 10, 10
        enabled = self._words.get(regs.INTERRUPT_ENABLE.offset, regs.INTERRUPT_ENABLE.reset)
        idle = enabled >> 31 and not any(other.running for other in self._cores)
        if enabled >> number & 1 or idle:
            self._pending = True
            self._around.interrupt(True)
