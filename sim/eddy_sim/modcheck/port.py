"""A module's ports driven cycle by cycle: registers from one side, a memory on the other, every output recorded.

Everything follows from the seeds: the same calls give the same inputs in the same cycles as long as the outputs are the
same. So two histories of a module differ in its outputs, or not at all.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from eddy_sim.modcheck.literals import Literal
from eddy_sim.modcheck.model import ModuleInstance, OutputTrace, trace_of

ANSWER_CYCLES = 64
"""How long a register access may take before the module counts as deaf."""
LATENCY = 6
"""Cycles between a request and memory's answer."""
PAGE_BYTES = 4096
FIXED = 0
ANSWER, DATA = 1, 2
"""What memory offers: the answer to a write, a word that was read."""


class Deaf(Exception):
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
            rng = random.Random(self.seed << 40 | number)
            data = rng.randbytes(PAGE_BYTES)
            found = bytearray(data if self.most == 255 else bytes(value % (self.most + 1) for value in data))
            if self.most == 255:
                self._put_literals(number, found)
            self.pages[number] = found
        return found

    def _put_literals(self, number: int, page: bytearray) -> None:
        places = [(literal, at) for literal in self.literals for at in range(0, 8, literal.width_bytes)]
        words = range(0, PAGE_BYTES if places else 0, 16)
        for turn, word in enumerate(words, len(words) * number + 7 * self.seed):
            literal, at = places[turn % len(places)]
            page[word + at : word + at + literal.width_bytes] = literal.to_bytes()

    def word(self, address: int) -> int:
        """The aligned 64-bit word that holds an address."""
        offset = address % PAGE_BYTES & ~7
        return int.from_bytes(self.page(address // PAGE_BYTES)[offset : offset + 8], "little")

    def load(self, address: int, data: bytes) -> None:
        """Put bytes at an address."""
        for i, value in enumerate(data):
            self.page((address + i) // PAGE_BYTES)[(address + i) % PAGE_BYTES] = value

    def store(self, address: int, data: int, strobes: int) -> None:
        """Write the bytes of a beat that its strobes name."""
        page, offset = self.page(address // PAGE_BYTES), address % PAGE_BYTES & ~7
        for lane in range(8):
            if strobes >> lane & 1:
                page[offset + lane] = data >> 8 * lane & 0xFF


def _next(address: int, size: int, burst: int) -> int:
    return address if burst == FIXED else (address & ~((1 << size) - 1)) + (1 << size)


class Port:
    """Everything around one instance.

    Args:
        instance: The module.
    """

    def __init__(self, instance: ModuleInstance) -> None:
        self.instance = instance
        self.down, self.up = instance.down, instance.up
        self.memory = Memory(0)
        self._rng = random.Random(0)
        self._pause = 0.0
        self._records: list[bytes] = []
        self._marks: list[tuple[int, str]] = []
        self._forget()

    def _forget(self) -> None:
        """Nothing is under way on either side."""
        for name, _ in self.down._fields_:
            setattr(self.down, name, 0)
        self.now = self._due = 0
        self._writes: deque[tuple[int, int, int, int]] = deque()
        self._beats: deque[tuple[int, int, int]] = deque()
        self._reads: deque[tuple[int, int, int, int, int]] = deque()
        self._answers: deque[tuple[int, int, int]] = deque()

    # The clock --------------------------------------------------------------------------------------------------------

    def cycle(self) -> None:
        """One clock cycle, memory's side of it included."""
        self._offer()
        taken = self._take()
        self.instance.step()
        if taken & ANSWER:
            self.down.m_axi_bvalid = 0
        if taken & DATA:
            self.down.m_axi_rvalid = 0
        self._records.append(bytes(self.up))
        self.now += 1

    def idle(self, cycles: int) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            self.cycle()

    def reset(self, cycles: int, memory: Memory) -> None:
        """What the swap does: from one cycle to the next nothing enters any more, and reset is held; a fresh start."""
        self._forget()
        for _ in range(cycles):
            self.instance.step()
        self.begin(memory)

    def begin(self, memory: Memory) -> None:
        """Begin a trace of a module that has just been reset, with this memory."""
        self._forget()
        self.memory, self._pause, self._rng, self.down.rst_n = memory, 0.0, random.Random(0), 1
        self.record()

    def pause(self, chance: float, seed: int = 1) -> None:
        """Hold up every channel of the memory port in that share of the cycles."""
        self._pause, self._rng = chance, random.Random(seed)

    def record(self) -> None:
        """Begin a trace here."""
        self._records, self._marks, self.now = [], [], 0

    def mark(self, what: str) -> None:
        """Say what the work does from here on, for whoever reads where traces differ."""
        self._marks.append((len(self._records), what))

    def trace(self) -> OutputTrace:
        """Every output since `record`."""
        return trace_of(self._records, self._marks)

    # Memory's side ----------------------------------------------------------------------------------------------------

    def _take(self) -> int:
        """What is transferred at the coming edge; answers which of memory's offers are."""
        d, u, taken = self.down, self.up, 0
        if d.m_axi_bvalid and u.m_axi_bready:
            taken |= ANSWER
            self._answers.popleft()
        if d.m_axi_rvalid and u.m_axi_rready:
            taken |= DATA
            self._read_on()
        if u.m_axi_awvalid and d.m_axi_awready:
            self._writes.append((u.m_axi_awaddr, u.m_axi_awsize, u.m_axi_awburst, u.m_axi_awid))
        if u.m_axi_wvalid and d.m_axi_wready:
            self._beats.append((u.m_axi_wdata, u.m_axi_wstrb, u.m_axi_wlast))
        if u.m_axi_arvalid and d.m_axi_arready:
            burst = (u.m_axi_araddr, u.m_axi_arlen + 1, u.m_axi_arsize, u.m_axi_arburst, u.m_axi_arid)
            self._due = self.now + LATENCY if not self._reads else self._due
            self._reads.append(burst)
        return taken

    def _read_on(self) -> None:
        address, beats, size, burst, identity = self._reads.popleft()
        if beats > 1:
            self._reads.appendleft((_next(address, size, burst), beats - 1, size, burst, identity))
        elif self._reads:
            self._due = self.now + 2

    def _offer(self) -> None:
        """What memory shows in the coming cycle; what it has offered stays until it is taken."""
        d, hold = self.down, self._held_up
        d.m_axi_awready = not hold()
        d.m_axi_wready = not hold()
        d.m_axi_arready = not hold() and len(self._reads) < 8
        while self._writes and self._beats:
            self._write_beat()
        if self._answers and not d.m_axi_bvalid and self._answers[0][0] <= self.now and not hold():
            d.m_axi_bvalid, d.m_axi_bid, d.m_axi_bresp = 1, self._answers[0][1], self._answers[0][2]
        if self._reads and not d.m_axi_rvalid and self._due <= self.now and not hold():
            address, beats, _, _, identity = self._reads[0]
            d.m_axi_rvalid, d.m_axi_rid, d.m_axi_rlast = 1, identity, beats == 1
            d.m_axi_rdata, d.m_axi_rresp = self.memory.word(address), self._fails()

    def _write_beat(self) -> None:
        address, size, burst, identity = self._writes.popleft()
        data, strobes, last = self._beats.popleft()
        self.memory.store(address, data, strobes)
        if last:
            self._answers.append((self.now + LATENCY, identity, self._fails()))
        else:
            self._writes.appendleft((_next(address, size, burst), size, burst, identity))

    def _fails(self) -> int:
        return 2 if self.memory.fail and self._rng.random() < self.memory.fail else 0

    def _held_up(self) -> bool:
        return self._pause > 0 and self._rng.random() < self._pause

    # Registers --------------------------------------------------------------------------------------------------------

    def write(self, offset: int, value: int, strobes: int = 15) -> None:
        """Write a register.

        Raises:
            Deaf: It is not answered.
        """
        down, up = self.down, self.up
        down.s_axil_awaddr, down.s_axil_awvalid = offset, 1
        down.s_axil_wdata, down.s_axil_wstrb, down.s_axil_wvalid = value & 0xFFFF_FFFF, strobes, 1
        down.s_axil_bready = 1
        for _ in range(ANSWER_CYCLES):
            address_taken = down.s_axil_awvalid and up.s_axil_awready
            data_taken = down.s_axil_wvalid and up.s_axil_wready
            answered = up.s_axil_bvalid
            self.cycle()
            if address_taken:
                down.s_axil_awvalid = 0
            if data_taken:
                down.s_axil_wvalid = 0
            if answered:
                down.s_axil_bready = 0
                return
        raise Deaf(f"a write to {offset:#x} is not answered")

    def begin_write(self, offset: int) -> None:
        """Give the address of a write and keep back its data: a request cut in half by what comes next."""
        self.down.s_axil_awaddr, self.down.s_axil_awvalid = offset, 1
        for _ in range(ANSWER_CYCLES):
            taken = self.up.s_axil_awready
            self.cycle()
            if taken:
                break
        self.down.s_axil_awvalid = 0

    def read(self, offset: int) -> int:
        """Read a register.

        Raises:
            Deaf: It is not answered.
        """
        down, up = self.down, self.up
        down.s_axil_araddr, down.s_axil_arvalid, down.s_axil_rready = offset, 1, 1
        for _ in range(ANSWER_CYCLES):
            taken = down.s_axil_arvalid and up.s_axil_arready
            answered, data = up.s_axil_rvalid, int(up.s_axil_rdata)
            self.cycle()
            if taken:
                down.s_axil_arvalid = 0
            if answered:
                down.s_axil_rready = 0
                return data
        raise Deaf(f"a read of {offset:#x} is not answered")

    def interrupt(self, cycles: int) -> bool:
        """Wait for the interrupt; False where it did not come within so many cycles."""
        for _ in range(cycles):
            if self.up.irq:
                return True
            self.cycle()
        return bool(self.up.irq)
