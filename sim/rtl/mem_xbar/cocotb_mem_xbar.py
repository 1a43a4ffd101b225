# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The memory crossbar: whose turn it is, whose data follows, and who gets the answer, in every cycle.

Slots and memory pause at random. In every cycle the model says which slot may go, from who asks, what each has spent,
what memory owes and who went last.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

AX_BITS, W_BITS = 72, 73
SIDES = ("aw", "ar")
LEN_SHIFT, PAGE_SHIFT = AX_BITS - 4 - 40 - 8, AX_BITS - 4 - 40 + 12
"""Positions of the length, and of the address from bit 12 on, in a request (eddy_pkg::ax_t)."""
QUANTUM = 16
"""What a slot may spend in a round: the longest request, in beats."""


def beats(request: int) -> int:
    """Beats of a request."""
    return (request >> LEN_SHIFT & 0xFF) + 1


def page(request: int) -> int:
    """The 4 KiB page of a request."""
    return request >> PAGE_SHIFT & (1 << 28) - 1


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, each slot asks, has data at hand, and memory takes requests and data and answers."""

    ask: float = 1.0
    data: float = 1.0
    take: float = 1.0
    take_data: float = 1.0
    answer: float = 1.0


@dataclass
class SlotRequests:
    """What one slot wants; a payload stays until it is taken."""

    request: dict[str, int | None] = field(default_factory=lambda: {"aw": None, "ar": None})
    data: deque[int] = field(default_factory=deque)
    data_valid: bool = False


@dataclass
class Seen:
    """What went over the two faces, in order: (slot, payload)."""

    asked: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {"aw": [], "ar": []})
    out: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {"aw": [], "ar": []})
    data: list[int] = field(default_factory=list)
    expected_data: deque[int] = field(default_factory=deque)
    under_way: int = 0
    most_unanswered: dict[str, int] = field(default_factory=lambda: {"aw": 0, "ar": 0})
    most_beats: dict[str, int] = field(default_factory=lambda: {"aw": 0, "ar": 0})


async def start(dut: Any) -> None:
    for name in ("slot_aw_valid", "slot_ar_valid", "slot_w_valid", "aw_ready", "ar_ready", "w_ready"):
        getattr(dut, f"{name}_i").value = 0
    dut.b_valid_i.value = dut.r_valid_i.value = dut.r_last_i.value = 0
    dut.b_slot_i.value = dut.r_slot_i.value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    for name in ("aw_valid_o", "ar_valid_o", "w_valid_o", "b_ready_o", "r_ready_o"):
        assert getattr(dut, name).value == 0
    dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


class Turns:
    """Whose turn it is in one direction: everyone may spend as much in a round."""

    def __init__(self, slots: int, page_beats: int) -> None:
        self.left = [0] * slots
        self.spent = [0] * slots
        self.pages = [0] * slots
        self.last, self.page_beats = 0, page_beats

    def cost(self, slot: int, request: int) -> int:
        leaves = page(request) != self.pages[slot]
        return min(QUANTUM, beats(request) + (self.page_beats if leaves else 1))

    def choose(self, asking: dict[int, int]) -> int:
        """The slot, of those who ask (and what for)."""
        able = [slot for slot in asking if self.left[slot] > 0]
        if not able:
            self.left = [QUANTUM if left > 0 else left + QUANTUM for left in self.left]
            able = list(asking)
        slot = self.last if self.last in able else following(able, self.last, len(self.left))
        cost = self.cost(slot, asking[slot])
        self.left[slot] -= cost
        self.spent[slot] += cost
        self.pages[slot], self.last = page(asking[slot]), slot
        return slot


def following(asking: list[int], last: int, slots: int) -> int:
    """Who comes next, going round from the one after `last`."""
    return min(asking, key=lambda slot: (slot - last - 1) % slots)


class Bench:
    """The slots, memory and the model around one crossbar."""

    def __init__(self, dut: Any, seed: int, busy: frozenset[int] | None = None) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.count = int(dut.NumSlots.value)
        self.max_writes = int(dut.MaxWrites.value)
        self.slots = [SlotRequests() for _ in range(self.count)]
        self.busy = busy if busy is not None else frozenset(range(self.count))
        self.turns = {side: Turns(self.count, int(dut.PageBeats.value)) for side in SIDES}
        self.lengths: list[tuple[int, ...]] = [(1, 2, 5, 8, 16)] * self.count
        self.pages = [2] * self.count
        self.max_beats, self.max_reads = int(dut.MaxBeats.value), int(dut.MaxReads.value)
        self.owed_b: list[tuple[int, int]] = []
        self.data_ended = 0
        self.owed_r: deque[tuple[int, bool]] = deque()
        self.unanswered = {"aw": 0, "ar": 0}
        self.beats_owed = {"aw": 0, "ar": 0}
        self.held: dict[str, int | None] = {"aw": None, "ar": None, "w": None}
        self.seen = Seen()

    async def cycle(self, flow: Flow) -> None:
        self.offer(flow)
        await Timer(4, "ns")
        for side in SIDES:
            self.check_turn(side)
            self.check_out(side)
        self.check_data()
        self.take_answers()
        await FallingEdge(self.dut.clk_i)

    def offer(self, flow: Flow) -> None:
        rng, dut = self.rng, self.dut
        for number, slot in enumerate(self.slots):
            for side in SIDES:
                if slot.request[side] is None and number in self.busy and rng.random() < flow.ask:
                    request = self.request(number)
                    slot.request[side] = request
                    if side == "aw":
                        # All but the last beat of a burst have `last`, bit 0, clear; data may come before its request.
                        count = beats(request)
                        slot.data.extend(
                            rng.getrandbits(W_BITS - 1) << 1 | (beat == count - 1) for beat in range(count)
                        )
            slot.data_valid = slot.data_valid or (bool(slot.data) and rng.random() < flow.data)
        for side in SIDES:
            asks = [slot.request[side] for slot in self.slots]
            getattr(dut, f"slot_{side}_valid_i").value = sum((ask is not None) << i for i, ask in enumerate(asks))
            payload = sum(
                (rng.getrandbits(AX_BITS) if ask is None else ask) << AX_BITS * i for i, ask in enumerate(asks)
            )
            getattr(dut, f"slot_{side}_i").value = payload
            getattr(dut, f"{side}_ready_i").value = int(rng.random() < flow.take)
        dut.slot_w_valid_i.value = sum(slot.data_valid << i for i, slot in enumerate(self.slots))
        dut.slot_w_i.value = sum((slot.data[0] if slot.data else 0) << W_BITS * i for i, slot in enumerate(self.slots))
        dut.w_ready_i.value = int(rng.random() < flow.take_data)

        self.answer(flow)

    def request(self, slot: int) -> int:
        """Of a length and a page that the slot has; the rest is noise."""
        rng = self.rng
        length = rng.choice(self.lengths[slot])
        word = rng.getrandbits(AX_BITS) & ~(0xFF << LEN_SHIFT) & ~((1 << 28) - 1 << PAGE_SHIFT)
        return word | length - 1 << LEN_SHIFT | (100 * slot + 1 + rng.randrange(self.pages[slot])) << PAGE_SHIFT

    def answer(self, flow: Flow) -> None:
        """Memory answers what it was asked: the slots' writes in any order, each slot's in its own; reads in theirs."""
        dut, rng = self.dut, self.rng
        oldest = {slot: number for number, slot in reversed(self.owed_b)}
        able = [(number, slot) for slot, number in oldest.items() if number < len(self.seen.out["aw"])]
        dut.b_valid_i.value = int(bool(able) and rng.random() < flow.answer)
        dut.r_valid_i.value = int(bool(self.owed_r) and rng.random() < flow.answer)
        self.answered = rng.choice(able) if able else (0, rng.randrange(self.count))
        dut.b_slot_i.value = self.answered[1]
        slot, last = self.owed_r[0] if self.owed_r else (rng.randrange(self.count), bool(rng.randrange(2)))
        dut.r_slot_i.value, dut.r_last_i.value = slot, int(last)

    def take_answers(self) -> None:
        """They reach the slot they are for, and it alone."""
        dut = self.dut
        assert dut.b_ready_o.value == dut.r_ready_o.value == 1
        wrote, read = dut.b_valid_i.value == 1, dut.r_valid_i.value == 1
        assert int(dut.slot_b_valid_o.value) == (1 << self.answered[1] if wrote else 0)
        assert int(dut.slot_r_valid_o.value) == (1 << self.owed_r[0][0] if read else 0)
        if wrote:
            self.owed_b.remove(self.answered)
            self.unanswered["aw"] -= 1
            self.beats_owed["aw"] -= beats(self.seen.asked["aw"][self.answered[0]][1])
        if read:
            _, last = self.owed_r.popleft()
            self.beats_owed["ar"] -= 1
            self.unanswered["ar"] -= last

    def check_turn(self, side: str) -> None:
        """Exactly the slot whose turn it is goes, in the first cycle there is room."""
        dut = self.dut
        asking = {
            number: slot.request[side] for number, slot in enumerate(self.slots) if slot.request[side] is not None
        }
        room = getattr(dut, f"{side}_valid_o").value == 0 or getattr(dut, f"{side}_ready_i").value == 1
        if side == "aw":
            room = room and self.unanswered["aw"] < self.max_writes
        else:
            room = room and self.unanswered["ar"] < self.max_reads
        room = room and self.beats_owed[side] < self.max_beats
        ready = int(getattr(dut, f"slot_{side}_ready_o").value)
        if not asking or not room:
            assert ready == 0
            return
        slot = self.turns[side].choose({number: request for number, request in asking.items() if request is not None})
        assert ready == 1 << slot, f"{side}: asking {list(asking)}, chosen {slot}, ready {ready:b}"
        request = self.slots[slot].request[side]
        assert request is not None
        self.seen.asked[side].append((slot, request))
        self.slots[slot].request[side] = None
        self.unanswered[side] += 1
        self.seen.most_unanswered[side] = max(self.seen.most_unanswered[side], self.unanswered[side])
        if side == "aw":
            self.seen.under_way += 1
        self.beats_owed[side] += beats(request)
        self.seen.most_beats[side] = max(self.seen.most_beats[side], self.beats_owed[side])

    def check_out(self, side: str) -> None:
        dut = self.dut
        valid = getattr(dut, f"{side}_valid_o").value == 1
        payload = int(getattr(dut, f"{side}_o").value) | int(getattr(dut, f"{side}_slot_o").value) << AX_BITS
        self.check_held(side, valid, payload, getattr(dut, f"{side}_ready_i").value == 1)
        if valid and getattr(dut, f"{side}_ready_i").value == 1:
            slot, request = payload >> AX_BITS, payload & (1 << AX_BITS) - 1
            self.seen.out[side].append((slot, request))
            if side == "ar":
                count = beats(request)
                self.owed_r.extend((slot, beat == count - 1) for beat in range(count))

    def check_data(self) -> None:
        """Data comes from one slot at a time, from that of the oldest request whose data is not all taken."""
        dut, seen = self.dut, self.seen
        valid = dut.w_valid_o.value == 1
        self.check_held("w", valid, int(dut.w_o.value), dut.w_ready_i.value == 1)
        if valid and dut.w_ready_i.value == 1:
            seen.data.append(int(dut.w_o.value))
            if seen.data[-1] & 1:
                self.owed_b.append((self.data_ended, seen.asked["aw"][self.data_ended][0]))
                self.data_ended += 1
        ready = int(dut.slot_w_ready_o.value) & int(dut.slot_w_valid_i.value)
        if not ready:
            return
        slot = ready.bit_length() - 1
        assert ready == 1 << slot
        # `under_way` counts this cycle's request already; its data goes from the next cycle on.
        oldest = seen.asked["aw"][len(seen.asked["aw"]) - seen.under_way][0]
        assert slot == oldest
        word = self.slots[slot].data.popleft()
        self.slots[slot].data_valid = False
        seen.expected_data.append(word)
        if word & 1:
            seen.under_way -= 1

    def check_held(self, name: str, valid: bool, payload: int, ready: bool) -> None:
        """What is offered stays, unchanged, until it is taken."""
        before = self.held[name]
        assert before is None or (valid and payload == before), f"{name} changed before it was taken"
        self.held[name] = payload if valid and not ready else None

    async def drain(self) -> None:
        self.busy = frozenset()
        for _ in range(60 * self.count + 40 * self.max_writes):
            await self.cycle(Flow())
        for side in SIDES:
            assert self.seen.out[side] == self.seen.asked[side]
        assert self.seen.data == list(self.seen.expected_data)
        assert self.seen.under_way == 0
        assert not any(slot.data for slot in self.slots)
        assert self.unanswered == {"aw": 0, "ar": 0}
        assert self.beats_owed == {"aw": 0, "ar": 0}


FLOWS = [
    Flow(),
    Flow(ask=0.2, data=0.5, take=0.5, take_data=0.5),
    Flow(data=0.3, take=0.9),
    Flow(take=0.2, take_data=1.0),
    Flow(take_data=0.15),
    Flow(answer=0.1),
]


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def every_request_and_its_data_arrive_in_turn(dut: Any, number: int) -> None:
    await start(dut)
    bench = Bench(dut, seed=20 + number)
    for _ in range(1200):
        await bench.cycle(FLOWS[number])
    await bench.drain()
    assert all(len(bench.seen.out[side]) > 20 for side in SIDES)


@cocotb.test()
async def memory_owes_no_more_than_keeps_it_busy(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, seed=30)
    for _ in range(300):
        await bench.cycle(Flow(answer=0.0))
    for side, most in (("aw", bench.max_writes), ("ar", bench.max_reads)):
        assert bench.unanswered[side] == most or bench.beats_owed[side] >= bench.max_beats
        assert bench.seen.most_beats[side] < bench.max_beats + QUANTUM
    await bench.drain()


KINDS = {
    "alike": (((16,), 1),),
    "long and short": (((16,), 1), ((1,), 1)),
    "near and far": (((1, 2), 1), ((1, 2), 50)),
    "any": (((1, 2, 5, 8, 16), 3), ((3,), 1), ((8,), 90)),
}
"""Lengths and number of pages that slots have, in turn."""


@cocotb.test()
@cocotb.parametrize(kind=list(KINDS))
async def all_asking_spend_alike(dut: Any, kind: str) -> None:
    """At any time nobody has spent more than four rounds' worth more than another; so the longer, the more alike."""
    await start(dut)
    bench = Bench(dut, seed=31)
    for slot in range(bench.count):
        bench.lengths[slot], bench.pages[slot] = KINDS[kind][slot % len(KINDS[kind])]
    for _ in range(200 * bench.count):
        await bench.cycle(Flow())
        for side in SIDES:
            spent = bench.turns[side].spent
            assert max(spent) - min(spent) < 4 * QUANTUM - 1
    for side in SIDES:
        assert min(bench.turns[side].spent) > 100
        served = {slot: sum(1 for each, _ in bench.seen.asked[side] if each == slot) for slot in range(bench.count)}
        if kind == "near and far":
            assert served[0] > 2 * served[1], "other pages cost more"
        if kind == "alike":
            assert max(served.values()) - min(served.values()) <= 2
    await bench.drain()


@cocotb.test()
async def a_single_slot_has_the_port_to_itself(dut: Any) -> None:
    await start(dut)
    only = int(dut.NumSlots.value) - 1
    bench = Bench(dut, seed=32, busy=frozenset({only}))
    bench.lengths[only] = (16,)
    for _ in range(400):
        await bench.cycle(Flow())
    for side in SIDES:
        assert {slot for slot, _ in bench.seen.asked[side]} == {only}
        assert sum(beats(request) for _, request in bench.seen.asked[side]) >= 0.97 * 400
    await bench.drain()


@cocotb.test()
async def data_without_a_request_waits(dut: Any) -> None:
    """A slot that offers data nobody asked for is not listened to, and holds up nobody."""
    await start(dut)
    await FallingEdge(dut.clk_i)
    dut.slot_w_valid_i.value = 2 ** int(dut.NumSlots.value) - 1
    dut.w_ready_i.value = 1
    for _ in range(20):
        await Timer(4, "ns")
        assert dut.slot_w_ready_o.value == 0
        assert dut.w_valid_o.value == 0
        await FallingEdge(dut.clk_i)
