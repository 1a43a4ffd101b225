# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Register accesses between the shell and the wizards: every access reaches whom the address map says, once.

Targets take addresses and data in any order and answer late; the processor delays as it likes. Whose an address is, is
worked out from the generated address map, not from the block.
"""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from eddy_drivers.regs import window

SLOTS = int(os.environ["SLOTS"])
SHELL = SLOTS


def owner(address: int) -> int:
    """The target an address is of."""
    index, _ = divmod(address - window.WIZARD.offset, 0x1000)
    return index if 0 <= index < SLOTS else SHELL


def value(address: int, target: int) -> tuple[int, int]:
    """What a target reads at an address, and its response."""
    return (address * 2654435761 + target) & 0xFFFFFFFF, (address >> 2) % 4


def addresses(rng: random.Random) -> int:
    near = [window.WIZARD.offset + 0x1000 * slot for slot in range(16)]
    base = rng.choice([*near, 0, window.WIZARD.offset - 4, window.MEMORY.offset, rng.getrandbits(24)])
    return (base + 4 * rng.choice((0, 1, 2, 1023))) % (1 << 24) // 4 * 4


class Targets:
    """All targets, each a model that is slow at random."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.reads: list[tuple[int, int]] = []
        self.writes: list[tuple[int, int, int, int]] = []
        self.late: list[dict[str, Any]] = [{"aw": None, "w": None, "b": None, "r": None} for _ in range(SLOTS + 1)]

    def step(self) -> None:
        """One cycle, before its rising edge: what is offered now, and what that does."""
        dut, rng = self.dut, self.rng
        ready = dict.fromkeys(("aw", "w", "ar"), 0)
        for target, state in enumerate(self.late):
            for name, waits in (("aw", state["aw"]), ("w", state["w"]), ("ar", state["r"])):
                if waits is None and rng.random() < 0.4:
                    ready[name] |= 1 << target
        answers = {"b": 0, "r": 0}
        data, bresp, rresp = 0, 0, 0
        for target, state in enumerate(self.late):
            if state["b"] is not None and (state["b"]["shown"] or rng.random() < 0.4):
                state["b"]["shown"] = True
                answers["b"] |= 1 << target
                bresp |= state["b"]["resp"] << 2 * target
            if state["r"] is not None and (state["r"]["shown"] or rng.random() < 0.4):
                state["r"]["shown"] = True
                answers["r"] |= 1 << target
                data |= state["r"]["data"] << 32 * target
                rresp |= state["r"]["resp"] << 2 * target
        for name in ready:
            getattr(dut, f"m_axil_{name}ready").value = ready[name]
        dut.m_axil_bvalid.value, dut.m_axil_rvalid.value = answers["b"], answers["r"]
        dut.m_axil_bresp.value, dut.m_axil_rresp.value, dut.m_axil_rdata.value = bresp, rresp, data
        self.offered, self.answered = ready, answers

    def edge(self) -> None:
        """What the cycle has moved, told by the signals just before its rising edge."""
        dut = self.dut
        took = {name: int(getattr(dut, f"m_axil_{name}valid").value) & self.offered[name] for name in self.offered}
        given = {name: int(getattr(dut, f"m_axil_{name}ready").value) & self.answered[name] for name in self.answered}
        for target, state in enumerate(self.late):
            bit = 1 << target
            if given["b"] & bit:
                state["aw"] = state["w"] = state["b"] = None
            if given["r"] & bit:
                state["r"] = None
            if took["aw"] & bit:
                state["aw"] = int(dut.m_axil_awaddr.value)
            if took["w"] & bit:
                state["w"] = (int(dut.m_axil_wdata.value), int(dut.m_axil_wstrb.value))
            if state["aw"] is not None and state["w"] is not None and state["b"] is None:
                state["b"] = {"resp": value(state["aw"], target)[1], "shown": False}
                self.writes.append((target, state["aw"], *state["w"]))
            if took["ar"] & bit:
                address = int(dut.m_axil_araddr.value)
                word, resp = value(address, target)
                state["r"] = {"data": word, "resp": resp, "shown": False}
                self.reads.append((target, address))


