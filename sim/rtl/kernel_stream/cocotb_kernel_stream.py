# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Streams of a kernel and memory: every byte once, in order, none outside its buffer, whatever either side does.

What a run must leave follows from AXI4-Stream's own words (ARM IHI 0051: bytes that TKEEP marks, lowest first, packets
up to TLAST) and from the buffer's bounds; it is worked out here byte by byte, not in words. Toward memory, the
slot contract's own checker watches; toward the kernel, a checker of TVALID's rules.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotbext.axi import AxiBus, AxiSlave
from eddy_sim.modcheck.harness import Memory, pauses
from eddy_sim.modcheck.protocol import AllowedRange, ProtocolChecker

SOURCE, TARGET, AROUND = 0x10_0000, 0x20_0000, 64
WAIT_CYCLES = 60_000


@dataclass(frozen=True)
class Beat:
    """What a kernel sends: bytes, which of them count, and whether the packet ends."""

    data: bytes
    keep: int
    last: bool


@dataclass(frozen=True)
class Kept:
    """What a run must leave: bytes in memory, and whether packets were overlong, beats ragged."""

    data: bytes
    overlong: bool = False
    ragged: bool = False


def kept_of(beats: Sequence[Beat], room: int, by_length: bool) -> Kept:
    """What is kept of beats, by the rules; they must end the run."""
    kept, overlong, ragged = bytearray(), False, False
    for beat in beats:
        chosen = bytes(value for k, value in enumerate(beat.data) if beat.keep >> k & 1)
        prefix = beat.keep == (1 << len(chosen)) - 1
        left = room - len(kept)
        ends = len(chosen) >= left if by_length else beat.last
        if not prefix or (0 < len(chosen) < len(beat.data) and not ends):
            ragged, chosen, ends = True, b"", ends and not by_length
        overlong |= not by_length and len(chosen) > left
        kept += chosen[:left]
        if ends:
            return Kept(bytes(kept), overlong, ragged)
    raise AssertionError("these beats end no run")


def beats_of(data: bytes, width: int, ends: bool = True) -> list[Beat]:
    """Data as full beats, the last one as it is; `ends` says whether with TLAST."""
    parts = [data[k : k + width] for k in range(0, len(data), width)] or [b""]
    return [
        Beat(part.ljust(width, b"\xee"), (1 << len(part)) - 1, ends and k == len(parts) - 1)
        for k, part in enumerate(parts)
    ]


