# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The module row_probe: which words it reads, in which order, and never two at once."""

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from eddy_sim.modcheck import trials


def random_run(rng: np.random.Generator) -> trials.ModuleTrial:
    """Some pairs of reads of two words."""
    words = {name: rng.integers(0, 256, 8).astype("u1") for name in ("a", "b")}
    return trials.ModuleTrial({"pairs": int(rng.integers(1, 40))}, words, {})


class Watch:
    """What the module asks for, and how many reads are under way, cycle by cycle."""

    def __init__(self, dut: Any) -> None:
        self.asked: list[int] = []
        self.most = self.under_way = self.cycles = 0
        self._dut = dut
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        dut = self._dut
        while True:
            await RisingEdge(dut.clk_i)
            self.cycles += 1
            assert not dut.m_axi_awvalid.value
            assert not dut.m_axi_wvalid.value
            if dut.m_axi_arvalid.value and dut.m_axi_arready.value:
                self.asked.append(int(dut.m_axi_araddr.value))
                self.under_way += 1
            if dut.m_axi_rvalid.value and dut.m_axi_rready.value:
                self.under_way -= 1
            self.most = max(self.most, self.under_way)


@cocotb.test()
async def reads_two_words_in_turn(dut: Any) -> None:
    harness = await trials.bring_up(dut, "row_probe")
    watch, rng, data = Watch(dut), random.Random(5), np.random.default_rng(5)
    for chance in (0.0, 0.4):
        harness.pause(chance, seed=3)
        for _ in range(4):
            trial = random_run(data)
            placed = trials.place(harness, trial, rng)
            watch.asked.clear()
            await harness.run(placed.values)
            assert await harness.status() == 0
            assert watch.asked == [placed.values["a"], placed.values["b"]] * trial.scalars["pairs"]
            harness.check_protocol()
    assert watch.most == 1


@cocotb.test()
async def takes_as_long_as_its_reads(dut: Any) -> None:
    """Without pauses every pair takes the same time: a run's is that of its pairs, and what begins and ends it."""
    harness = await trials.bring_up(dut, "row_probe")
    rng, data = random.Random(6), np.random.default_rng(6)
    values = trials.place(harness, random_run(data), rng).values
    took = [await harness.run({**values, "pairs": pairs}) for pairs in (10, 20, 30, 31)]
    assert took[1] - took[0] == took[2] - took[1] == 10 * (took[3] - took[2]) > 0


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "row_probe", random_run)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    illegal = [{"pairs": 0}, {"pairs": (1 << 20) + 1}, {"pairs": 0xFFFF_FFFF}]
    await trials.refuses_illegal(dut, "row_probe", random_run, illegal)
