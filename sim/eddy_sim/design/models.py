# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds the Verilated models of a board ahead of time, on all cores, saying how long it will still take.

A model is built when it is first needed; this is for those who would rather wait once, and see for how long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from eddy.board.port.profile import Profile, load_profile
from eddy.packages.modules import ModuleKind

from eddy_sim.design import bitstreams, build
from eddy_sim.tools import cxx
from eddy_sim.tools.products import Progress, ignore_progress


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One thing to build.

    Attributes:
        weight: About how much work it is, a small module being 1; only the time left is estimated from it.
        make: Builds it; quick where it is there already.
    """

    weight: float
    make: Callable[[], object]


class _Meter:
    """Says how many steps are done, and from the work behind how long the work ahead takes."""

    def __init__(self, steps: Collection[BuildStep], progress: Progress) -> None:
        self._total, self._count = sum(step.weight for step in steps), len(steps)
        self._done, self._finished, self._progress = 0.0, 0, progress
        self._began_s, self._lock = time.monotonic(), threading.Lock()

    def finished(self, step: BuildStep) -> None:
        """Take note of a step that is done."""
        with self._lock:
            self._done += step.weight
            self._finished += 1
            left_s = (time.monotonic() - self._began_s) * (self._total - self._done) / self._done
            left = f", about {left_s:.0f} s left" if self._finished < self._count else ""
            self._progress(f"simulation models: {self._finished} of {self._count}{left}")


def build_models(
    profile: str | Profile, progress: Progress = ignore_progress, modules: Collection[str] | None = None
) -> None:
    """Build the models of a profile's shell and of what its slots may hold, where missing.

    Args:
        profile: A profile, or its name.
        progress: Told after each step how many are done, and about how long the others take.
        modules: Names of the modules; by default all that fit a slot.

    Raises:
        NotFound: There is no such profile.
        BuildFailed: A tool refused its input; the message holds what it said.
    """
    board = load_profile(profile) if isinstance(profile, str) else profile
    fitting = [m for m in bitstreams.modules() if any(bitstreams.fits(m, slot) for slot in board.slots)]
    wanted = [m for m in fitting if modules is None or m.module in modules]
    common = (BuildStep(8.0, cxx.cxx_library), BuildStep(5.0, lambda: build.verilator_runtime(ignore_progress)))
    # The longest first, so that no core waits for one at the end.
    models = [BuildStep(10.0, lambda: build.build_shell(build.ShellShape.of(board)))]
    models += [
        BuildStep(
            5.0 if m.kind is ModuleKind.GPU else 1.0,
            lambda name=m.module: build.build_module(name, memory_bits=board.memory_bits),  # type: ignore[misc]
        )
        for m in sorted(wanted, key=lambda m: m.kind is not ModuleKind.GPU)
    ]
    models.append(BuildStep(2.0, build.build_board))
    meter = _Meter((*common, *models), progress)
    for step in common:  # all others need these, and the first of them uses all cores by itself
        step.make()
        meter.finished(step)

    def take(step: BuildStep) -> None:
        step.make()
        meter.finished(step)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(take, models))