class Bench:
    """Both streams, and memory."""

    def __init__(self, dut: Any, seed: int) -> None:
        logging.getLogger("cocotb").setLevel(logging.WARNING)
        self.dut, self.rng, self.memory, self.checker = dut, random.Random(seed), Memory(), ProtocolChecker(dut)
        self.widths = len(dut.in_tkeep), len(dut.out_tkeep)
        for name in ("rst_ni", "stop_i", "in_start_i", "out_start_i", "in_tready", "out_tvalid", "out_by_length_i"):
            getattr(dut, name).value = 0
        Clock(dut.clk_i, 10, unit="ns").start()
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        self.slave = AxiSlave(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, target=self.memory, **reset)
        for interface in (self.slave.write_if, self.slave.read_if):
            interface.log.setLevel(logging.ERROR)
        self.seen = dict.fromkeys(("in_error", "out_error", "out_overlong", "out_ragged"), 0)
        self.moved: list[str] = []
        self.kernel_pause = 0.0
        cocotb.start_soon(self.checker.run())
        cocotb.start_soon(self._watch())

    async def start(self) -> None:
        await ClockCycles(self.dut.clk_i, 5)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def pause(self, memory: float, kernel: float) -> None:
        """Hold up memory's channels, and the kernel's, in these shares of the cycles."""
        self.kernel_pause = kernel
        write, read = self.slave.write_if, self.slave.read_if
        for k, channel in enumerate(
            (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
        ):
            channel.set_pause_generator(pauses(k + 7, memory))

    async def _watch(self) -> None:
        """Counts pulses; a beat that was offered must stay until it is taken, unless the run is stopped."""
        offered: tuple[int, ...] | None = None
        while True:
            await ReadOnly()
            for name in self.seen:
                self.seen[name] += int(getattr(self.dut, f"{name}_o").value)
            valid, ready, stop = (int(getattr(self.dut, n).value) for n in ("in_tvalid", "in_tready", "stop_i"))
            names = ("in_tdata", "in_tkeep", "in_tlast", "in_first")
            beat = tuple(int(getattr(self.dut, name).value) for name in names) if valid else None
            if offered is not None and beat != offered:
                self.moved.append(f"{offered} became {beat}")
            offered = beat if valid and not ready and not stop else None
            await RisingEdge(self.dut.clk_i)

    async def begin(self, side: str, addr: int, length: int, by_length: bool = False) -> None:
        """Begin a run of one stream."""
        getattr(self.dut, f"{side}_addr_i").value = addr
        getattr(self.dut, f"{side}_bytes_i").value = length
        self.dut.out_by_length_i.value = int(by_length)
        getattr(self.dut, f"{side}_start_i").value = 1
        await RisingEdge(self.dut.clk_i)
        getattr(self.dut, f"{side}_start_i").value = 0
        await RisingEdge(self.dut.clk_i)

    async def end(self, side: str) -> None:
        """Wait until a stream's run has ended."""
        busy = getattr(self.dut, f"{side}_busy_o")
        for _ in range(WAIT_CYCLES):
            if not int(busy.value):
                return
            await RisingEdge(self.dut.clk_i)
        raise TimeoutError(f"{side} does not end")

    async def take(self, most: int = 1 << 30) -> tuple[bytes, int]:
        """Take a packet, at most so many beats; its bytes, and the cycles from its first beat to its last."""
        dut, data, cycles, beats = self.dut, bytearray(), 0, 0
        while beats < most:
            dut.in_tready.value = int(self.rng.random() >= self.kernel_pause)
            await ReadOnly()
            valid = int(dut.in_tvalid.value)
            cycles += beats > 0 or valid
            if valid and int(dut.in_tready.value):
                keep, last = int(dut.in_tkeep.value), int(dut.in_tlast.value)
                count = keep.bit_count()
                assert keep == (1 << count) - 1
                assert count == self.widths[0] or last, "a part of a beat before the last"
                assert int(dut.in_first.value) == (beats == 0)
                word = int(dut.in_tdata.value).to_bytes(self.widths[0], "little")
                assert not any(word[count:])
                data += word[:count]
                beats += 1
                if last:
                    most = 0
            await RisingEdge(dut.clk_i)
        dut.in_tready.value = 0
        return bytes(data), cycles

    async def send(self, beats: Sequence[Beat]) -> None:
        """Send beats, the last ones perhaps in vain: those that nobody takes any more are withdrawn."""
        dut = self.dut
        for beat in beats:
            while self.rng.random() < self.kernel_pause:
                await RisingEdge(dut.clk_i)
            dut.out_tdata.value = int.from_bytes(beat.data, "little")
            dut.out_tkeep.value, dut.out_tlast.value, dut.out_tvalid.value = beat.keep, int(beat.last), 1
            while True:
                await ReadOnly()
                taken = int(dut.out_tready.value)
                await RisingEdge(dut.clk_i)
                if taken:
                    break
            dut.out_tvalid.value = 0

    async def read_run(self, length: int) -> None:
        """One run toward the kernel, from an address of any word, compared with memory."""
        addr, data = SOURCE + 8 * self.rng.randrange(1024), self.rng.randbytes(length)
        self.memory.load(addr, data)
        self.checker.windows = [
            AllowedRange(addr, -(-length // 8) * 8, True, False),
            *[w for w in self.checker.windows or [] if w.write],
        ]
        await self.begin("in", addr, length)
        if length:
            assert (await self.take())[0] == data
        await self.end("in")
        assert int(self.dut.in_moved_o.value) == length

    async def write_run(self, beats: Sequence[Beat], room: int, by_length: bool = False) -> None:
        """One run from the kernel: what is kept lies there, and nothing around it was touched."""
        wanted = kept_of(beats, room, by_length)
        addr = TARGET + 8 * self.rng.randrange(1024)
        before = self.rng.randbytes(room + 2 * AROUND)
        self.memory.load(addr - AROUND, before)
        self.checker.windows = [
            *[w for w in self.checker.windows or [] if w.read],
            AllowedRange(addr, -(-room // 8) * 8, False, True),
        ]
        seen = dict(self.seen)
        await self.begin("out", addr, room, by_length)
        sending = cocotb.start_soon(self.send(beats))
        await self.end("out")
        assert sending.done() or by_length
        sending.cancel()
        self.dut.out_tvalid.value = 0
        assert int(self.dut.out_moved_o.value) == len(wanted.data)
        got = self.memory.dump(addr - AROUND, len(before))
        assert got == before[:AROUND] + wanted.data + before[AROUND + len(wanted.data) :]
        assert (self.seen["out_overlong"] > seen["out_overlong"]) == wanted.overlong
        assert (self.seen["out_ragged"] > seen["out_ragged"]) == wanted.ragged

    def lengths(self, width: int) -> Iterator[int]:
        yield from (0, 1, width, width + 1, 7, 8, 9, 16 * 8, 4096 + 3)
        yield from (self.rng.randrange(1, 40 * width) for _ in range(4))

    def check(self) -> None:
        """Nothing that AXI4, AXI4-Stream or the slot contract forbids was seen."""
        assert not self.checker.violations, self.checker.violations[0]
        assert not self.moved, self.moved[0]


def flows() -> Iterator[tuple[float, float]]:
    """Shares of the cycles in which memory, and the kernel, hold back."""
    yield from ((0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.3, 0.3))


@cocotb.test()
async def every_byte_comes_once_and_in_order(dut: Any) -> None:
    """Both ways at once."""
    bench = Bench(dut, 1)
    await bench.start()

    async def out_runs() -> None:
        for length in bench.lengths(bench.widths[1]):
            room = length + bench.rng.choice((0, 0, 1, 100))
            await bench.write_run(beats_of(bench.rng.randbytes(length), bench.widths[1]), room)

    for memory, kernel in flows():
        bench.pause(memory, kernel)
        other = cocotb.start_soon(out_runs())
        for length in bench.lengths(bench.widths[0]):
            await bench.read_run(length)
        await other
    bench.check()
    assert not any(bench.seen.values())
    assert bench.checker.traffic.longest <= 16


@cocotb.test()
async def what_a_kernel_sends_amiss_stays_within_its_buffer(dut: Any) -> None:
    """Packets that are too long, beats with gaps, parts of beats in the middle, beats without a byte, and at random."""
    bench = Bench(dut, 2)
    await bench.start()
    width = bench.widths[1]

    def strange(number: int) -> list[Beat]:
        found = []
        for _ in range(number):
            keep = bench.rng.choice(((1 << width) - 1, (1 << width) - 1, 0, bench.rng.getrandbits(width)))
            found.append(Beat(bench.rng.randbytes(width), keep, False))
        return [*found, Beat(bench.rng.randbytes(width), (1 << width) - 1, True)]

    for memory, kernel in flows():
        bench.pause(memory, kernel)
        for room in (0, 1, 5, 8, 3 * width - 1, 130):
            await bench.write_run(beats_of(bench.rng.randbytes(room + 1 + 5 * width), width), room)
        for _ in range(6):
            await bench.write_run(strange(20), bench.rng.randrange(20 * width))
        await bench.write_run([*beats_of(bytes(2 * width), width, ends=False), Beat(bytes(width), 0, True)], 4 * width)
    bench.check()
    assert bench.seen["out_overlong"]
    assert bench.seen["out_ragged"] or width == 1
    assert not bench.seen["out_error"]


@cocotb.test()
async def a_stream_may_end_by_its_length(dut: Any) -> None:
    """TLAST says nothing then, beats that come after are not taken, and what is too short does not end."""
    bench = Bench(dut, 3)
    await bench.start()
    width = bench.widths[1]
    for memory, kernel in flows():
        bench.pause(memory, kernel)
        for room in (1, width, 3 * width, 5 * width - 1, 129 * width):
            data = bench.rng.randbytes((room // width + 3) * width)
            beats = [Beat(b.data, b.keep, bench.rng.random() < 0.3) for b in beats_of(data, width)]
            await bench.write_run(beats, room, by_length=True)
            assert not int(dut.out_tready.value)
    await bench.write_run(beats_of(bytes(width), width), 0, by_length=True)
    bench.pause(0.0, 0.0)
    bench.checker.windows = [AllowedRange(TARGET, 4 * width, False, True)]
    await bench.begin("out", TARGET, 4 * width, by_length=True)
    await bench.send(beats_of(bytes(2 * width), width))
    await ClockCycles(dut.clk_i, 200)
    assert int(dut.out_busy_o.value)
    assert int(dut.out_moved_o.value) == 2 * width
    bench.check()


@cocotb.test()
async def a_stop_ends_both_and_leaves_them_ready(dut: Any) -> None:
    """In the middle of a packet each; what came before is written, and the next runs are right."""
    bench = Bench(dut, 4)
    await bench.start()
    inward, outward = bench.widths
    for memory, kernel in flows():
        bench.pause(memory, kernel)
        bench.checker.windows = None
        await bench.begin("in", SOURCE, 300 * inward)
        await bench.begin("out", TARGET, 300 * outward)
        data = bench.rng.randbytes(50 * outward)
        await bench.send(beats_of(data, outward, ends=False))
        await bench.take(7)
        await ClockCycles(dut.clk_i, bench.rng.randrange(8))
        dut.stop_i.value = 1
        await RisingEdge(dut.clk_i)
        await RisingEdge(dut.clk_i)
        assert not int(dut.in_tvalid.value)
        assert not int(dut.out_tready.value)
        await bench.end("in")
        await bench.end("out")
        moved = int(dut.out_moved_o.value)
        assert moved % outward == 0
        assert moved <= len(data)
        assert bench.memory.dump(TARGET, moved) == data[:moved]
        taken = int(dut.in_moved_o.value)
        assert 7 * inward <= taken < 300 * inward
        dut.stop_i.value = 0
        await ClockCycles(dut.clk_i, 3)
        assert int(dut.in_moved_o.value) == taken, "what was thrown away counts as taken"
        await bench.read_run(3 * inward + 1)
        await bench.write_run(beats_of(bench.rng.randbytes(5 * outward), outward), 6 * outward)
    bench.check()


@cocotb.test()
async def memorys_errors_are_told_and_end_nothing(dut: Any) -> None:
    bench = Bench(dut, 5)
    await bench.start()
    bench.memory.fail_reads = range(SOURCE + 64, SOURCE + 72)
    bench.memory.fail_writes = range(TARGET + 64, TARGET + 72)
    await bench.begin("in", SOURCE, 400)
    assert len((await bench.take())[0]) == 400
    await bench.end("in")
    await bench.begin("out", TARGET, 400)
    await bench.send(beats_of(bytes(400), bench.widths[1]))
    await bench.end("out")
    assert bench.seen["in_error"]
    assert bench.seen["out_error"]
    bench.memory.fail_reads = bench.memory.fail_writes = range(0)
    seen = dict(bench.seen)
    await bench.read_run(100)
    await bench.write_run(beats_of(bytes(100), bench.widths[1]), 100)
    assert seen == bench.seen
    bench.check()


@cocotb.test()
async def streams_keep_up(dut: Any) -> None:
    """Of a word a cycle toward memory, or a beat a cycle toward the kernel, nine tenths, each way alone."""
    bench = Bench(dut, 6)
    await bench.start()
    for side, width in zip(("in", "out"), bench.widths, strict=True):
        length = 600 * width
        ideal = max(length // 8, length // width)
        if side == "in":
            await bench.begin("in", SOURCE, length)
            cycles = (await bench.take())[1]
        else:
            data = beats_of(bytes(length), width)
            await bench.begin("out", TARGET, length)
            cycles = await _cycles(dut, bench, data)
        assert ideal >= 0.9 * cycles, (side, ideal, cycles)
        await bench.end(side)
    bench.check()


async def _cycles(dut: Any, bench: Bench, beats: Sequence[Beat]) -> int:
    """How long it takes until beats are taken that follow each other without a pause, but for the first ones."""
    passed = 0

    async def count() -> None:
        nonlocal passed
        while True:
            await RisingEdge(dut.clk_i)
            passed += 1

    counting = cocotb.start_soon(count())
    await bench.send(beats)
    counting.cancel()
    return passed
