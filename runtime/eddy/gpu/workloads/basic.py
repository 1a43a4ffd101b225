# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Single kernels: vecadd, saxpy, sgemm, reduction, transpose, Black-Scholes, and a mix of branches."""

from __future__ import annotations

import numpy as np

from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import Array, Step, Workload, floats, in_order


def vecadd(n: int = 4096, seed: int = 1) -> Workload:
    """c = a + b over n numbers."""
    rng = np.random.default_rng(seed)
    a, b = floats(rng, n), floats(rng, n)
    step = Step("vecadd", (n,), ("a", "b", "c"))
    buffers = {"a": a, "b": b, "c": np.zeros_like(a)}
    return Workload("vecadd", "basic.cl", "memory", (step,), buffers, {"c": a + b}, description=f"{n} numbers")


def saxpy(n: int = 4096, seed: int = 1) -> Workload:
    """y = a x + y over n numbers."""
    rng = np.random.default_rng(seed)
    x, y, a = floats(rng, n), floats(rng, n), np.float32(0.75)
    step = Step("saxpy", (n,), ("y", "x", a))
    return Workload(
        "saxpy", "basic.cl", "memory", (step,), {"x": x, "y": y}, {"y": a * x + y}, description=f"{n} numbers"
    )


def reduction(n: int = 4096, group: int = 16, seed: int = 1) -> Workload:
    """Sums of work-groups of `group` integers, a power of two."""
    x = np.random.default_rng(seed).integers(-1000, 1000, n).astype(np.int32)
    step = Step("reduction", (n,), ("x", "sums", Local(4 * group)), (group,))
    buffers = {"x": x, "sums": np.zeros(n // group, np.int32)}
    wanted = x.reshape(-1, group).sum(axis=1, dtype=np.int32)
    return Workload("reduction", "basic.cl", "memory", (step,), buffers, {"sums": wanted}, description=f"{n} numbers")


def transpose(width: int = 64, height: int = 32, side: int = 4, seed: int = 1) -> Workload:
    """A height x width matrix, through squares of `side`."""
    matrix = floats(np.random.default_rng(seed), height, width)
    tile = Local(4 * side * (side + 1))
    step = Step("transpose", (width, height), ("in", "out", width, height, tile), (side, side))
    buffers = {"in": matrix, "out": np.zeros((width, height), np.float32)}
    wanted = {"out": matrix.T.copy()}
    return Workload("transpose", "basic.cl", "memory", (step,), buffers, wanted, description=f"{height} x {width}")


def sgemm(m: int = 32, n: int = 32, k: int = 32, tile: int = 0, seed: int = 1) -> Workload:
    """C = A B; with `tile`, through local memory in squares of that side."""
    rng = np.random.default_rng(seed)
    a, b = floats(rng, m, k), floats(rng, k, n)
    wanted = in_order([a[:, i : i + 1] * b[i : i + 1, :] for i in range(k)])
    kernel, local = ("sgemm_tiled", (tile, tile)) if tile else ("sgemm", None)
    step = Step(kernel, (n, m), ("a", "b", "c", k, n), local)
    buffers = {"a": a, "b": b, "c": np.zeros((m, n), np.float32)}
    defines = {"TILE": tile or 4}
    return Workload(
        kernel, "sgemm.cl", "compute", (step,), buffers, {"c": wanted}, defines, description=f"{m} x {n} x {k}"
    )


def black_scholes(n: int = 1024, seed: int = 1) -> Workload:
    """Prices of n options; the reference is in binary64."""
    rng = np.random.default_rng(seed)
    price, strike = floats(rng, n, low=5, high=30), floats(rng, n, low=1, high=100)
    years, rate, volatility = floats(rng, n, low=0.25, high=10), 0.02, 0.3
    call, put = _options(price, strike, years, rate, volatility)
    step = Step("black_scholes", (n,), ("price", "strike", "years", "call", "put", rate, volatility))
    zeros = np.zeros(n, np.float32)
    buffers = {"price": price, "strike": strike, "years": years, "call": zeros, "put": zeros.copy()}
    wanted = {"call": call, "put": put}
    return Workload("black_scholes", "black_scholes.cl", "compute", (step,), buffers, wanted, {}, 2e-3, f"{n} options")


def _options(price: Array, strike: Array, years: Array, rate: float, volatility: float) -> tuple[Array, Array]:
    s, x, t = (array.astype(np.float64) for array in (price, strike, years))
    spread = volatility * np.sqrt(t)
    d1 = (np.log(s / x) + (rate + volatility * volatility / 2) * t) / spread
    n1, n2, discounted = _normal(d1), _normal(d1 - spread), x * np.exp(-rate * t)
    return s * n1 - discounted * n2, discounted * (1 - n2) - s * (1 - n1)


def _normal(d: Array) -> Array:
    k = 1 / (1 + 0.2316419 * np.abs(d))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * np.exp(-d * d / 2) * poly
    return np.where(d > 0, 1 - tail, tail)


def divergent(n: int = 512, rounds: int = 16, seed: int = 1) -> Workload:
    """Every lane takes its own way through ifs, loops and switches."""
    seeds = np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32)
    step = Step("divergent", (n,), ("seeds", "out", rounds))
    buffers = {"seeds": seeds, "out": np.zeros_like(seeds)}
    wanted = np.array([_way(int(s), rounds) for s in seeds], np.uint32)
    return Workload(
        "divergent", "basic.cl", "compute", (step,), buffers, {"out": wanted}, description=f"{n} items, {rounds} rounds"
    )


def _way(s: int, rounds: int) -> int:
    total, mask = 0, 0xFFFFFFFF
    for _ in range(rounds):
        s = (s * 1664525 + 1013904223) & mask
        if s & 0x80000000:
            total = (total + (s >> 7)) & mask
            total = total ^ ((s << 3) & mask) if s & 0x40000000 else ((total << 5) | (total >> 27)) & mask
        else:
            for k in range(s >> 28):
                total = (total * 31 + k) & mask
        kind = (s >> 16) & 3
        if kind == 0:
            total = (total + 17) & mask
        elif kind == 1:
            total = (total - (s & 255)) & mask
        elif kind == 2:
            total ^= total >> 11
    return total
