# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What predictors of the study learn before it: on programs drawn at random, none of which is in a mix.

    python -m eddy_studies.hsm.train

runs drawn programs alone and in pairs with drawn shares of the cores on the fast cluster model, keeps what was counted
in `training.json`, trains Themis-NN on it and fits the constants of `eddy_slowdown`, and keeps both beside the models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from eddy.model import eddy_slowdown
from eddy.model.eddy_slowdown import EddySlowdown, QueueConstants
from eddy.model.progress import ClusterEpoch, ProgressPredictor
from eddy.model.slowdown import MemoryLaw, SharedRunCounters

from eddy_studies.hsm.kernels import drawn
from eddy_studies.hsm.machine import ClusterModel, Kernel
from eddy_studies.hsm.session import PrivateRun, keep, law_of, parameters, run_alone, run_together, sum_from_epoch
from eddy_studies.policies import themis_nn

SEED = 1001
PROGRAMS, PAIRS = 60, 400
EPOCHS, CYCLES = 6, 20_000
KEPT = Path(__file__).with_name("training.json")
NETWORK = Path(themis_nn.__file__).with_name("themis_nn.json")
CONSTANTS = Path(eddy_slowdown.__file__).with_name("eddy_slowdown.json")
Example = tuple[ClusterEpoch, tuple[float, ...]]
"""An epoch, and what each tenant's progress was in it."""


def _alone(kernel: Kernel) -> PrivateRun:
    return run_alone(ClusterModel(), kernel, EPOCHS * CYCLES)


def _pair(task: tuple[tuple[Kernel, Kernel], tuple[PrivateRun, PrivateRun], MemoryLaw, int]) -> Example:
    kernels, privates, law, cores = task
    machine = ClusterModel()
    run = run_together(machine, kernels, privates, law, keep, EPOCHS, CYCLES, start=(cores, machine.cores - cores))
    return sum_from_epoch(run, 2), run.between(2, EPOCHS)


def examples(seed: int) -> list[Example]:
    """Run drawn programs in pairs, with drawn shares."""
    kernels = drawn(PROGRAMS, seed)
    draw = np.random.default_rng([seed, 2])
    with get_context("spawn").Pool(2) as pool:
        privates = pool.map(_alone, kernels)
        law = law_of(ClusterModel(), privates)
        tasks = []
        for _ in range(PAIRS):
            a, b = draw.choice(PROGRAMS, 2, replace=False).tolist()
            cores = int(draw.choice([2, 4, 6, 8, 8, 8, 10, 12, 14]))
            tasks.append(((kernels[a], kernels[b]), (privates[a], privates[b]), law, cores))
        return pool.map(_pair, tasks, chunksize=8)


def errors(predictor: ProgressPredictor, over_examples: Sequence[Example]) -> list[float]:
    """Absolute relative errors of each tenant of each example."""
    found = []
    for epoch, measured in over_examples:
        for curve, progress in zip(predictor.predict(epoch), measured, strict=True):
            if curve is not None and progress > 0:
                found.append(abs(curve.progress - progress) / progress)
    return found


def fit(learned_from: Sequence[Example], start: QueueConstants, say: Callable[[str], None]) -> QueueConstants:
    """QueueConstants of least mean error: one after the other is moved as long as that helps, by ever smaller steps."""
    best, least = start, float(np.mean(errors(EddySlowdown(constants=start), learned_from)))
    for step in (0.3, 0.15, 0.07, 0.03):
        moved = True
        while moved:
            moved = False
            for name, value in asdict(best).items():
                unit = abs(value) if abs(value) > 0.1 else 0.1
                for way in (-step, step):
                    trial = replace(best, **{name: value + way * unit})
                    error = float(np.mean(errors(EddySlowdown(constants=trial), learned_from)))
                    if error < least - 1e-5:
                        best, least, moved = trial, error, True
                        break
        say(f"eddy_slowdown: mean error {least:.2%} with steps of {step:.0%}")
    return best


def save(found: Sequence[Example], seed: int) -> None:
    """Keep what was counted: of each example the counters of both tenants, and their progress."""
    rows = [
        [[[round(value, 4) for value in _numbers(s)] for s in epoch.tenants if s is not None], list(progress)]
        for epoch, progress in found
    ]
    law = asdict(found[0][0].law)
    document = {"seed": seed, "fields": list(FIELDS), "law": law, "examples": rows}
    KEPT.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


FIELDS = tuple(name for name in SharedRunCounters.__dataclass_fields__ if name not in ("groups", "alone_cycles"))


def _numbers(sharing: SharedRunCounters) -> list[float]:
    return [float(getattr(sharing, name)) for name in FIELDS]


def load() -> list[Example]:
    """What `save` kept."""
    document = json.loads(KEPT.read_text(encoding="utf-8"))
    law, machine = MemoryLaw(**document["law"]), parameters(ClusterModel())

    def sharing(values: Sequence[float]) -> SharedRunCounters:
        return SharedRunCounters(**dict(zip(document["fields"], values, strict=True)))

    return [
        (ClusterEpoch(machine, law, tuple(sharing(values) for values in tenants)), tuple(progress))
        for tenants, progress in document["examples"]
    ]


def train_network(found: Sequence[Example], seed: int, rounds: int = 4000) -> themis_nn.ProgressNetwork:
    """Themis-NN on all examples, in so many steps."""
    told, wanted = [], []
    for epoch, progress in found:
        for sharing, reached in zip(epoch.tenants, progress, strict=True):
            if sharing is not None and reached > 0:
                told.append(themis_nn.inputs(sharing, epoch))
                wanted.append(reached)
    return themis_nn.train(np.array(told), wanted, seed, rounds)


def main() -> None:
    """Run, learn, keep."""
    save(examples(SEED), SEED)
    found = load()
    net = {"seed": SEED, "examples": len(found), **train_network(found, SEED).to_json()}
    NETWORK.write_text(json.dumps(net, separators=(",", ":")) + "\n", encoding="utf-8")
    constants = fit(found[::4], QueueConstants(), print)
    CONSTANTS.write_text(json.dumps(asdict(constants), indent=1) + "\n", encoding="utf-8")
    print(constants, f"{np.mean(errors(EddySlowdown(constants=constants), found)):.2%}")


if __name__ == "__main__":
    main()
