# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HSM-Fair and HSM-QoS, as policies alone: in a world that is as HSM assumes, and against misleading counters."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from eddy.model.progress import ClusterEpoch, HsmPredictor, ProgressCurve, linear_curve
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters, fairness
from eddy.policy.price import POLICIES
from eddy.policy.price.progress import cores_for, equalize_progress, whole_cores
from eddy.policy.price.progress_fair import ProgressFair
from eddy.policy.price.progress_qos import WIDE, Band, ProgressQos
from eddy.policy.price.view import ClusterMachine, ClusterView, Configuration, PricePolicy, PriceView
from eddy_studies.progress_market.contention import KernelBehaviour, SharedRun, share_cluster
from hypothesis import example, given, settings
from hypothesis import strategies as st

CORES = 16
MACHINE = ClusterParameters(CORES, 1.0, 100e6, 64)
LAW = MemoryLaw(0.5, 0.3, 1600e6)
COMPUTE = KernelBehaviour(0.8, 0.0005, 0.5, patience=20)
STREAM = KernelBehaviour(0.4, 0.125, 0.9)
SCATTER = KernelBehaviour(0.3, 0.08, 0.1)
Kernels = Sequence[KernelBehaviour]


def view(count: int, run: SharedRun | None, memory: object, least: tuple[float, ...] = ()) -> PriceView:
    here = Configuration("here", (ClusterView(0, "gpu", CORES),), np.full((count, 1), 0.9), np.ones((count, 1)))
    sharing = tuple((each,) for each in run.sharing) if run else ()
    names = tuple(f"t{i}" for i in range(count))
    return PriceView(
        *(0.0, 0, names, np.ones(count), here, np.full(count, np.inf), np.zeros((count, 1))),
        memory=memory,
        sharing=sharing,
        machines=(ClusterMachine(MACHINE, LAW),),
        kernels=tuple(("k",) for _ in names),
        least_progress=least,
    )


def play(
    policy: PricePolicy, epochs: Callable[[int], Kernels], count: int, length: int, least: tuple[float, ...] = ()
) -> list[SharedRun]:
    """What came of so many epochs; kernels of each as `epochs` says."""
    memory, runs = policy.initial(), list[SharedRun]()
    for number in range(length):
        decision = policy.decide(view(count, runs[-1] if runs else None, memory, least))
        memory = decision.memory
        shares = decision.shares[:, 0]
        assert (shares >= 0).all()
        assert shares.sum() <= CORES * (1 + 1e-9)
        runs.append(share_cluster(epochs(number), [float(x) for x in shares], MACHINE, LAW))
    return runs


def always(*kernels: KernelBehaviour) -> Callable[[int], Kernels]:
    return lambda _: kernels


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kernels", [(COMPUTE, STREAM), (COMPUTE, SCATTER), (STREAM, SCATTER, COMPUTE, COMPUTE)])
def test_progress_becomes_alike_within_some_epochs(kernels: tuple[KernelBehaviour, ...], whole: bool) -> None:
    runs = play(ProgressFair(whole=whole), always(*kernels), len(kernels), 12)
    even, after = fairness(runs[0].progress), fairness(runs[-1].progress)
    assert [s.cores for s in runs[0].sharing] == [CORES / len(kernels)] * len(kernels), "all start even"
    assert after >= (0.75 if whole else 0.89), f"{even} before"
    assert after > 1.4 * even or even > 0.7


def test_nothing_moves_where_it_is_fair_enough() -> None:
    runs = play(ProgressFair(threshold=0.5), always(COMPUTE, KernelBehaviour(0.7, 0.0, 0.0)), 2, 4)
    assert all(s.cores == CORES / 2 for run in runs for s in run.sharing)


def test_another_kernel_begins_with_an_even_start() -> None:
    policy = ProgressFair()
    runs = play(policy, always(COMPUTE, STREAM), 2, 6)
    first = policy.decide(view(2, runs[-1], policy.initial()))
    moved = policy.decide(view(2, runs[0], first.memory))
    assert moved.shares[0, 0] > CORES / 2
    shown = dataclasses.replace(view(2, runs[0], moved.memory), kernels=(("k",), ("other",)))
    assert policy.decide(shown).shares[:, 0].tolist() == [CORES / 2] * 2


