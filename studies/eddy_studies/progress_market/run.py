# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy reproduce market-progress`: the Fisher market of [000] with and without measured progress ([001]).

Two clusters of sixteen cores, each with a memory of its own, the second one's four times as fast; four tenants of one
weight, in every mix of four out of five kernels. Kernels share a memory in closed form, as `contention` says. Policies
are the very objects that share live clusters; each epoch they see what the last one counted. What is told is the last
of `EPOCHS`, in which shares have settled.

[000] takes PEs not to disturb each other. So the market sells a tenant whose kernel fills a memory with three cores as
many as its money buys, and takes its money for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from eddy.model.slowdown import ClusterParameters, MemoryLaw
from eddy.policy.price import POLICIES
from eddy.policy.price.view import ClusterMachine, ClusterView, Configuration, Floats, PriceView

from eddy_studies.progress_market.contention import KernelBehaviour, SharedRun, share_cluster, solo_ipc
from eddy_studies.report import Row, write_csv

CORES = 16
LAWS = (MemoryLaw(0.5, 0.3, 1.6e9), MemoryLaw(0.5, 0.3, 6.4e9))
MACHINE = ClusterParameters(CORES, 1.0, 100e6, 64)
KERNELS: Mapping[str, KernelBehaviour] = {
    "stream": KernelBehaviour(0.4, 0.125, 0.9),
    "scatter": KernelBehaviour(0.3, 0.08, 0.1),
    "mixed": KernelBehaviour(0.6, 0.02, 0.6, patience=2.0),
    "compute": KernelBehaviour(0.8, 0.0005, 0.5, patience=20.0),
    "filter": KernelBehaviour(0.7, 0.01, 0.8, patience=4.0),
}
MIX = 4
EPOCHS = 30
CONTENDERS = ("entitlement", "market", "market_progress")
_LITTLE = 1e-3


@dataclass(frozen=True, slots=True)
class MarketOutcome:
    """What a mix came to under a policy.

    Attributes:
        mix: Kernels of the four tenants.
        work: Speed of each tenant over both clusters, over that alone on both; (4,).
        wasted: Cores, of both clusters, that could be taken away from tenants without making them slower.
        paid_for_waste: Part of all money spent on those.
    """

    mix: tuple[str, ...]
    policy: str
    work: tuple[float, ...]
    wasted: float
    paid_for_waste: float


def play(mix: tuple[str, ...], policy_name: str) -> MarketOutcome:
    """Let a policy share both clusters until shares have settled."""
    policy, kernels = POLICIES[policy_name](), [KERNELS[name] for name in mix]
    memory, runs = policy.initial(), list[SharedRun]()
    shares, prices = np.zeros((MIX, 2)), np.zeros(2)
    for number in range(EPOCHS):
        decision = policy.decide(_view(number, mix, kernels, runs, memory))
        memory, shares, prices = decision.memory, decision.shares, decision.prices
        runs = _run(kernels, shares)
    private = [sum(solo_ipc(kernel, MACHINE, law) for law in LAWS) for kernel in kernels]
    work = tuple(float(sum(run.speeds[i] for run in runs)) / private[i] for i in range(MIX))
    useless = np.array([[_useless(kernels, shares, i, c) for c in range(2)] for i in range(MIX)])
    return MarketOutcome(mix, policy_name, work, float(useless.sum()), float((useless * prices).sum()))


def _view(
    number: int, mix: tuple[str, ...], kernels: list[KernelBehaviour], runs: list[SharedRun], memory: object
) -> PriceView:
    clusters = tuple(ClusterView(slot, f"gpu{slot}", CORES) for slot in range(2))
    # One core alone, as slices measure it: both clusters have the same cores, and no memory is full.
    throughput = np.array([[k.instructions_per_cycle] * 2 for k in kernels])
    here = Configuration("here", clusters, np.full((MIX, 2), 0.98), throughput)
    sharing = tuple(tuple(run.sharing[i] if run.sharing[i].cores > 0 else None for run in runs) for i in range(MIX))
    return PriceView(
        *(float(number), number, tuple(f"t{i}" for i in range(MIX)), np.ones(MIX), here, np.full(MIX, np.inf)),
        np.zeros((MIX, 2)),
        memory=memory,
        sharing=sharing if runs else (),
        machines=tuple(ClusterMachine(MACHINE, law) for law in LAWS),
        kernels=tuple((name,) for name in mix),
    )


def _run(kernels: list[KernelBehaviour], shares: Floats) -> list[SharedRun]:
    return [share_cluster(kernels, shares[:, c].tolist(), MACHINE, law) for c, law in enumerate(LAWS)]


def _useless(kernels: list[KernelBehaviour], shares: Floats, row: int, column: int) -> float:
    """Cores of one tenant on one cluster beyond those with which it would fill that memory by itself."""
    full = 1.0 / kernels[row].memory_load(1.0, MACHINE, LAWS[column])
    return max(float(shares[row, column]) - full, 0.0)


def reproduce(out: Path, seed: int, quick: bool, say: Callable[[str], None]) -> list[Row]:
    """Play every mix under every contender; write what came of them under `out`.

    Args:
        out: Folder, made if need be.
        seed: Nothing is drawn.
        quick: One mix alone.
        say: Told what is being done.
    """
    mixes = list(combinations(KERNELS, MIX))[: 1 if quick else None]
    out.mkdir(parents=True, exist_ok=True)
    found = [play(mix, policy) for mix in mixes for policy in CONTENDERS]
    say(f"{len(mixes)} mixes of {MIX} tenants under {', '.join(CONTENDERS)}")
    records = [
        {"mix": "+".join(o.mix), "policy": o.policy, "wasted_cores": o.wasted, "paid_for_waste": o.paid_for_waste}
        | {f"progress_{i}": each for i, each in enumerate(o.work)}
        for o in found
    ]
    write_csv(out / "market_progress.csv", records)
    heads = {policy: _means([o for o in found if o.policy == policy]) for policy in CONTENDERS}
    (out / "market_progress.json").write_text(json.dumps(heads, indent=1) + "\n", encoding="utf-8")
    return [row for policy in CONTENDERS for row in _rows(policy, heads[policy], heads["market"])]


def _means(outcomes: list[MarketOutcome]) -> dict[str, float]:
    return {
        "stp": float(np.mean([sum(o.work) for o in outcomes])),
        "least": float(np.mean([min(o.work) for o in outcomes])),
        "nash": float(np.mean([np.exp(np.mean(np.log(np.maximum(o.work, _LITTLE)))) for o in outcomes])),
        "wasted_cores": float(np.mean([o.wasted for o in outcomes])),
        "paid_for_waste": float(np.mean([o.paid_for_waste for o in outcomes])),
    }


def _rows(policy: str, mean: Mapping[str, float], market: Mapping[str, float]) -> list[Row]:
    def beside(name: str) -> str:
        return f"{mean[name] / market[name]:.3f} times the market's" if market[name] else ""

    said = (
        ("stp", "work done at once, sum over tenants of speed over speed alone"),
        ("least", "the slowest tenant's"),
        ("nash", "geometric mean over tenants"),
        ("wasted_cores", "cores of 32 that bring nothing to who holds them"),
        ("paid_for_waste", "part of all money spent on those"),
    )
    return [Row("beyond [000]", f"{policy}: {what}", "", f"{mean[name]:.3f}", beside(name)) for name, what in said]