async def run_targets(dut: Any, targets: Targets) -> None:
    while True:
        await FallingEdge(dut.clk_i)
        targets.step()
        await RisingEdge(dut.clk_i)
        targets.edge()


@cocotb.test()
async def test_every_access_reaches_its_owner_once(dut: Any) -> None:
    """Reads and writes at once, with delays everywhere."""
    rng = random.Random(SLOTS)
    for name in (
        "awaddr",
        "awprot",
        "awvalid",
        "wdata",
        "wstrb",
        "wvalid",
        "bready",
        "araddr",
        "arprot",
        "arvalid",
        "rready",
    ):
        getattr(dut, f"s_axil_{name}").value = 0
    dut.rst_ni.value = 0
    Clock(dut.clk_i, 10, "ns").start()
    targets = Targets(dut, rng)
    cocotb.start_soon(run_targets(dut, targets))
    await ClockCycles(dut.clk_i, 4)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    writes = [(addresses(rng), rng.getrandbits(32), rng.getrandbits(4)) for _ in range(150)]
    reads = [addresses(rng) for _ in range(150)]
    writer = cocotb.start_soon(write_all(dut, random.Random(1), writes))
    reader = cocotb.start_soon(read_all(dut, random.Random(2), reads))
    await writer
    await reader
    assert targets.writes == [(owner(address), address, data, strobe) for address, data, strobe in writes]
    assert targets.reads == [(owner(address), address) for address in reads]
    assert len({target for target, _ in targets.reads}) == SLOTS + 1, "every target was reached"


async def write_all(dut: Any, rng: random.Random, writes: list[tuple[int, int, int]]) -> None:
    for address, data, strobe in writes:
        pending: deque[str] = deque(rng.sample(("aw", "w"), 2))
        up: set[str] = set()
        done: set[str] = set()
        while len(done) < 2:
            await FallingEdge(dut.clk_i)
            if pending and rng.random() < 0.5:
                up.add(pending.popleft())
            dut.s_axil_awaddr.value, dut.s_axil_wdata.value, dut.s_axil_wstrb.value = address, data, strobe
            for name in ("aw", "w"):
                getattr(dut, f"s_axil_{name}valid").value = int(name in up)
            await RisingEdge(dut.clk_i)
            for name in list(up):
                if int(getattr(dut, f"s_axil_{name}ready").value):
                    up.discard(name)
                    done.add(name)
        await FallingEdge(dut.clk_i)
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
        resp = await answer(dut, rng, "b")
        assert resp == value(address, owner(address))[1], hex(address)


async def read_all(dut: Any, rng: random.Random, reads: list[int]) -> None:
    for address in reads:
        await FallingEdge(dut.clk_i)
        dut.s_axil_araddr.value = address
        dut.s_axil_arvalid.value = 1
        while True:
            await RisingEdge(dut.clk_i)
            if int(dut.s_axil_arready.value):
                break
        await FallingEdge(dut.clk_i)
        dut.s_axil_arvalid.value = 0
        resp = await answer(dut, rng, "r")
        assert (int(dut.s_axil_rdata.value), resp) == value(address, owner(address)), hex(address)


async def answer(dut: Any, rng: random.Random, channel: str) -> int:
    """Wait for an answer with a ready that comes and goes; its response. Data is as it was when it was taken."""
    for _ in range(500):
        await FallingEdge(dut.clk_i)
        ready = int(rng.random() < 0.5)
        getattr(dut, f"s_axil_{channel}ready").value = ready
        await RisingEdge(dut.clk_i)
        if ready and int(getattr(dut, f"s_axil_{channel}valid").value):
            resp = int(getattr(dut, f"s_axil_{channel}resp").value)
            await FallingEdge(dut.clk_i)
            getattr(dut, f"s_axil_{channel}ready").value = 0
            return resp
    raise AssertionError(f"no answer on {channel}")