@pytest.mark.parametrize("target", [0.5, 0.7])
@pytest.mark.parametrize("others", [(STREAM,), (STREAM, SCATTER, COMPUTE)])
def test_a_target_is_met_and_the_rest_goes_where_it_adds_most(
    others: tuple[KernelBehaviour, ...], target: float
) -> None:
    least = (target, *(0.0 for _ in others))
    runs = play(ProgressQos(), always(COMPUTE, *others), 1 + len(others), 12, least)
    assert runs[-1].progress[0] >= target
    assert runs[-1].progress[0] <= target + 0.12, "what it does not need is for the others"
    assert all(s.cores >= 0.25 * CORES / (1 + len(others)) - 1e-9 for s in runs[-1].sharing)


class OverstatingHsm:
    """HSM, but everybody's progress is said to be higher by a part of it."""

    name = "overstating"

    def __init__(self, by: float) -> None:
        self._by = 1 + by

    def predict(self, epoch: ClusterEpoch) -> tuple[ProgressCurve | None, ...]:
        return tuple(curve and self._more(curve) for curve in HsmPredictor().predict(epoch))

    def _more(self, curve: ProgressCurve) -> ProgressCurve:
        higher = tuple(min(1.0, self._by * each) for each in curve.by_cores)
        return ProgressCurve(min(1.0, self._by * curve.progress), higher, curve.memory_bound)


@pytest.mark.parametrize("others", [(STREAM,), (SCATTER, COMPUTE)])
@pytest.mark.parametrize(("by", "band"), [(0.06, Band()), (0.1, WIDE)])
def test_a_target_is_met_by_who_errs_less_than_its_band_is_above_it(
    others: tuple[KernelBehaviour, ...], by: float, band: Band
) -> None:
    def reached(band: Band) -> float:
        policy = ProgressQos(OverstatingHsm(by), band, least=0.0)
        least = (0.7, *(0.0 for _ in others))
        return float(play(policy, always(COMPUTE, *others), 1 + len(others), 12, least)[-1].progress[0])

    assert reached(band) >= 0.7
    assert reached(Band(0.0, 0.03, 0.125)) < 0.7, "the error is one that breaks a promise"


def test_cores_stay_where_they_are_within_the_band() -> None:
    runs = play(ProgressQos(), always(COMPUTE, STREAM), 2, 12, (0.7, 0.0))
    low, _, high = Band().of(0.7)
    assert low <= runs[-1].progress[0] <= high
    assert [s.cores for s in runs[-1].sharing] == [s.cores for s in runs[-2].sharing]


def test_targets_that_cannot_all_be_met_share_by_need() -> None:
    runs = play(ProgressQos(), always(COMPUTE, COMPUTE, STREAM), 3, 8, (0.9, 0.6, 0.0))
    cores = [s.cores for s in runs[-1].sharing]
    assert cores[0] / cores[1] == pytest.approx(1.5, rel=0.05)
    assert cores[2] == pytest.approx(0.25 * CORES / 3)


def test_without_targets_everybody_has_its_part() -> None:
    runs = play(ProgressQos(), always(COMPUTE, STREAM), 2, 4, (0.0, 0.0))
    assert all(s.cores == CORES / 2 for run in runs for s in run.sharing)


PHASES = (COMPUTE, STREAM, SCATTER, KernelBehaviour(0.02, 0.5, 0.9), KernelBehaviour(0.05, 0.0, 0.0))


@pytest.mark.parametrize("phases", list(itertools.permutations(PHASES, 2)))
def test_what_a_tenant_gains_by_alternating_phases_is_bounded(phases: tuple[KernelBehaviour, KernelBehaviour]) -> None:
    """Whatever it makes its counters say, the others keep their least part; so it has at most n - (n - 1) / 4 parts."""
    runs = play(ProgressFair(), lambda n: (phases[n % 2], COMPUTE, COMPUTE), 3, 24)
    part = CORES / 3
    assert max(run.sharing[0].cores for run in runs) <= part * (3 - 2 * 0.25) + 1e-9
    assert min(s.cores for run in runs for s in run.sharing[1:]) >= part * 0.25 - 1e-9


def test_hiding_ones_counters_gives_the_entitled_part_and_no_more() -> None:
    policy = ProgressFair()
    runs = play(policy, always(STREAM, COMPUTE, COMPUTE), 3, 6)
    hidden = dataclasses.replace(
        view(3, runs[-1], policy.decide(view(3, None, policy.initial())).memory),
        sharing=((None,), *((each,) for each in runs[-1].sharing[1:])),
    )
    assert policy.decide(hidden).shares[0, 0] <= CORES / 3 + 1e-9


