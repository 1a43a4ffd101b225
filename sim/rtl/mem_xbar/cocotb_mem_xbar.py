"""The memory crossbar: whose turn it is, whose data follows, and who gets the answer, in every cycle.

Slots and memory pause at random. In every cycle the model says which slot may go, from who asks and who went last.
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


@dataclass(frozen=True)
class Flow:
    """How often, from 0 to 1, each slot asks, has data at hand, and memory takes requests and data."""

    ask: float = 1.0
    data: float = 1.0
    take: float = 1.0
    take_data: float = 1.0


@dataclass
class Slot:
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
    most_under_way: int = 0


async def start(dut: Any) -> None:
    for name in ("slot_aw_valid", "slot_ar_valid", "slot_w_valid", "aw_ready", "ar_ready", "w_ready"):
        getattr(dut, f"{name}_i").value = 0
    dut.b_valid_i.value = dut.r_valid_i.value = 0
    dut.b_slot_i.value = dut.r_slot_i.value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    for name in ("aw_valid_o", "ar_valid_o", "w_valid_o", "b_ready_o", "r_ready_o"):
        assert getattr(dut, name).value == 0
    dut.rst_ni.value = 1


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
        self.slots = [Slot() for _ in range(self.count)]
        self.busy = busy if busy is not None else frozenset(range(self.count))
        self.last = {"aw": 0, "ar": 0}
        self.held: dict[str, int | None] = {"aw": None, "ar": None, "w": None}
        self.seen = Seen()

    async def cycle(self, flow: Flow) -> None:
        self.offer(flow)
        await Timer(4, "ns")
        for side in SIDES:
            self.check_turn(side)
            self.check_out(side)
        self.check_data()
        await FallingEdge(self.dut.clk_i)

    def offer(self, flow: Flow) -> None:
        rng, dut = self.rng, self.dut
        for number, slot in enumerate(self.slots):
            for side in SIDES:
                if slot.request[side] is None and number in self.busy and rng.random() < flow.ask:
                    slot.request[side] = rng.getrandbits(AX_BITS)
                    if side == "aw":
                        # All but the last beat of a burst have `last`, bit 0, clear; data may come before its request.
                        beats = rng.choice((1, 1, 2, 5))
                        slot.data.extend(
                            rng.getrandbits(W_BITS - 1) << 1 | (beat == beats - 1) for beat in range(beats)
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

    def check_turn(self, side: str) -> None:
        """Exactly the slot whose turn it is goes, in the first cycle there is room."""
        dut = self.dut
        asking = [number for number, slot in enumerate(self.slots) if slot.request[side] is not None]
        room = getattr(dut, f"{side}_valid_o").value == 0 or getattr(dut, f"{side}_ready_i").value == 1
        if side == "aw":
            room = room and self.seen.under_way < self.max_writes
        ready = int(getattr(dut, f"slot_{side}_ready_o").value)
        if not asking or not room:
            assert ready == 0
            return
        slot = following(asking, self.last[side], self.count)
        assert ready == 1 << slot, f"{side}: asking {asking}, last {self.last[side]}, ready {ready:b}"
        self.last[side] = slot
        request = self.slots[slot].request[side]
        assert request is not None
        self.seen.asked[side].append((slot, request))
        self.slots[slot].request[side] = None
        if side == "aw":
            self.seen.under_way += 1
            self.seen.most_under_way = max(self.seen.most_under_way, self.seen.under_way)

    def check_out(self, side: str) -> None:
        dut = self.dut
        valid = getattr(dut, f"{side}_valid_o").value == 1
        payload = int(getattr(dut, f"{side}_o").value) | int(getattr(dut, f"{side}_slot_o").value) << AX_BITS
        self.check_held(side, valid, payload, getattr(dut, f"{side}_ready_i").value == 1)
        if valid and getattr(dut, f"{side}_ready_i").value == 1:
            self.seen.out[side].append((payload >> AX_BITS, payload & (1 << AX_BITS) - 1))

    def check_data(self) -> None:
        """Data comes from one slot at a time, from that of the oldest request whose data is not all taken."""
        dut, seen = self.dut, self.seen
        valid = dut.w_valid_o.value == 1
        self.check_held("w", valid, int(dut.w_o.value), dut.w_ready_i.value == 1)
        if valid and dut.w_ready_i.value == 1:
            seen.data.append(int(dut.w_o.value))
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
        for _ in range(40 * self.count + 5 * self.max_writes):
            await self.cycle(Flow())
        for side in SIDES:
            assert self.seen.out[side] == self.seen.asked[side]
        assert self.seen.data == list(self.seen.expected_data)
        assert self.seen.under_way == 0
        assert not any(slot.data for slot in self.slots)


FLOWS = [
    Flow(),
    Flow(ask=0.2, data=0.5, take=0.5, take_data=0.5),
    Flow(data=0.3, take=0.9),
    Flow(take=0.2, take_data=1.0),
    Flow(take_data=0.15),
]


@cocotb.test()
@cocotb.parametrize(number=range(len(FLOWS)))
async def every_request_and_its_data_arrive_in_turn(dut: Any, number: int) -> None:
    await start(dut)
    bench = Bench(dut, seed=20 + number)
    for _ in range(500):
        await bench.cycle(FLOWS[number])
    if FLOWS[number].take_data < 0.2:
        assert bench.seen.most_under_way == bench.max_writes
    await bench.drain()
    assert all(len(bench.seen.out[side]) > 20 for side in SIDES)


@cocotb.test()
async def all_asking_get_equal_shares(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, seed=31)
    for _ in range(60 * bench.count):
        await bench.cycle(Flow())
    for side in SIDES:
        shares = [sum(slot == each for slot, _ in bench.seen.asked[side]) for each in range(bench.count)]
        assert max(shares) - min(shares) <= 1
    assert len(bench.seen.asked["ar"]) == 60 * bench.count, "one read request a cycle"
    await bench.drain()


@cocotb.test()
async def a_single_slot_has_the_port_to_itself(dut: Any) -> None:
    await start(dut)
    only = int(dut.NumSlots.value) - 1
    bench = Bench(dut, seed=32, busy=frozenset({only}))
    for _ in range(200):
        await bench.cycle(Flow())
    assert {slot for slot, _ in bench.seen.asked["ar"]} == {only}
    assert len(bench.seen.asked["ar"]) == 200
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


@cocotb.test()
async def answers_reach_their_slot_alone(dut: Any) -> None:
    await start(dut)
    rng, slots = random.Random(33), int(dut.NumSlots.value)
    await ClockCycles(dut.clk_i, 2)
    for _ in range(200):
        await FallingEdge(dut.clk_i)
        for name in ("b", "r"):
            getattr(dut, f"{name}_valid_i").value = rng.randrange(2)
            getattr(dut, f"{name}_slot_i").value = rng.randrange(slots)
        await Timer(4, "ns")
        for name in ("b", "r"):
            valid = getattr(dut, f"{name}_valid_i").value == 1
            expected = 1 << int(getattr(dut, f"{name}_slot_i").value) if valid else 0
            assert int(getattr(dut, f"slot_{name}_valid_o").value) == expected
            assert getattr(dut, f"{name}_ready_o").value == 1
