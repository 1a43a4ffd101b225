# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every module's bench does: place buffers, run, compare, and provoke what can go wrong.

A module's bench gives a `Maker`: from a random generator to one trial (arguments, contents, expected outputs). The
functions here are the tests; benches name them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from eddy.board.port.port import Access
from eddy.packages.manifests import load_module_manifest
from eddy.packages.modules import RegisterKind

from eddy_sim.modcheck.harness import (
    AP_CTRL,
    AUTO_RESTART,
    DONE,
    GIE,
    IDLE,
    START,
    Harness,
)
from eddy_sim.modcheck.protocol import AllowedRange
from eddy_sim.tools.products import ROOT as ROOT

READ_ERROR, WRITE_ERROR, ILLEGAL = 1, 2, 4
GUARD = 64
"""Bytes around every output that must stay as they were."""
ARENA = 0x1000_0000
SPACE = 0x4_0000


@dataclass(frozen=True)
class ModuleTrial:
    """One run of a module.

    Attributes:
        scalars: Scalar arguments.
        inputs: Contents of the buffers it reads, by pointer name.
        outputs: What the buffers it writes must hold afterwards.
    """

    scalars: Mapping[str, int]
    inputs: Mapping[str, npt.NDArray[Any]]
    outputs: Mapping[str, npt.NDArray[Any]]


Maker = Callable[[np.random.Generator], ModuleTrial]


async def bring_up(dut: Any, module: str | Path) -> Harness:
    """A module out of reset, with its manifest: its name in this source tree, or a folder that holds the manifest."""
    harness = Harness(dut, load_module_manifest(ROOT / "bitstreams" / module))
    await harness.reset()
    return harness


@dataclass(frozen=True)
class PlacedArray:
    """A trial with its buffers in memory: argument values, and where each output lies."""

    values: dict[str, int]
    outputs: dict[str, bytes]


def place(harness: Harness, trial: ModuleTrial, rng: random.Random) -> PlacedArray:
    """Put a trial's buffers at odd places (8-byte aligned), fill the outputs with a pattern, grant exactly them."""
    values = dict(trial.scalars)
    windows, outputs = [], {}
    for i, register in enumerate(r for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER):
        array = trial.inputs[register.name] if register.name in trial.inputs else trial.outputs[register.name]
        data = np.ascontiguousarray(array).tobytes()
        address = ARENA + i * SPACE + rng.randrange(512, 4096, 8)
        values[register.name] = address
        writes = register.access is not Access.READ
        windows.append(AllowedRange(address, len(data), read=register.access is not Access.WRITE, write=writes))
        harness.memory.load(address - GUARD, b"\xa5" * (len(data) + 2 * GUARD))
        if register.name in trial.outputs:
            outputs[register.name] = data
        if register.name in trial.inputs:
            harness.memory.load(address, np.ascontiguousarray(trial.inputs[register.name]).tobytes())
    harness.grant(*windows)
    return PlacedArray(values, outputs)


def compare(harness: Harness, placed: PlacedArray) -> None:
    """Outputs as expected, bit for bit, and nothing beside them touched."""
    for name, wanted in placed.outputs.items():
        address = placed.values[name]
        got = harness.memory.dump(address, len(wanted))
        wrong = [i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b]
        assert not wrong, f"{name}: {len(wrong)} of {len(wanted)} bytes differ, first at {wrong[0]}"
        guards = harness.memory.dump(address - GUARD, GUARD) + harness.memory.dump(address + len(wanted), GUARD)
        assert guards == b"\xa5" * (2 * GUARD), f"bytes around {name} were overwritten"


async def carry_out(harness: Harness, trial: ModuleTrial, rng: random.Random) -> int:
    """Run one trial and compare; give the cycles it took."""
    placed = place(harness, trial, rng)
    cycles = await harness.run(placed.values)
    assert await harness.status() == 0
    compare(harness, placed)
    harness.check_protocol()
    return cycles


async def matches_reference(dut: Any, module: str | Path, make: Maker, runs: int = 3) -> None:
    """Random sizes at random places: without pauses, then with light and heavy pauses on every channel."""
    harness = await bring_up(dut, module)
    rng = random.Random(7)
    data = np.random.default_rng(7)
    for chance in (0.0, 0.25, 0.6):
        harness.pause(chance, seed=rng.randrange(1000))
        for _ in range(runs):
            await carry_out(harness, make(data), rng)


async def survives_memory_errors(dut: Any, module: str | Path, make: Maker) -> None:
    """SLVERR on reads, then on writes: the run ends, the status says so, and the next run is clean."""
    harness = await bring_up(dut, module)
    rng, data = random.Random(11), np.random.default_rng(11)
    pointers = [r for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER]
    for register in pointers:
        writes = register.access is not Access.READ
        trial = make(data)
        values = place(harness, trial, rng).values
        bad = range(values[register.name], values[register.name] + 8)
        harness.memory.fail_reads, harness.memory.fail_writes = (range(0), bad) if writes else (bad, range(0))
        await harness.run(values)
        assert await harness.status() == (WRITE_ERROR if writes else READ_ERROR), (
            f"error at {register.name} not flagged"
        )
        harness.memory.fail_reads = harness.memory.fail_writes = range(0)
    await carry_out(harness, make(data), rng)


async def refuses_illegal(dut: Any, module: str | Path, make: Maker, scalars: Sequence[Mapping[str, int]]) -> None:
    """Illegal sizes and addresses end at once, flagged, without a single burst; the next run is clean."""
    harness = await bring_up(dut, module)
    rng, data = random.Random(13), np.random.default_rng(13)
    good = place(harness, make(data), rng).values
    pointers = [r.name for r in harness.manifest.inputs() if r.kind is RegisterKind.POINTER]
    bad = [dict(s) for s in scalars] + [{p: good[p] + o} for p in pointers for o in (4, 1 << 40)]
    for change in bad:
        await harness.run({**good, **change}, max_cycles=100)
        assert await harness.status() == ILLEGAL, f"{change} was not refused"
    assert harness.checker.traffic.reads == harness.checker.traffic.writes == 0
    await carry_out(harness, make(data), rng)


async def restarts(dut: Any, module: str | Path, make: Maker) -> None:
    """Runs back to back, then auto_restart: it keeps running until the bit is cleared, and the results stay right."""
    harness = await bring_up(dut, module)
    rng, data = random.Random(17), np.random.default_rng(17)
    for _ in range(2):
        await carry_out(harness, make(data), rng)
    placed = place(harness, make(data), rng)
    await harness.arguments(placed.values)
    await harness.write(GIE, 0)
    bursts = harness.checker.traffic.writes
    await harness.write(AP_CTRL, START | AUTO_RESTART)
    for _ in range(3):
        while not await harness.read(AP_CTRL) & DONE:
            pass
    assert await harness.read(AP_CTRL) & AUTO_RESTART
    await harness.write(AP_CTRL, 0)
    while not await harness.read(AP_CTRL) & IDLE:
        pass
    assert harness.checker.traffic.writes - bursts >= 3
    compare(harness, placed)
    harness.check_protocol()
