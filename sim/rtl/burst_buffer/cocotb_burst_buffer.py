# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The burst buffer: whatever the slot does, memory is never kept waiting, and nothing is lost or changed.

A model of the slot and one of memory, both of which pause at random. What memory may rely on is checked in every cycle.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

AX_BITS, B_BITS, R_BITS, W_BITS = 72, 6, 71, 73
LEN_SHIFT = AX_BITS - 4 - 40 - 8
"""Position of the length in a request (eddy_pkg::ax_t)."""
TO_MEMORY = ("mem_aw", "mem_w", "mem_ar")
TO_SLOT = ("b", "r")


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, the slot asks, delivers and takes; and memory takes requests and data, and answers."""

    ask: float = 1.0
    deliver: float = 1.0
    take: float = 1.0
    mem_ask: float = 1.0
    mem_data: float = 1.0
    answer: float = 1.0
    lengths: tuple[int, ...] = (1, 1, 2, 7, 16, 64, 256)


@dataclass
class Scoreboard:
    """What went where, in order."""

    asked: dict[str, list[int]] = field(default_factory=lambda: {"aw": [], "ar": []})
    forwarded: dict[str, list[int]] = field(default_factory=lambda: {"aw": [], "ar": []})
    delivered: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    answered: dict[str, list[int]] = field(default_factory=lambda: {"b": [], "r": []})
    taken: dict[str, list[int]] = field(default_factory=lambda: {"b": [], "r": []})
    whole_in: int = 0
    whole_out: int = 0
    promised: int = 0
    most_promised: int = 0


async def start(dut: Any) -> None:
    for name in ("aw", "w", "ar", "mem_b", "mem_r"):
        getattr(dut, f"{name}_valid_i").value = 0
        getattr(dut, f"{name}_i").value = 0
    for name in ("b", "r", "mem_aw", "mem_w", "mem_ar"):
        getattr(dut, f"{name}_ready_i").value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    for name in (*TO_MEMORY, *TO_SLOT):
        assert getattr(dut, f"{name}_valid_o").value == 0
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


def beats(request: int) -> int:
    """Beats a request asks for."""
    return (request >> LEN_SHIFT & 0xFF) + 1


class Bench:
    """The two models around one buffer, and the scoreboard."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng, self.scoreboard = dut, random.Random(seed), Scoreboard()
        self.outstanding, self.room = int(dut.MaxOutstanding.value), int(dut.Beats.value)
        self.offered: dict[str, int | None] = {"aw": None, "w": None, "ar": None}
        self.to_deliver: deque[int] = deque()
        self.to_answer: dict[str, deque[int]] = {"b": deque(), "r": deque()}
        self.held: dict[str, int | None] = dict.fromkeys((*TO_MEMORY, *TO_SLOT))
        self.writes = 0
        self.busy = {"aw", "ar"}
        self.gaps = 0

    async def cycle(self, flow: Flow) -> None:
        self.ask(flow)
        self.drive(flow)
        await Timer(4, "ns")
        self.check_promises()
        for name in (*TO_MEMORY, *TO_SLOT):
            self.check_held(name)
        self.at_memory()
        self.at_slot()
        await FallingEdge(self.dut.clk_i)

    def request(self, flow: Flow) -> int:
        length = self.rng.choice(flow.lengths) - 1
        return self.rng.getrandbits(AX_BITS) & ~(0xFF << LEN_SHIFT) | length << LEN_SHIFT

    def ask(self, flow: Flow) -> None:
        rng, offered = self.rng, self.offered
        # The firewall lets no more than so many writes be under way.
        if "aw" in self.busy and offered["aw"] is None and self.writes < self.outstanding and rng.random() < flow.ask:
            request = self.request(flow)
            offered["aw"] = request
            self.writes += 1
            count = beats(request)
            self.to_deliver.extend(rng.getrandbits(W_BITS - 1) << 1 | (k == count - 1) for k in range(count))
        if "ar" in self.busy and offered["ar"] is None and rng.random() < flow.ask:
            offered["ar"] = self.request(flow)
        if offered["w"] is None and self.to_deliver and rng.random() < flow.deliver:
            offered["w"] = self.to_deliver.popleft()

    def drive(self, flow: Flow) -> None:
        dut, rng = self.dut, self.rng
        for name, width in (("aw", AX_BITS), ("w", W_BITS), ("ar", AX_BITS)):
            value = self.offered[name]
            getattr(dut, f"{name}_valid_i").value = int(value is not None)
            getattr(dut, f"{name}_i").value = rng.getrandbits(width) if value is None else value
        for name in TO_SLOT:
            getattr(dut, f"{name}_ready_i").value = int(rng.random() < flow.take)
            waiting = self.to_answer[name]
            answers = bool(waiting) and rng.random() < flow.answer
            getattr(dut, f"mem_{name}_valid_i").value = int(answers)
            getattr(dut, f"mem_{name}_i").value = waiting[0] if answers else 0
        for name in ("mem_aw", "mem_ar"):
            getattr(dut, f"{name}_ready_i").value = int(rng.random() < flow.mem_ask)
        dut.mem_w_ready_i.value = int(rng.random() < flow.mem_data and self.may_take_data())

    def may_take_data(self) -> bool:
        """Whoever stands behind may take data before its request, but for the last beat."""
        scoreboard = self.scoreboard
        gone = len(scoreboard.written)
        is_last = gone < len(scoreboard.delivered) and scoreboard.delivered[gone] & 1
        return scoreboard.whole_out < len(scoreboard.forwarded["aw"]) or not is_last

    def check_promises(self) -> None:
        """What memory relies on: data follows its request without a gap, and answers are taken at once."""
        dut, scoreboard = self.dut, self.scoreboard
        assert dut.mem_b_ready_o.value == 1
        assert dut.mem_r_ready_o.value == 1
        asked = len(scoreboard.forwarded["aw"])
        if dut.mem_aw_valid_o.value == 1:
            assert asked < scoreboard.whole_in, "a write request went before its data was here"
        due, offered = scoreboard.whole_out < asked, dut.mem_w_valid_o.value == 1
        assert offered or not due, "data with a gap"
        assert due or not offered or dut.mem_aw_valid_o.value == 1, "data without a request"
        if dut.mem_ar_valid_o.value == 1:
            wanted = scoreboard.promised + beats(int(dut.mem_ar_o.value))
            assert wanted <= self.room, f"asked for {wanted} beats with room for {self.room}"

    def check_held(self, name: str) -> None:
        """What is offered stays, unchanged, until it is taken."""
        dut, before = self.dut, self.held[name]
        valid, payload = getattr(dut, f"{name}_valid_o").value == 1, int(getattr(dut, f"{name}_o").value)
        assert before is None or (valid and payload == before), f"{name} changed before it was taken"
        self.held[name] = payload if valid and getattr(dut, f"{name}_ready_i").value == 0 else None

    def went(self, name: str, direction: str) -> bool:
        """Whether a word moves over a channel in this cycle; `direction` is that of the valid."""
        answer = "i" if direction == "o" else "o"
        valid, ready = getattr(self.dut, f"{name}_valid_{direction}"), getattr(self.dut, f"{name}_ready_{answer}")
        return bool(valid.value == 1 and ready.value == 1)

    def at_memory(self) -> None:
        dut, scoreboard, rng = self.dut, self.scoreboard, self.rng
        if self.went("mem_aw", "o"):
            scoreboard.forwarded["aw"].append(int(dut.mem_aw_o.value))
        if self.went("mem_w", "o"):
            scoreboard.written.append(int(dut.mem_w_o.value))
            if scoreboard.written[-1] & 1:
                scoreboard.whole_out += 1
                self.to_answer["b"].append(rng.getrandbits(B_BITS))
        if self.went("mem_ar", "o"):
            request = int(dut.mem_ar_o.value)
            scoreboard.forwarded["ar"].append(request)
            count = beats(request)
            scoreboard.promised += count
            scoreboard.most_promised = max(scoreboard.most_promised, scoreboard.promised)
            self.to_answer["r"].extend(rng.getrandbits(R_BITS - 1) << 1 | (k == count - 1) for k in range(count))
        for name in TO_SLOT:
            if self.went(f"mem_{name}", "i"):
                scoreboard.answered[name].append(self.to_answer[name].popleft())

    def at_slot(self) -> None:
        dut, scoreboard = self.dut, self.scoreboard
        for name in ("aw", "ar"):
            if self.went(name, "i"):
                request = self.offered[name]
                assert request is not None
                scoreboard.asked[name].append(request)
                self.offered[name] = None
        if self.went("w", "i"):
            word = self.offered["w"]
            assert word is not None
            scoreboard.delivered.append(word)
            scoreboard.whole_in += word & 1
            self.offered["w"] = None
        for name in TO_SLOT:
            if self.went(name, "o"):
                scoreboard.taken[name].append(int(getattr(dut, f"{name}_o").value))
                scoreboard.promised -= name == "r"
                self.writes -= name == "b"

    async def drain(self) -> None:
        self.busy = set()
        for _ in range(self.outstanding * 2 * 256 + 2 * self.room + 50):
            await self.cycle(Flow())
            if self.settled():
                break
        scoreboard = self.scoreboard
        assert scoreboard.forwarded == scoreboard.asked
        assert scoreboard.written == scoreboard.delivered
        assert scoreboard.taken == scoreboard.answered
        assert not any(self.to_answer.values())
        assert scoreboard.promised == self.writes == 0

    def settled(self) -> bool:
        scoreboard = self.scoreboard
        idle = not any(value is not None for value in self.offered.values())
        return (
            idle
            and not self.to_deliver
            and scoreboard.promised == self.writes == 0
            and scoreboard.forwarded == scoreboard.asked
        )


