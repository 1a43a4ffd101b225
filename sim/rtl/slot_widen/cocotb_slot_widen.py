# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A module of 64 bits at a port of 128: every byte goes where its address says, whatever the bursts and the pauses.

What a burst touches is worked out beat by beat (ARM IHI 0022, A3.4.1), and the memory behind the wide port is a bus
model of others, which takes a beat's bytes from the lanes that its address and strobes say.
"""

from __future__ import annotations

import logging
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiBus, AxiRam, AxiReadBus, AxiWriteBus
from cocotbext.axi.axi_channels import AxiARSource, AxiAWSource, AxiBSink, AxiRSink, AxiWSource
from eddy_sim.modcheck.harness import pauses

FIXED, INCR, WRAP = 0, 1, 2
BYTES = 8192


def beats(addr: int, count: int, size: int, kind: int) -> list[int]:
    """Address of every beat."""
    step = 1 << size
    if kind == FIXED:
        return [addr] * count
    found = [addr, *(addr // step * step + step * beat for beat in range(1, count))]
    low = addr // (step * count) * (step * count)
    return found if kind == INCR else [low + (each - low) % (step * count) for each in found]


def draw(rng: random.Random) -> tuple[int, int, int, int]:
    """A legal burst: address, beats, size, kind."""
    kind, size = rng.choice((INCR, INCR, FIXED, WRAP)), rng.choice((0, 1, 2, 3, 3, 3))
    count = rng.choice((2, 4, 8, 16)) if kind == WRAP else rng.choice((1, 2, 3, 7, 16))
    addr = rng.randrange(0, 4096 - 16 * count, 1 << size if kind == WRAP else 1) + rng.choice((0, 4096))
    return addr, count, size, kind


async def ask(channel: Any, name: str, addr: int, count: int, size: int, kind: int) -> None:
    """Send a request."""
    request = channel._transaction_obj()
    for field, value in (("id", 5), ("addr", addr), ("len", count - 1), ("size", size), ("burst", kind)):
        setattr(request, name + field, value)
    await channel.send(request)


async def traffic(dut: Any, rng: random.Random, held: float) -> None:
    """Forty bursts of each kind of access, all channels held up in a share of the cycles; memory is as AXI says."""
    reset = {"reset": dut.rst_ni, "reset_active_level": False}
    write, read = AxiWriteBus.from_prefix(dut, "s_axi"), AxiReadBus.from_prefix(dut, "s_axi")
    aw, w = AxiAWSource(write.aw, dut.clk_i, **reset), AxiWSource(write.w, dut.clk_i, **reset)
    b, r = AxiBSink(write.b, dut.clk_i, **reset), AxiRSink(read.r, dut.clk_i, **reset)
    ar = AxiARSource(read.ar, dut.clk_i, **reset)
    ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, size=BYTES, **reset)
    channels = ("aw_channel", "w_channel", "b_channel"), ("ar_channel", "r_channel")
    sides = zip((ram.write_if, ram.read_if), channels, strict=True)
    slow = (aw, w, b, ar, r, *(getattr(side, name) for side, names in sides for name in names))
    for seed, channel in enumerate(slow):
        channel.set_pause_generator(pauses(seed, held))
    model = bytearray(rng.randbytes(BYTES))
    ram.write(0, bytes(model))
    await ClockCycles(dut.clk_i, 20)
    bursts = [draw(rng) for _ in range(40)]
    for addr, count, size, kind in bursts:
        early = rng.random() < 0.5  # else its data is offered before its address
        if early:
            await ask(aw, "aw", addr, count, size, kind)
        for number, beat in enumerate(beats(addr, count, size, kind)):
            data, strobes = rng.randbytes(8), 0
            for at in range(beat, (beat >> size << size) + (1 << size)):
                if rng.random() < 0.8:
                    strobes |= 1 << at % 8
                    model[at] = data[at % 8]
            word = w._transaction_obj()
            word.wdata, word.wstrb, word.wlast = int.from_bytes(data, "little"), strobes, int(number == count - 1)
            await w.send(word)
        if not early:
            await ask(aw, "aw", addr, count, size, kind)
    for _ in bursts:
        assert int((await b.recv()).bresp) == 0
    assert ram.read(0, BYTES) == bytes(model)
    for burst in bursts:
        await ask(ar, "ar", *burst)
    for addr, count, size, kind in bursts:
        for number, beat in enumerate(beats(addr, count, size, kind)):
            answer = await r.recv()
            data = int(answer.rdata).to_bytes(8, "little")
            assert int(answer.rlast) == int(number == count - 1)
            for at in range(beat, (beat >> size << size) + (1 << size)):
                assert data[at % 8] == model[at], (hex(addr), count, size, kind, number)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(held=[0.0, 0.5])
async def bytes_lie_where_their_addresses_say(dut: Any, held: float) -> None:
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    dut.rst_ni.value = 0
    await Timer(1, "ns")
    Clock(dut.clk_i, 10, unit="ns").start()
    await ClockCycles(dut.clk_i, 5)
    dut.rst_ni.value = 1
    await traffic(dut, random.Random(11), held)
