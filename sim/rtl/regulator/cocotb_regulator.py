"""The regulator's promise over every window, its order, and its fairness, under pauses on both sides."""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

SIDES = ("aw", "ar")


async def start(dut: Any, rate: int, burst: int, enable: int = 1) -> None:
    for name in ("aw_valid_i", "ar_valid_i", "aw_ready_i", "ar_ready_i"):
        getattr(dut, name).value = 0
    dut.enable_i.value, dut.rate_i.value, dut.burst_i.value = enable, rate, burst
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1


async def run(dut: Any, rng: random.Random, cycles: int, offer: float, accept: float) -> dict[str, Any]:
    """Offer requests at random; collect admissions and what comes out, side by side."""
    seen: dict[str, Any] = {"admitted": [], "aw": [], "ar": [], "sent": {"aw": [], "ar": []}, "token_stalls": 0}
    waiting: dict[str, int | None] = {"aw": None, "ar": None}
    serial = 0
    for cycle in range(cycles):
        for side in SIDES:
            if waiting[side] is None and rng.random() < offer:
                serial += 1
                size = rng.randrange(4)
                length = rng.choice((0, 1, 7, 15, 63, 255))
                waiting[side] = serial
                getattr(dut, f"{side}_addr_i").value = serial
                getattr(dut, f"{side}_len_i").value = length
                getattr(dut, f"{side}_size_i").value = size
            getattr(dut, f"{side}_valid_i").value = int(waiting[side] is not None)
            getattr(dut, f"{side}_ready_i").value = int(rng.random() < accept)
        # Just before the rising edge everything combinational has settled.
        await cocotb.triggers.Timer(4, "ns")
        if dut.admit_o.value == 1:
            side = "aw" if dut.admit_write_o.value == 1 else "ar"
            length, size = int(getattr(dut, f"{side}_len_i").value), int(getattr(dut, f"{side}_size_i").value)
            assert int(dut.admit_bytes_o.value) == (length + 1) << size
            seen["admitted"].append((cycle, (length + 1) << size, side))
        seen["token_stalls"] += int(dut.token_stall_o.value)
        for side in SIDES:
            stalled = dut.write_stall_o if side == "aw" else dut.read_stall_o
            taken = getattr(dut, f"{side}_ready_o").value == 1 and waiting[side] is not None
            assert stalled.value == int(waiting[side] is not None and not taken)
            if taken:
                seen["sent"][side].append(waiting[side])
                waiting[side] = None
            if getattr(dut, f"{side}_valid_o").value == 1 and getattr(dut, f"{side}_ready_i").value == 1:
                seen[side].append(int(getattr(dut, f"{side}_addr_o").value))
        await FallingEdge(dut.clk_i)
    return seen


def holds(admitted: list[tuple[int, int, str]], rate: float, burst: int) -> bool:
    """Whether every window of cycles keeps the promise; windows that begin and end with an admission are the worst."""
    for first, (start_cycle, _, _) in enumerate(admitted):
        total = 0
        for cycle, size, _ in admitted[first:]:
            total += size
            if total > burst + rate * (cycle - start_cycle + 1):
                return False
    return True


@cocotb.test()
@cocotb.parametrize(setting=[(1.0, 4096), (0.37, 2048), (6.5, 100), (3.0, 30000)], flow=[(1.0, 1.0), (0.2, 0.4)])
async def the_promise_holds_in_every_window(dut: Any, setting: tuple[float, int], flow: tuple[float, float]) -> None:
    rate, burst = setting
    await start(dut, int(rate * 65536), burst)
    seen = await run(dut, random.Random(3), 3000, *flow)
    assert holds(seen["admitted"], rate, max(burst, 2048))
    for side in SIDES:
        assert seen["sent"][side][: len(seen[side])] == seen[side]
        assert len(seen["sent"][side]) - len(seen[side]) <= 1
    if flow[0] == 1.0:
        # Not merely by admitting nothing: the bucket is used up to its rate, less one longest burst.
        assert sum(size for _, size, _ in seen["admitted"]) >= rate * 3000 - 2048
        assert seen["token_stalls"] > 100


@cocotb.test()
async def reads_and_writes_take_turns_while_tokens_are_short(dut: Any) -> None:
    await start(dut, 65536, 2048)
    seen = await run(dut, random.Random(5), 6000, 1.0, 1.0)
    order = [side for _, _, side in seen["admitted"]]
    assert len(order) > 20
    assert all(a != b for a, b in itertools.pairwise(order[2:]))


@cocotb.test()
async def disabled_it_admits_one_a_cycle(dut: Any) -> None:
    await start(dut, 0, 0, enable=0)
    seen = await run(dut, random.Random(6), 200, 1.0, 1.0)
    assert len(seen["admitted"]) >= 198
    assert seen["token_stalls"] == 0


@cocotb.test()
async def without_a_rate_only_what_was_saved_passes(dut: Any) -> None:
    await start(dut, 0, 4096, enable=0)
    await ClockCycles(dut.clk_i, 3)
    await FallingEdge(dut.clk_i)
    dut.enable_i.value = 1
    seen = await run(dut, random.Random(8), 1000, 1.0, 1.0)
    total = sum(size for _, size, _ in seen["admitted"])
    assert 4096 - 2048 < total <= 4096
