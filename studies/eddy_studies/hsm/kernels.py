# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernels for the fast cluster model, after Table 2 of [001]: made from a seed, by what the table and figures tell.

Requests per instruction are the table's misses per thousand instructions of threads, times the 32 threads of a warp
there. Hit rates of rows come from how many neighbouring lines a program touches in turn, which its algorithm says:
a stream of whole rows, a stencil's few lines, a graph's single ones. Compute-bound programs use the shared cache, and
their misses are what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from eddy_studies.hsm.machine import Kernel

GROUPS = 768
_WRITE = np.uint32(1 << 31)


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """How a program uses memory.

    Attributes:
        gap: Mean instructions of a warp from one request to the next.
        run: Neighbouring lines it touches one after the other.
        window: Lines a warp waits for at once: what its accesses touch before it needs one of them.
        lines: Of the data it walks through.
        reused: Part of the requests that go to a small set of lines again and again.
        writes: Part of the others that are stores.
        spread: How far gaps vary: 0 all alike, 1 as at random.
    """

    gap: float
    run: int
    window: int
    lines: int = 1 << 18
    reused: float = 0.0
    reused_lines: int = 512
    writes: float = 0.1
    spread: float = 1.0


TABLE_2: Mapping[str, AccessPattern] = {
    "PVC": AccessPattern(6.5, 1, 8, writes=0.2, reused=0.1, reused_lines=256),
    "LBM": AccessPattern(5.1, 6, 6, writes=0.3),
    "BH": AccessPattern(20.0, 16, 2, writes=0.25),
    "DWT2D": AccessPattern(11.5, 4, 3, writes=0.25),
    "EULER3D": AccessPattern(7.1, 2, 6, writes=0.05, reused=0.15, reused_lines=512),
    "FWT": AccessPattern(14.0, 8, 2, writes=0.4),
    "2DCONV": AccessPattern(17.0, 3, 2, reused=0.33, reused_lines=768, writes=0.15),
    "SC": AccessPattern(9.1, 12, 4, writes=0.02),
    "CONVS": AccessPattern(18.0, 8, 1, reused=0.33, reused_lines=512, writes=0.25),
    "SRAD": AccessPattern(20.0, 5, 2, reused=0.25, reused_lines=512, writes=0.2),
    "DXTC": AccessPattern(600.0, 2, 1, writes=0.5, spread=0.3),
    "HOTSPOT": AccessPattern(60.0, 4, 2, reused=0.8, reused_lines=1024, writes=0.3),
    "PF": AccessPattern(90.0, 8, 1, reused=0.75, reused_lines=640, writes=0.3),
    "BINO": AccessPattern(120.0, 1, 1, reused=0.9, reused_lines=768, writes=0.05, spread=0.3),
    "MRI-Q": AccessPattern(300.0, 16, 1, reused=0.6, reused_lines=256, writes=0.05, spread=0.3),
}
"""The first ten are memory-bound in [001], the last five compute-bound."""
MEMORY_BOUND = tuple(TABLE_2)[:10]


def kernel(name: str, behaviour: AccessPattern, seed: int = 0) -> Kernel:
    """A kernel that behaves so; the same name, behaviour and seed give the same requests."""
    draw = np.random.default_rng([seed, *sha256(name.encode()).digest()[:8]])
    each = int(np.clip(round(400 / behaviour.gap), 2, 40))
    records = GROUPS * each
    gaps = behaviour.gap * (1 - behaviour.spread + behaviour.spread * draw.standard_exponential(records))
    runs = -(-records // behaviour.run)
    begins = draw.integers(0, behaviour.lines // behaviour.run, runs) * behaviour.run
    lines = (begins[:, None] + np.arange(behaviour.run)).ravel()[:records].astype(np.uint32)
    again, writes = draw.random(records) < behaviour.reused, draw.random(records) < behaviour.writes
    lines[writes] |= _WRITE
    lines[again] = behaviour.lines + draw.integers(0, behaviour.reused_lines, int(again.sum()))
    first = np.arange(0, records + 1, each, dtype=np.int32)
    return Kernel(name, np.rint(gaps).astype(np.int32), lines, first, window=behaviour.window, moving=behaviour.lines)


def table_2(seed: int = 0) -> dict[str, Kernel]:
    """The fifteen programs, by name."""
    return {name: kernel(name, behaviour, seed) for name, behaviour in TABLE_2.items()}


def drawn(count: int, seed: int) -> list[Kernel]:
    """Programs that nobody wrote, to train on: behaviours drawn over the range of the table's, and beyond."""
    draw = np.random.default_rng([seed, 1])
    made = []
    for index in range(count):
        bound = index % 3 == 2
        behaviour = AccessPattern(
            gap=float(np.exp(draw.uniform(np.log(40), np.log(600)) if bound else draw.uniform(np.log(4), np.log(40)))),
            run=int(draw.choice([1, 1, 2, 3, 4, 6, 8, 12, 16])),
            window=int(draw.choice([1, 2] if bound else [1, 2, 3, 4, 6, 8])),
            reused=float(draw.uniform(0.2, 0.9) if bound else draw.choice([0.0, 0.0, 0.15, 0.35])),
            reused_lines=int(draw.choice([256, 512, 768, 1024])),
            writes=float(draw.uniform(0, 0.4)),
            spread=float(draw.choice([0.3, 1.0])),
        )
        made.append(kernel(f"drawn{index}", behaviour, seed))
    return made
