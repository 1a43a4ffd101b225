# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What runs beside what: the mixes of [001] section 5, and runs of them under each policy, on two processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from multiprocessing import get_context

import numpy as np
from eddy.model.progress import ClusterEpoch, ProgressPredictor
from eddy.model.slowdown import MemoryLaw
from eddy.policy.price import BANDS
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import Band, ProgressQos
from eddy.policy.price.view import ClusterMachine, ClusterView, Configuration, PricePolicy, PriceView

from eddy_studies.hsm.kernels import MEMORY_BOUND, TABLE_2, table_2
from eddy_studies.hsm.machine import ClusterModel, Kernel, with_memory
from eddy_studies.hsm.session import Decide, PrivateRun, keep, law_of, run_alone, run_together, sum_from_epoch
from eddy_studies.policies import PREDICTORS

HETEROGENEOUS, MEMORY, COMPUTE = "heterogeneous", "memory-bound", "compute-bound"
KINDS = (HETEROGENEOUS, MEMORY, COMPUTE)
TARGET = 0.8
"""Of the tenant with priority, [001] 6.3."""
SETTLED = 3
"""Epochs after which an allocation is taken to have settled: all start even."""
WARM = 2
"""Epochs that errors of prediction leave out: caches are cold."""
BW_APP_CYCLES = 2_000
"""BW-App looks at bandwidth over about so many cycles."""
EVEN, BW_APP, PROPORTIONAL, MOST = "even", "bw_app", "proportional", "all_but_one"
FAIR = (EVEN, BW_APP, *(f"{name}_fair" for name in PREDICTORS))
JUST = Band(0.0, 0.03, 0.125)
"""Where predictions are taken at their word: a target of 0.8 is aimed at with 0.824, given back above 0.9."""
TRUSTING = tuple(f"{name}_qos_{TARGET}" for name in ("hsm", "eddy_slowdown"))
PARTS = tuple(f"{name}_qos_parts" for name in ("hsm", "eddy_slowdown"))
"""Policies that move parts of a core, as live: an epoch has slices, in which a tenant has a core or not."""
SLICES = 4
"""Of an epoch, under `PARTS`."""
MIN_PART = 1 / 16
"""Of an even share, that everybody keeps under `PARTS`: half a core of two tenants' sixteen."""
QOS = (PROPORTIONAL, MOST, *(f"{name}_qos" for name in PREDICTORS), *TRUSTING, *PARTS)


@dataclass(frozen=True, slots=True)
class Scale:
    """How long runs are, and how many of them a sweep has.

    Attributes:
        every: A sweep takes every so-manyeth mix.
        four: Mixes of four programs.
    """

    epochs: int
    cycles: int
    every: int
    four: int


FULL, QUICK = Scale(12, 30_000, 1, 40), Scale(8, 12_000, 7, 8)