@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.5, 8), st.floats(1, 16)), min_size=2, max_size=6),
)
@example([(1.0, 1.0, 1.0), *[(0.5, 1.0, 1.0 + 2**-52)] * 2, (0.03125, 1.0, 12.0)])
def test_levels_are_level_and_use_what_helps(tenants: list[tuple[float, float, float]]) -> None:
    curves = [linear_curve(progress, cores, CORES, most) for progress, cores, most in tenants]
    least = [0.1] * len(curves)
    shares = equalize_progress(curves, [1.0] * len(curves), least, CORES)
    assert shares.sum() <= CORES + 1e-6
    reached = [curve.at(share) for curve, share in zip(curves, shares, strict=True)]
    ahead = max((at for share, at in zip(shares, reached, strict=True) if share > 0.1 + 1e-9), default=0.0)
    for curve, at in zip(curves, reached, strict=True):
        assert at >= min(ahead, curve.by_cores[-1]) - 1e-6, "behind, and more cores would help it"
    if shares.sum() < CORES - 1e-6:
        assert all(at >= c.by_cores[-1] - 1e-9 for c, at in zip(curves, reached, strict=True)), "idle and useful"


BENT = st.lists(st.floats(0, 0.3), min_size=CORES, max_size=CORES).map(
    lambda rises: ProgressCurve(0.5, (0.0, *(min(reached, 1.0) for reached in itertools.accumulate(rises))))
)


@given(st.lists(st.tuples(BENT, st.sampled_from([0.3, 1.0, 1.0, 2.0])), min_size=1, max_size=6), st.floats(0, 1))
def test_levels_are_those_that_halving_comes_to(tenants: list[tuple[ProgressCurve, float]], part: float) -> None:
    """The highest level, by weight, that needs no more cores than there are; curves may be flat for a while."""
    curves, weights = [curve for curve, _ in tenants], [weight for _, weight in tenants]
    least = [part * CORES * weight / sum(weights) for weight in weights]

    def asked(level: float) -> list[float]:
        each = zip(curves, weights, least, strict=True)
        return [max(cores_for(curve, level * weight), floor) for curve, weight, floor in each]

    low, high = 0.0, max(curve.by_cores[-1] / weight for curve, weight in zip(curves, weights, strict=True)) + 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(asked(middle)) <= CORES else (low, middle)
    shares, wanted = equalize_progress(curves, weights, least, CORES), asked(low)
    for curve, weight, share, want in zip(curves, weights, shares, wanted, strict=True):
        assert curve.at(float(share)) / weight == pytest.approx(curve.at(want) / weight, abs=1e-7)
    assert shares.sum() <= CORES + 1e-9


def test_cores_for_a_progress_is_the_curve_read_backwards() -> None:
    curve = ProgressCurve(0.4, (0.0, 0.2, 0.6, 0.8, 0.8))
    for progress in (0.0, 0.1, 0.2, 0.5, 0.7, 0.8):
        assert curve.at(cores_for(curve, progress)) == pytest.approx(progress)
    assert cores_for(curve, 0.9) == 3, "more brings nothing"


@given(st.lists(st.floats(0, 5), min_size=1, max_size=6))
def test_whole_cores_fit_and_leave_nobody_out(shares: list[float]) -> None:
    total = sum(shares)
    scaled = np.array(shares) * (CORES / total if total > CORES else 1.0)
    given_cores = whole_cores(scaled, CORES, [True] * len(shares))
    assert given_cores.sum() <= CORES
    assert (given_cores >= 1).all()
    assert (given_cores == np.round(given_cores)).all()


def dealt(curves: Sequence[ProgressCurve | None], has: list[float], start: list[float], step: float) -> list[float]:
    """Piece by piece to whom it brings most, then to whom most is lacking; everything asked again for every piece."""

    def brings(row: int, piece: float) -> tuple[float, float]:
        curve = curves[row]
        more = 0.0 if curve is None else curve.at(has[row] + piece) - curve.at(has[row])
        return more, (start[row] - has[row]) / start[row]

    while (left := CORES - sum(has)) > 1e-9:
        piece = min(step, left)
        has[max(range(1, len(has)), key=lambda row: brings(row, piece))] += piece
    return has


@given(st.lists(st.one_of(BENT, st.none()), min_size=1, max_size=5), st.booleans(), st.floats(0.05, 0.95))
def test_the_rest_goes_where_each_piece_brings_most(
    others: list[ProgressCurve | None], whole: bool, target: float
) -> None:
    """Beside one tenant with a promise, of whom nothing was counted: it keeps what it is entitled to."""
    curves, start = (None, *others), np.full(len(others) + 1, CORES / (len(others) + 1))
    policy = ProgressQos(whole=whole)
    shares = policy._moved(curves, {0: target}, start, start, CORES)
    has = [float(start[0]), *(0.25 * start[1:]).tolist()]
    assert shares.tolist() == pytest.approx(dealt(curves, has, start.tolist(), 1.0 if whole else 0.25), abs=1e-9)


