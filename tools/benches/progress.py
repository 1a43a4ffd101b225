# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What an epoch's decision by progress costs, for four tenants on sixteen cores ([001] 4.2).

Each decision is one that moves cores: prediction of every curve, and the search for shares. Processor time of one
core, the fastest of many. The goal is 200 us on the machine the goals were set on, and as much longer here as plain
Python is slower: a ratio to `yardstick.PYTHON` in the same run. It holds for the two policies of [001] and for
those on `eddy_slowdown`; the others are measured beside them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.policy.price import POLICIES
from eddy.policy.price.view import ClusterMachine, ClusterView, Configuration, PricePolicy, PriceView
from eddy_studies.progress_market.contention import KernelBehaviour, share_cluster
from yardstick import PYTHON, factor, measured

GOAL_US = 200.0
HELD = ("hsm_fair", "hsm_qos", "eddy_slowdown_fair", "eddy_slowdown_qos")
"""Policies the goal holds for."""
TENANTS, CORES = 4, 16
MACHINE = ClusterParameters(CORES, 1.0, 100e6, 64)
LAW = MemoryLaw(0.5, 0.3, 1600e6)
KERNELS = (
    KernelBehaviour(0.8, 0.0005, 0.5, patience=20),
    KernelBehaviour(0.4, 0.125, 0.9),
    KernelBehaviour(0.3, 0.08, 0.1),
    KernelBehaviour(0.7, 0.02, 0.6, patience=2),
)


def view(policy: PricePolicy) -> PriceView:
    """A second epoch: all have run with even shares, and progressed very differently."""
    run = share_cluster(KERNELS, [CORES / TENANTS] * TENANTS, MACHINE, LAW)
    here = Configuration("here", (ClusterView(0, "gpu", CORES),), np.full((TENANTS, 1), 0.9), np.ones((TENANTS, 1)))
    # With a memory of every kernel alone there is most to do.
    known = [replace(s, alone_cycles=p * s.cycles) for s, p in zip(run.sharing, run.progress, strict=True)]
    names, nothing = tuple(f"t{i}" for i in range(TENANTS)), np.zeros((TENANTS, 1))
    first = PriceView(
        *(0.0, 0, names, np.ones(TENANTS), here, np.full(TENANTS, np.inf), nothing),
        memory=policy.initial(),
        sharing=tuple((each,) for each in known),
        machines=(ClusterMachine(MACHINE, LAW),),
        kernels=(("k",),) * TENANTS,
        least_progress=(0.5, 0.0, 0.0, 0.0),
    )
    fields = {name: getattr(first, name) for name in PriceView.__dataclass_fields__}
    return PriceView(**{**fields, "memory": policy.decide(first).memory})


def microseconds(policy: PricePolicy, runs: int = 300) -> float:
    """Of one decision that moves cores, the fastest of many."""
    shown = view(policy)
    moved = policy.decide(shown).shares[:, 0]
    if policy.name in HELD and np.allclose(moved, CORES / TENANTS):
        raise SystemExit(f"progress: {policy.name} moved nothing, so its time says nothing")
    least = float("inf")
    for _ in range(runs):
        begin = time.process_time_ns()
        policy.decide(shown)
        least = min(least, (time.process_time_ns() - begin) / 1e3)
    return least


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Microseconds of a decision; and parts of the goal, which is longer where plain Python is slower."""
    times = {name: microseconds(made) for name, make in POLICIES.items() if (made := make()).traits.by_progress}
    goal_us = GOAL_US / min(factor(measured())[PYTHON], 1.0)
    return {"us": times, "goal us": goal_us, "of the goal": {name: times[name] / goal_us for name in HELD}}


def missed(found: dict[str, Any]) -> list[str]:
    """Decisions that take longer than the goal."""
    return [name for name, part in found["of the goal"].items() if part > 1]