FLOWS = [
    Flow(),
    Flow(ask=0.3, deliver=0.5, take=0.5, mem_ask=0.5, mem_data=0.5, answer=0.5),
    Flow(deliver=0.1, take=0.1),
    Flow(mem_ask=0.2, mem_data=0.2),
    Flow(lengths=(1,)),
    Flow(lengths=(256,), take=0.3),
    Flow(answer=0.1, lengths=(1, 2, 4)),
]


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def memory_is_never_kept_waiting_and_nothing_is_lost(dut: Any, number: int) -> None:
    await start(dut)
    bench = Bench(dut, seed=50 + number)
    for _ in range(1500):
        await bench.cycle(FLOWS[number])
    await bench.drain()
    assert len(bench.scoreboard.written) > 50
    assert len(bench.scoreboard.taken["r"]) > 50


@cocotb.test()
async def a_slot_that_takes_no_answer_stops_only_itself(dut: Any) -> None:
    """Reads go to memory until the room is promised, no further; then all of it comes once the slot takes it."""
    await start(dut)
    bench = Bench(dut, seed=60)
    for _ in range(3 * bench.room):
        await bench.cycle(Flow(take=0.0, lengths=(16,)))
    assert bench.room - 16 - 2 <= bench.scoreboard.most_promised <= bench.room
    assert not bench.to_answer["r"], "memory delivered all it was asked for"
    assert len(bench.scoreboard.answered["b"]) == bench.outstanding
    await bench.drain()