ANY = st.builds(
    KernelBehaviour,
    *(st.floats(0.02, 1), st.floats(0, 0.3), st.floats(0, 1)),
)
POLICY_NAMES = [name for name in POLICIES if (traits := POLICIES[name]().traits).by_progress and traits.kept]


@pytest.mark.parametrize("name", POLICY_NAMES)
@given(
    tenants=st.lists(
        st.tuples(ANY, st.sampled_from([0.01, 1.0, 1.0, 50.0]), st.sampled_from([0.0, 0.02, 0.3, 0.8]), st.booleans()),
        min_size=1,
        max_size=9,
    )
)
@example([(STREAM, 1.0, 0.8, True), (COMPUTE, 1.0, 0.02, True), (STREAM, 1.0, 0.3, True)])
@example([(STREAM, 1.0, 0.8, False), (COMPUTE, 1.0, 0.02, True), (STREAM, 1.0, 0.0, False), (STREAM, 1.0, 0.0, True)])
@settings(max_examples=40, deadline=None)
def test_whatever_is_counted_and_promised_a_cluster_is_shared_and_a_quarter_kept(
    name: str, tenants: list[tuple[KernelBehaviour, float, float, bool]]
) -> None:
    """Of any kernels, weights and promises; some tenants cannot use the cluster."""
    kernels, weights, promised, able = (list(each) for each in zip(*tenants, strict=True))
    policy, count = POLICIES[name](), len(tenants)
    entitled = np.where(able, weights, 0.0)
    entitled = entitled / max(float(entitled.sum()), 1e-9) * CORES
    memory, run = policy.initial(), None
    for _ in range(4):
        here = view(count, run, memory, tuple(promised))
        usable = dataclasses.replace(here.present, throughput=np.array(able, np.float64)[:, None])
        decision = policy.decide(dataclasses.replace(here, weights=np.array(weights), present=usable))
        memory, shares = decision.memory, decision.shares[:, 0]
        assert shares.sum() <= CORES * (1 + 1e-9)
        assert (shares >= 0.25 * entitled - 1e-9).all(), "the least part"
        assert not shares[~np.array(able)].any(), "nothing to who cannot use it"
        run = share_cluster(kernels, [float(each) for each in shares], MACHINE, LAW)


ADA = {"ada": 0.6}


def promised_among(
    policy: PricePolicy,
    tenants: Callable[[int], dict[str, tuple[KernelBehaviour, str]]],
    length: int,
    promises: Callable[[int], dict[str, float]] = lambda _: ADA,
    told: Callable[[int, str, SharedRunCounters], SharedRunCounters] = lambda _, name, counted: counted,
) -> list[dict[str, float]]:
    """Progress of those there, epoch by epoch; what is counted of each is as `told` makes it."""
    memory, found = policy.initial(), list[dict[str, float]]()
    before, run = tuple[str, ...](), None
    for number in range(length):
        there = tenants(number)
        names = tuple(sorted(there))
        here = view(len(names), None, memory, tuple(promises(number).get(name, 0.0) for name in names))
        ran: Sequence[SharedRunCounters] = () if run is None else run.sharing
        counted = {name: told(number, name, each) for name, each in zip(before, ran, strict=True)}
        decision = policy.decide(
            dataclasses.replace(
                here,
                tenants=names,
                sharing=tuple((counted.get(name),) for name in names),
                kernels=tuple((there[name][1],) for name in names),
            )
        )
        memory, shares = decision.memory, [float(each) for each in decision.shares[:, 0]]
        assert sum(shares) <= CORES * (1 + 1e-9)
        assert min(shares) >= 0.25 * CORES / len(names) - 1e-9
        run = share_cluster([there[name][0] for name in names], shares, MACHINE, LAW)
        before = names
        found.append(dict(zip(names, run.progress, strict=True)))
    return found


@pytest.mark.parametrize("name", ["hsm_qos", "eddy_slowdown_qos"])
def test_nobody_undoes_a_promise_by_changing_kernels_or_coming_and_going(name: str) -> None:
    still = {"ada": (COMPUTE, "a"), "bea": (STREAM, "b"), "eve": (SCATTER, "e")}

    def changes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return {**still, "eve": (SCATTER, f"e{number}")}

    def comes_and_goes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return still if number % 2 else {name: still[name] for name in ("ada", "bea")}

    for tenants in (lambda _: still, changes, comes_and_goes):
        runs = promised_among(POLICIES[name](), tenants, 14)
        assert min(run["ada"] for run in runs[6:]) >= 0.6