@dataclass(frozen=True, slots=True)
class MixRun:
    """One run.

    Attributes:
        mix: Programs, one a tenant.
        policy: Of `FAIR` or `QOS`.
        high: The tenant with priority, under a policy of `QOS`.
        threshold: Of fairness, below which cores move.
        memory: Settings of the memory that differ.
    """

    mix: tuple[str, ...]
    policy: str = EVEN
    high: int = 0
    threshold: float = 0.9
    memory: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        progress: Of each tenant, over the whole run.
        settled: The same without the first `SETTLED` epochs.
        warm: The same without the first `WARM`: what predictions are compared with.
        predicted: By predictor, of each tenant, from what was counted after `WARM` epochs.
        hit_rates: Row-buffer hit rate of each tenant.
        cores: Each had in the last epoch, parts of a core under `PARTS`.
    """

    task: MixRun
    progress: tuple[float, ...]
    settled: tuple[float, ...]
    warm: tuple[float, ...]
    predicted: Mapping[str, tuple[float, ...]]
    hit_rates: tuple[float, ...]
    cores: tuple[float, ...]


def pairs() -> list[tuple[str, str]]:
    """All 105 of two programs."""
    return list(combinations(TABLE_2, 2))


def fours(count: int, seed: int) -> list[tuple[str, ...]]:
    """Mixes of four: two memory-bound and two compute-bound in half of them, any in the rest."""
    draw = np.random.default_rng([seed, 4])
    compute = [name for name in TABLE_2 if name not in MEMORY_BOUND]
    made: list[tuple[str, ...]] = []
    while len(made) < count:
        if len(made) % 2 == 0:
            chosen = [*draw.choice(MEMORY_BOUND, 2, replace=False), *draw.choice(compute, 2, replace=False)]
        else:
            chosen = list(draw.choice(list(TABLE_2), 4, replace=False))
        mix = tuple(str(name) for name in chosen)
        if mix not in made:
            made.append(mix)
    return made


def kind(mix: Sequence[str]) -> str:
    """Which of the three kinds a mix is of."""
    bound = sum(name in MEMORY_BOUND for name in mix)
    return MEMORY if bound == len(mix) else COMPUTE if bound == 0 else HETEROGENEOUS


def high_of(mix: tuple[str, str], seed: int) -> int:
    """The tenant with priority: the memory-bound one, or a drawn one of two alike ([001] 6.3)."""
    if kind(mix) == HETEROGENEOUS:
        return 0 if mix[0] in MEMORY_BOUND else 1
    return int(np.random.default_rng([seed, 5, *map(len, mix), ord(mix[0][0]), ord(mix[1][0])]).integers(2))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """A machine, every program alone on it, and the law of its memory."""

    machine: ClusterModel
    privates: Mapping[str, PrivateRun]
    law: MemoryLaw


_SCALE = FULL
_SEED = 0


def _begin(scale: Scale, seed: int) -> None:
    global _SCALE, _SEED
    _SCALE, _SEED = scale, seed
    world.cache_clear()
    programs.cache_clear()


@cache
def programs() -> Mapping[str, Kernel]:
    """The fifteen programs of this run's seed."""
    return table_2(_SEED)


@cache
def world(memory: tuple[tuple[str, float], ...] = ()) -> World:
    """The machine with these settings of its memory; each process finds out once."""
    machine = with_memory(ClusterModel(), **dict(memory))
    privates = {name: run_alone(machine, kernel, _SCALE.epochs * _SCALE.cycles) for name, kernel in programs().items()}
    return World(machine, privates, law_of(machine, list(privates.values())))


def run_task(task: MixRun) -> Outcome:
    """Run a mix under its policy."""
    here = world(task.memory)
    kernels = programs()
    machine = with_memory(here.machine, least_first=BW_APP_CYCLES) if task.policy == BW_APP else here.machine
    decide, start = _decider(task, machine)
    run = run_together(
        machine,
        [kernels[name] for name in task.mix],
        [here.privates[name] for name in task.mix],
        here.law,
        decide,
        _SCALE.epochs,
        _SCALE.cycles,
        start,
        SLICES if task.policy in PARTS else 1,
    )
    last = len(run.epochs)
    steady = sum_from_epoch(run, WARM)
    return Outcome(
        task,
        run.progress,
        run.between(SETTLED, last),
        run.between(WARM, last),
        {name: _progress(make(), steady) for name, make in PREDICTORS.items()},
        tuple(each.hit_rate for each in steady.tenants if each is not None),
        tuple(run.cores[-1].tolist()),
    )


def best_partition(task: MixRun) -> float:
    """The most progress that the tenant with priority has, over all ways to divide whole cores between two."""
    here = world(task.memory)
    reached = []
    for most in range(1, here.machine.cores):
        start = [most if tenant == task.high else here.machine.cores - most for tenant in range(len(task.mix))]
        kernels, privates = [programs()[name] for name in task.mix], [here.privates[name] for name in task.mix]
        run = run_together(here.machine, kernels, privates, here.law, keep, _SCALE.epochs, _SCALE.cycles, start)
        reached.append(run.between(SETTLED, len(run.epochs))[task.high])
    return max(reached)


def _progress(predictor: ProgressPredictor, epoch: ClusterEpoch) -> tuple[float, ...]:
    return tuple(curve.progress if curve is not None else 0.0 for curve in predictor.predict(epoch))


