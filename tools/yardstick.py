# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Fixed work that says how fast this machine is today, so that benchmarks can state goals as ratios to it.

Machines differ threefold, and a shared one differs threefold from day to day. A goal in seconds then says more about
the machine than about the code. Goals in `tools/bench_*.py` are therefore ratios to something measured in the same run:
the same work through another tool, a plain reference implementation, or one of the yardsticks here. `REFERENCE` is what
they gave where the goals were set; `factor` says how this machine compares.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from eddy_sim.tools.cxx import compile_shared

COMPILED = "compiled loop, turns/s"
PYTHON = "Python loop, turns/s"
REFERENCE = {COMPILED: 620e6, PYTHON: 15e6}
"""What the two loops gave on the machine the goals were set on."""

_SOURCE = """
#include <cstdint>
extern "C" __attribute__((visibility("default"))) std::uint64_t turns(std::uint64_t count) {
  std::uint64_t x = 88172645463325252ull;  // xorshift: every turn needs the one before
  for (std::uint64_t i = 0; i < count; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
  return x;
}
"""


def best_rate(work: Callable[[], object], count: int, runs: int = 5) -> float:
    """The most of `count` things done a second of processor time in several runs."""
    least_s = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        work()
        least_s = min(least_s, time.process_time() - begin)
    return count / least_s


@cache
def compiled_turns_per_s() -> float:
    """Turns a second of a compiled loop in which every turn waits for the one before."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "loop.cpp", Path(folder) / "loop.so"
        source.write_text(_SOURCE, encoding="utf-8")
        compile_shared([source], library)
        turns = ctypes.CDLL(str(library)).turns
    turns.argtypes, turns.restype = [ctypes.c_uint64], ctypes.c_uint64
    return best_rate(lambda: turns(20_000_000), 20_000_000)


@cache
def python_turns_per_s() -> float:
    """Turns a second of a plain Python loop over a dictionary and an integer."""

    def work() -> None:
        table = dict.fromkeys(range(64), 0)
        for i in range(300_000):
            table[i & 63] += i

    return best_rate(work, 300_000)


def measured() -> dict[str, float]:
    """Both yardsticks."""
    return {COMPILED: compiled_turns_per_s(), PYTHON: python_turns_per_s()}


def factor(found: dict[str, float]) -> dict[str, float]:
    """How many times as fast this machine is as the one the goals were set on, by yardstick."""
    return {name: rate / REFERENCE[name] for name, rate in found.items()}


def main() -> None:
    """Print them."""
    found = measured()
    factors = factor(found)
    for name, rate in found.items():
        print(f"this machine: {name:<24}{rate:>14,.0f}   {factors[name]:.2f} times the reference machine")


if __name__ == "__main__":
    main()