@pytest.mark.parametrize("name", ["hsm_qos", "eddy_slowdown_qos", "dase_qos", "themis_nn_qos"])
def test_who_was_promised_something_does_not_undo_a_promise_to_somebody_else(name: str) -> None:
    """By kernels of another name each epoch, coming and going, asking for more and less, or counters that starve."""
    still = {"ada": (COMPUTE, "a"), "bea": (COMPUTE, "b"), "eve": (COMPUTE, "e")}
    both = {"ada": 0.4, "eve": 0.45}

    def changes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return {**still, "eve": (COMPUTE, f"e{number}")}

    def comes_and_goes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return still if number % 2 else {name: still[name] for name in ("ada", "bea")}

    def asks(number: int) -> dict[str, float]:
        return {"ada": 0.4, **([{"eve": 0.45}, {"eve": 0.3}, {}][number % 3])}

    def starves(_: int, name: str, counted: SharedRunCounters) -> SharedRunCounters:
        if name != "eve":
            return counted
        few = counted.instructions / 1000
        return dataclasses.replace(
            counted, instructions=few, requests=few, row_hits=few, memory_stall_cycles=counted.cores * counted.cycles
        )

    for tenants, promises in ((changes, lambda _: both), (comes_and_goes, lambda _: both), (lambda _: still, asks)):
        for told in (lambda _, name, counted: counted, starves):
            runs = promised_among(POLICIES[name](), tenants, 16, promises, told)
            assert min(run["ada"] for run in runs[7:]) >= 0.4 - 1e-9


@pytest.mark.parametrize("name", ["hsm_fair", "eddy_slowdown_fair"])
def test_nobody_ends_fairness_among_others_by_changing_kernels_or_coming_and_going(name: str) -> None:
    """Who does has its entitled part and no more."""
    still = {"ada": (COMPUTE, "a"), "bea": (STREAM, "b"), "eve": (COMPUTE, "e")}

    def changes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return {**still, "eve": (COMPUTE, f"e{number}")}

    def comes_and_goes(number: int) -> dict[str, tuple[KernelBehaviour, str]]:
        return still if number % 2 else {name: still[name] for name in ("ada", "bea")}

    honest = promised_among(POLICIES[name](), lambda _: still, 12, lambda _: {})
    assert fairness([honest[0][who] for who in ("ada", "bea")]) < 0.6
    for tenants in (lambda _: still, changes, comes_and_goes):
        runs = promised_among(POLICIES[name](), tenants, 14, lambda _: {})
        assert min(fairness([run[who] for who in ("ada", "bea")]) for run in runs[8:]) >= 0.7
        assert max(run.get("eve", 0.0) for run in runs[8:]) <= max(1 / 3, honest[-1]["eve"]) + 1e-9


def test_a_promise_that_ended_leaves_entitled_parts() -> None:
    still = {"ada": (COMPUTE, "a"), "bea": (COMPUTE, "b"), "eve": (COMPUTE, "e")}
    runs = promised_among(ProgressQos(), lambda _: still, 8, lambda number: ADA if number < 7 else {})
    assert runs[6]["ada"] >= 0.6
    assert runs[7] == pytest.approx(dict.fromkeys(still, 1 / 3))


def test_kernels_of_ones_own_start_even() -> None:
    """What was counted of another kernel says nothing of this one."""
    runs = promised_among(ProgressQos(), lambda n: {"ada": (COMPUTE, f"a{n // 7}"), "bea": (STREAM, "b")}, 8)
    assert runs[6]["ada"] >= 0.6
    assert runs[7]["ada"] == pytest.approx(runs[0]["ada"])


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_who_can_use_a_cluster_from_now_on_has_a_part_of_it_and_who_no_longer_can_has_none(name: str) -> None:
    policy, names, memory = POLICIES[name](), ("ada", "bea", "eve"), None
    run: SharedRun | None = None
    for able in ([1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]):
        here = view(len(names), run, policy.initial() if memory is None else memory, (0.3, 0.0, 0.0))
        usable = dataclasses.replace(here.present, throughput=np.array(able, np.float64)[:, None])
        decision = policy.decide(dataclasses.replace(here, present=usable))
        memory, shares = decision.memory, decision.shares[:, 0]
        assert [share > 0 for share in shares] == [each > 0 for each in able]
        assert min(shares[np.array(able) > 0]) >= 0.25 * CORES / 2 - 1e-9
        run = share_cluster([COMPUTE, COMPUTE, COMPUTE], [float(each) for each in shares], MACHINE, LAW)