def _decider(task: MixRun, machine: ClusterModel) -> tuple[Decide, Sequence[float] | None]:
    if task.policy in (EVEN, BW_APP):
        return keep, None
    if task.policy in (PROPORTIONAL, MOST):
        most = round(TARGET * machine.cores) if task.policy == PROPORTIONAL else machine.cores - 1
        return keep, [most if tenant == task.high else machine.cores - most for tenant in range(len(task.mix))]
    whole = task.policy not in PARTS
    name, _, aim = task.policy.removesuffix(f"_{TARGET}").removesuffix("_parts").rpartition("_")
    predictor = PREDICTORS[name]()
    band = JUST if task.policy in TRUSTING else BANDS.get(name, Band())
    policy: PricePolicy
    least: tuple[float, ...] = ()
    if aim == "fair":
        policy = ProgressFair(predictor, threshold=task.threshold, least=0.0, whole=True)
    else:
        policy = ProgressQos(predictor, band, least=0.0 if whole else MIN_PART, whole=whole)
        least = tuple(TARGET if tenant == task.high else 0.0 for tenant in range(len(task.mix)))
    return StudyPolicy(policy, least, machine.cores), None


class StudyPolicy:
    """A price policy as the study asks it: after every epoch, with a view of the one cluster there is.

    Args:
        policy: The very object that runs live.
        least: Progress each tenant was promised; () where nobody was.
    """

    def __init__(self, policy: PricePolicy, least: tuple[float, ...], cores: int) -> None:
        self._policy, self._least, self._cores = policy, least, cores
        self._memory = policy.initial()
        self._epoch = 0

    def __call__(self, seen: Sequence[ClusterEpoch], cores: Sequence[float]) -> Sequence[float]:
        """Cores of each tenant in the next epoch."""
        if self._epoch == 0:  # what the first epoch was shared by
            self._ask(None, len(cores))
        return self._ask(seen[-1], len(cores))

    def _ask(self, last: ClusterEpoch | None, tenants: int) -> list[float]:
        names = tuple(f"t{tenant}" for tenant in range(tenants))
        here = Configuration(
            "here", (ClusterView(0, "gpu", self._cores),), np.ones((tenants, 1)), np.ones((tenants, 1))
        )
        view = PriceView(
            now_s=float(self._epoch),
            epoch=self._epoch,
            tenants=names,
            weights=np.ones(tenants),
            present=here,
            waiting_s=np.full(tenants, np.inf),
            delivered_s=np.zeros((tenants, 1)),
            memory=self._memory,
            sharing=() if last is None else tuple((each,) for each in last.tenants),
            machines=() if last is None else (ClusterMachine(last.machine, last.law),),
            kernels=tuple((name,) for name in names),
            least_progress=self._least,
        )
        decision = self._policy.decide(view)
        self._memory, self._epoch = decision.memory, self._epoch + 1
        return [float(share) for share in decision.shares[:, 0]]


def run_all(tasks: Sequence[MixRun], scale: Scale, seed: int, tick: Callable[[], None]) -> list[Outcome]:
    """Run tasks on two processes; the order of what comes back is theirs."""
    with get_context("spawn").Pool(2, _begin, (scale, seed)) as pool:
        found = []
        for outcome in pool.imap(run_task, tasks, chunksize=4):
            found.append(outcome)
            tick()
    return found


def the_world(scale: Scale, seed: int) -> World:
    """What processes of the pool find out for themselves, in this one."""
    _begin(scale, seed)
    return world()


def errors(outcomes: Iterable[Outcome], predictor: str) -> list[float]:
    """Absolute relative errors of predicted progress, [001] 2.3."""
    return [
        abs(predicted - measured) / measured
        for outcome in outcomes
        for predicted, measured in zip(outcome.predicted[predictor], outcome.warm, strict=True)
    ]


def under(outcomes: Iterable[Outcome], policy: str) -> list[Outcome]:
    """Those of one policy, memory and threshold as usual."""
    usual = MixRun(())
    return [
        outcome
        for outcome in outcomes
        if replace(outcome.task, mix=(), policy=EVEN, high=0) == usual and outcome.task.policy == policy
    ]
