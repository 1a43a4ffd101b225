# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Barriers across cores, against their definition: random kernels of one core and more, stops in between, deadlocks."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CYCLES = 6000
TURN = 5
"""Cycles in which one barrier is looked at."""


@dataclass(frozen=True)
class Core:
    """What the cluster sees of a core."""

    context: int = 0
    cores: int = 1
    running: bool = False
    waits: bool = False
    barrier: int = 0
    count: int = 1
    warps: int = 1


State = tuple[Core, ...]


def opens(state: State, core: Core) -> bool:
    """Whether the barrier a core waits at is open: as many cores as it counts, or all that run and so many warps."""
    there = [k for k in state if k.running and k.waits and (k.context, k.barrier) == (core.context, core.barrier)]
    all_there = all(k in there for k in state if k.running and k.context == core.context)
    return core in there and (len(there) >= core.count or (all_there and sum(k.warps for k in there) >= core.count))


def hopeless(state: State, core: Core) -> bool:
    """Whether every core of its kernel waits, and no barrier of theirs is open."""
    fellows = [k for k in state if k.running and k.context == core.context]
    waiting = all(k.waits for k in fellows) and len(fellows) >= core.cores
    return core in fellows and waiting and not any(opens(state, k) for k in fellows)


def all_there(state: State, core: Core) -> bool:
    """Whether no core of a kernel was stopped."""
    return sum(k.running and k.context == core.context for k in state) >= core.cores


async def drive(dut: Any, state: State) -> None:
    for c, core in enumerate(state):
        dut.context_i[c].value = core.context
        dut.num_cores_i[c].value = core.cores
        dut.id_i[c].value = core.barrier
        dut.count_i[c].value = core.count
        dut.warps_i[c].value = core.warps
    dut.running_i.value = sum(core.running << c for c, core in enumerate(state))
    dut.bar_i.value = sum(core.waits << c for c, core in enumerate(state))


def launch(state: State, rng: random.Random) -> State:
    """A kernel on some of the idle cores: their number and context are its own."""
    idle = [c for c, core in enumerate(state) if not core.running]
    busy = {core.context for core in state if core.running}
    chosen = rng.sample(idle, rng.randint(1, len(idle)))
    context = rng.choice([x for x in range(16) if x not in busy])
    new = Core(context, len(chosen), running=True)
    return tuple(new if c in chosen else core for c, core in enumerate(state))


def arrive(state: State, c: int, rng: random.Random) -> State:
    """A core comes to the barrier of all its kernel, or to one at which one or two are enough."""
    core = state[c]
    # What a barrier counts is the same for all of a kernel: cores, or warps, of which each core of it has as many.
    warps = 1 + core.context % 4
    count = core.cores * warps - (core.context // 4 % 2) if core.context % 2 else core.cores
    barrier = rng.randrange(4) if rng.random() < 0.3 else 7
    if barrier < 4:
        count = 1 + barrier % 2
    come = replace(core, waits=True, barrier=barrier, count=max(count, 1), warps=warps)
    return (*state[:c], come, *state[c + 1 :])


@cocotb.test()
async def as_defined(dut: Any) -> None:
    cores = int(os.environ["BARRIER_CORES"])
    rng = random.Random(11)
    Clock(dut.clk_i, 10, "ns").start()
    state: State = (Core(),) * cores
    dut.rst_ni.value = 0
    await drive(dut, state)
    await FallingEdge(dut.clk_i)
    await FallingEdge(dut.clk_i)
    dut.rst_ni.value = 1
    history: list[State] = []
    open_for, hopeless_for, quiet, told = ([0] * cores for _ in range(4))
    released = deadlocks = 0
    for _ in range(CYCLES):
        await drive(dut, state)
        await ReadOnly()
        release, stuck = int(dut.release_o.value), int(dut.stuck_o.value)
        history = [*history[-TURN:], state]
        follow = list(state)
        for c, core in enumerate(state):
            open_for[c] = open_for[c] + 1 if opens(state, core) else 0
            hopeless_for[c] = hopeless_for[c] + 1 if hopeless(state, core) else 0
            if release >> c & 1:
                # A core that was stopped just now is told too.
                waiting = core if core.running else history[-2][c]
                assert waiting.waits, "nobody goes on who does not wait"
                assert any(then[c] == waiting and opens(then, waiting) for then in history), "before it was open"
                follow[c] = replace(core, waits=core.waits and not core.running)
                released += 1
            assert open_for[c] <= TURN * (cores + 2), "an open barrier lets its cores go on"
            if stuck >> c & 1:
                assert hopeless_for[c] >= TURN or not core.running or not all_there(state, core), (
                    "stuck is who will never go on"
                )
            assert hopeless_for[c] <= 2 * TURN * (cores + 1) or stuck >> c & 1, "who will never go on is told"
            quiet[c] = quiet[c] + 1 if core == follow[c] else 0
            # A core that is told so for a while ends, and stands where it was; all of its kernel do so at once.
            told[c] = told[c] + 1 if stuck >> c & 1 else 0
            if told[c] == 15:
                deadlocks += 1
                follow[c] = replace(core, running=False)
        await FallingEdge(dut.clk_i)
        state = tuple(follow)
        for c, core in enumerate(state):
            chance = rng.random()
            # A barrier is not come to in the cycle after another was left.
            if core.running and not core.waits and quiet[c] > 2 and chance < 0.15:
                state = arrive(state, c, rng)
            elif core.running and chance > 0.9985:
                state = (*state[:c], replace(core, running=False), *state[c + 1 :])
        if any(not core.running for core in state) and rng.random() < 0.05:
            state = launch(state, rng)
    assert released > 100
    assert deadlocks > (3 if cores > 1 else -1)
