# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module's ports driven cycle by cycle: registers from one side, a memory on the other, every output recorded.

What happens in each cycle is C++ (`cpp/modcheck_port.hpp`), for a check takes millions of them.
"""

from __future__ import annotations

import ctypes
import functools
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from eddy_sim.modcheck.literals import Literal
from eddy_sim.modcheck.model import UP_RECORD, ModuleInstance, OutputTrace, trace_of

ANSWER_CYCLES = 64
"""How long a register access may take before the module counts as deaf."""
LATENCY = 6
"""Cycles between a request and memory's answer."""
PAGE_BYTES = 4096
CERTAIN = 1 << 32
"""A chance of one, as a port takes it."""
_PageOf = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64)


class ModuleUnresponsive(Exception):
    """The module did not answer a register access."""


@dataclass
class Memory:
    """All of memory: what nobody wrote is random, from a seed.

    Attributes:
        seed: What unwritten bytes follow from.
        most: Largest value an unwritten byte has.
        fail: Chance that a burst is answered with SLVERR.
        literals: Numbers that every second word holds, in turn, in each place of a word that they fit into; none where
            `most` is below 255.
    """

    seed: int
    most: int = 255
    fail: float = 0.0
    literals: tuple[Literal, ...] = ()
    pages: dict[int, bytearray] = field(default_factory=dict)

    def page(self, number: int) -> bytearray:
        """The bytes of a page."""
        found = self.pages.get(number)
        if found is None:
            found = bytearray(_unwritten(self.seed, self.most, self.literals, number))
            self.pages[number] = found
        return found

    def word(self, address: int) -> int:
        """The aligned 64-bit word that holds an address."""
        offset = address % PAGE_BYTES & ~7
        return int.from_bytes(self.page(address // PAGE_BYTES)[offset : offset + 8], "little")

    def load(self, address: int, data: bytes) -> None:
        """Put bytes at an address."""
        for i, value in enumerate(data):
            self.page((address + i) // PAGE_BYTES)[(address + i) % PAGE_BYTES] = value


@functools.lru_cache(maxsize=2048)
def _unwritten(seed: int, most: int, literals: tuple[Literal, ...], number: int) -> bytes:
    """A page that nobody wrote; every past has the same looks, which find the same memory."""
    data = random.Random(seed << 40 | number).randbytes(PAGE_BYTES)
    if most < 255:
        return bytes(value % (most + 1) for value in data)
    page = bytearray(data)
    places = [(literal, at) for literal in literals for at in range(0, 8, literal.width_bytes)]
    words = range(0, PAGE_BYTES if places else 0, 16)
    for turn, word in enumerate(words, len(words) * number + 7 * seed):
        literal, at = places[turn % len(places)]
        page[word + at : word + at + literal.width_bytes] = literal.to_bytes()
    return bytes(page)


class Port:
    """Everything around one instance.

    Args:
        instance: The module.
    """

    def __init__(self, instance: ModuleInstance) -> None:
        self.instance = instance
        self.memory = Memory(0)
        self._library = instance.model.library
        self._page_of = _PageOf(self._page)
        self._handle = ctypes.c_void_p(
            self._library.port_create(instance.handle, self._page_of, LATENCY, ANSWER_CYCLES)
        )
        self._marks: list[tuple[int, str]] = []
        self._had: Memory | None = None
        """The memory whose pages the port has."""
        self._fails = 0.0
        self._kept: dict[int, object] = {}
        self._library.port_forget(self._handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.port_destroy(self._handle)

    # The clock --------------------------------------------------------------------------------------------------------

    def run_idle(self, cycles: int) -> None:
        """Let cycles pass."""
        self._pass(cycles, for_interrupt=False)

    def reset(self, cycles: int, memory: Memory) -> None:
        """What the swap does: from one cycle to the next nothing enters any more, and reset is held; a fresh start."""
        self._library.port_forget(self._handle)
        self.instance.step(cycles)
        self.begin(memory)

    def begin(self, memory: Memory) -> None:
        """Begin a trace of a module that has just been reset, with this memory."""
        self._library.port_forget(self._handle)
        self.memory, self.instance.down.rst_n = memory, 1
        self.pause(0.0, 0)
        self.record()

    def pause(self, chance: float, seed: int = 1) -> None:
        """Hold up every channel of the memory port in that share of the cycles."""
        self._library.port_pause(self._handle, round(chance * CERTAIN), seed)

    def record(self) -> None:
        """Begin a trace here."""
        self._library.port_record(self._handle)
        self._marks = []

    def drop_trace(self) -> None:
        """Keep no longer what was recorded, for runs that are too long to be kept."""
        self._library.port_drop_records(self._handle)
        self._marks = []

    def mark(self, what: str) -> None:
        """Say what the work does from here on, for whoever reads where traces differ."""
        self._marks.append((len(self._recorded()), what))

    def trace(self) -> OutputTrace:
        """Every output since `record`."""
        return trace_of(self._recorded(), self._marks)

    def _recorded(self) -> npt.NDArray[Any]:
        first = ctypes.c_void_p()
        count = self._library.port_recorded(self._handle, ctypes.byref(first))
        if not count:
            return np.zeros(0, UP_RECORD)
        return np.frombuffer((ctypes.c_char * (count * UP_RECORD.itemsize)).from_address(first.value or 0), UP_RECORD)

    def _pass(self, cycles: int, *, for_interrupt: bool) -> bool:
        self._remember()
        return self._went(self._library.port_pass(self._handle, cycles, for_interrupt))

    def _went(self, answer: int) -> bool:
        if answer < 0:
            raise self.instance.stopped()
        return bool(answer)

    # Memory's side ----------------------------------------------------------------------------------------------------

    def _remember(self) -> None:
        """Let the port know which memory there is, and how it fails."""
        if self._had is not self.memory:
            self._had = self.memory
            self._kept.clear()
            self._library.port_new_memory(self._handle)
        if self._fails != self.memory.fail:
            self._fails = self.memory.fail
            self._library.port_fail(self._handle, round(self._fails * CERTAIN))

    def _page(self, number: int) -> int:
        """Where a page of memory is; the port reads and writes the very bytes."""
        kept = (ctypes.c_char * PAGE_BYTES).from_buffer(self.memory.page(number))
        self._kept[number] = kept
        return ctypes.addressof(kept)

    # Registers --------------------------------------------------------------------------------------------------------

    def write(self, offset: int, value: int, strobes: int = 15) -> None:
        """Write a register.

        Raises:
            Deaf: It is not answered.
        """
        self._remember()
        if not self._went(self._library.port_write(self._handle, offset, value & 0xFFFF_FFFF, strobes)):
            raise ModuleUnresponsive(f"a write to {offset:#x} is not answered")

    def begin_write(self, offset: int) -> None:
        """Give the address of a write and keep back its data: a request cut in half by what comes next."""
        self._remember()
        self._went(self._library.port_begin_write(self._handle, offset))

    def read(self, offset: int) -> int:
        """Read a register.

        Raises:
            Deaf: It is not answered.
        """
        self._remember()
        value = ctypes.c_uint32()
        if not self._went(self._library.port_read(self._handle, offset, ctypes.byref(value))):
            raise ModuleUnresponsive(f"a read of {offset:#x} is not answered")
        return value.value

    def read_range(self, first: int, end: int) -> None:
        """Read registers one after the other, every four bytes; what they hold shows in the trace.

        Raises:
            Deaf: One is not answered; those after it are not asked.
        """
        self._remember()
        if not self._went(self._library.port_read_range(self._handle, first, end)):
            raise ModuleUnresponsive(f"a read of a register from {first:#x} to {end:#x} is not answered")

    def interrupt(self, cycles: int) -> bool:
        """Wait for the interrupt; False where it did not come within so many cycles."""
        return self._pass(cycles, for_interrupt=True)