@cocotb.test()
async def a_slot_that_withholds_its_last_beat_asks_memory_for_nothing(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, seed=61)
    bench.busy = {"aw"}
    await bench.cycle(Flow(lengths=(256,)))
    bench.busy = set()
    last = bench.to_deliver.pop()
    for _ in range(600):
        await bench.cycle(Flow())
        assert dut.mem_aw_valid_o.value == 0
    assert len(bench.scoreboard.delivered) == 255
    bench.to_deliver.append(last)
    began = len(bench.scoreboard.written)
    assert began == 0
    # The last beat in, two cycles to be seen, then 256 beats in as many cycles.
    for _ in range(2 + 2 + 256):
        await bench.cycle(Flow())
    assert len(bench.scoreboard.written) == 256
    await bench.drain()


@cocotb.test()
async def data_ahead_of_its_request_waits_for_it(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, seed=62)
    bench.to_deliver.extend(((7 << 1), (8 << 1) | 1))
    bench.busy = set()
    for _ in range(20):
        await bench.cycle(Flow())
        assert dut.mem_w_valid_o.value == 0
        assert dut.mem_aw_valid_o.value == 0
    bench.offered["aw"] = 1 << LEN_SHIFT
    bench.writes += 1
    await bench.drain()
    assert bench.scoreboard.written == [7 << 1, 8 << 1 | 1]


@cocotb.test()
@cocotb.parametrize(length=[16, 256])
async def both_directions_move_a_beat_a_cycle(dut: Any, length: int) -> None:
    await start(dut)
    bench = Bench(dut, seed=63)
    # Short bursts keep a channel busy only where enough of them may be under way.
    flow = Flow(lengths=(max(length, 512 // bench.outstanding),))
    for _ in range(800):
        await bench.cycle(flow)
    wrote, read = len(bench.scoreboard.written), len(bench.scoreboard.taken["r"])
    for _ in range(1024):
        await bench.cycle(flow)
    assert len(bench.scoreboard.written) - wrote >= 1024 * 0.98
    assert len(bench.scoreboard.taken["r"]) - read >= 1024 * 0.98
    await bench.drain()
