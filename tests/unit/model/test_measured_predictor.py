# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress of kernels that were seen alone: counted in work-groups, remembered, and the model's curve through it."""

from __future__ import annotations

import pytest
from eddy.hypervisor.cores.core_accounts import CoreAccount, Slice, note_corunners
from eddy.hypervisor.cores.epoch_totals import EpochWork
from eddy.hypervisor.cores.learned_kernels import ALONE_KEPT_S, ALONE_SLICES, SoloRuns
from eddy.model.eddy_slowdown import EddySlowdown
from eddy.model.measured_predictor import MeasuredPredictor, measure_progress
from eddy.model.progress import ClusterEpoch, HsmPredictor, ProgressPredictor
from eddy.model.slowdown import ClusterParameters, MemoryLaw, SharedRunCounters
from eddy_studies.progress_market.contention import KernelBehaviour, share_cluster

MACHINE = ClusterParameters(8, 1.0, 100e6, 64)
LAW = MemoryLaw(0.5, 0.3, 800e6)
KERNELS = (KernelBehaviour(0.8, 0.001, 0.5), KernelBehaviour(0.3, 0.1, 0.8))


def epoch(*alone_cycles: float) -> ClusterEpoch:
    """Two kernels on four cores each, of which so much is known."""
    shared = share_cluster(KERNELS, [4, 4], MACHINE, LAW).sharing
    fields = [{name: getattr(each, name) for name in SharedRunCounters.__dataclass_fields__} for each in shared]
    known = [SharedRunCounters(**{**each, "alone_cycles": a}) for each, a in zip(fields, alone_cycles, strict=True)]
    return ClusterEpoch(MACHINE, LAW, tuple(known))


@pytest.mark.parametrize("model", [HsmPredictor(), EddySlowdown()])
def test_who_was_never_alone_is_left_to_the_model(model: ProgressPredictor) -> None:
    assert MeasuredPredictor(model).predict(epoch(0.0, 0.0)) == model.predict(epoch(0.0, 0.0))
    assert MeasuredPredictor(model).name == model.name


@pytest.mark.parametrize("model", [HsmPredictor(), EddySlowdown()])
@pytest.mark.parametrize("progress", [0.1, 0.37, 0.9])
def test_the_curve_of_who_was_goes_through_what_was_measured(model: ProgressPredictor, progress: float) -> None:
    known = epoch(progress * 100_000, 0.0)
    first, second = MeasuredPredictor(model).predict(known)
    assert first is not None
    assert first.progress == pytest.approx(progress)
    assert first.at(4) == pytest.approx(progress)
    assert list(first.by_cores) == sorted(first.by_cores)
    assert (first.by_cores[0], max(first.by_cores) <= 1) == (0.0, True)
    assert second == model.predict(known)[1], "nobody else's changes"


def test_nobody_is_faster_than_alone_and_counters_are_not_needed() -> None:
    assert measure_progress(SharedRunCounters(100.0, 2.0, 0.0, 0.0, 0.0, alone_cycles=130.0)) == 1.0
    assert measure_progress(SharedRunCounters(100.0, 2.0, 0.0, 0.0, 0.0)) is None
    bare = ClusterEpoch(MACHINE, LAW, (SharedRunCounters(100.0, 2.0, 0.0, 0.0, 0.0, alone_cycles=25.0), None))
    curve, nobody = MeasuredPredictor(HsmPredictor()).predict(bare)
    assert nobody is None
    assert curve is not None
    assert (curve.progress, curve.at(4)) == pytest.approx((0.25, 0.5))


def begun(account: CoreAccount, core: int, job: int) -> Slice:
    """A slice of one of two kernels: jobs of even number run one, those of odd number the other."""
    started = Slice(job, f"tenant{job % 2}", core, 0, f"{job}.{core}", 0, 1, 0.0, kernel=f"k{job % 2}")
    account.start(started)
    return started


def test_slices_of_another_kernel_or_on_another_cluster_are_company() -> None:
    here, there = CoreAccount([None] * 4), CoreAccount([None] * 4)
    both = (here, there)
    first, second = begun(here, 0, 1), begun(here, 1, 3)
    note_corunners(second, here, both)
    assert (first.alone, second.alone) == (True, True), "the next job of the same kernel fills the cores of the last"
    other = begun(here, 2, 2)
    note_corunners(other, here, both)
    assert (first.alone, second.alone, other.alone) == (False, False, False)
    here.cores[:] = [None] * 4
    first, away = begun(here, 0, 1), begun(there, 0, 1)
    note_corunners(away, there, both)
    assert (first.alone, away.alone) == (False, False), "two clusters share the memory"


def test_speed_alone_is_by_time_that_passes_and_known_after_some_slices() -> None:
    known = SoloRuns()
    for number in range(ALONE_SLICES):
        assert known.group_s is None, number
        known.add_solo_slice(100, 4e-3, 4.0)
    assert known.group_s == pytest.approx(1e-5), "four cores, each 4 ms for a hundred"


def test_speed_alone_is_forgotten_after_long_company_only() -> None:
    known = SoloRuns()
    for _ in range(10):
        known.add_solo_slice(100, 1e-3, 4.0)
    known.add_shared_slice(ALONE_KEPT_S * 0.9)
    assert known.group_s is not None
    known.add_solo_slice(100, 1e-3, 4.0)
    known.add_shared_slice(ALONE_KEPT_S * 0.9)
    assert known.group_s is not None, "it was alone again"
    known.add_shared_slice(ALONE_KEPT_S * 0.2)
    assert known.group_s is None


def test_work_of_an_epoch_counts_slices_that_run_at_the_pace_of_those_that_ended() -> None:
    work = EpochWork()
    work.add_slice("ada", 1, 100, 0.02, 1e-4)
    assert work.done_s("ada", 1, 0.02) == pytest.approx(0.01)
    assert work.done_s("ada", 1, 0.03) == pytest.approx(0.015)
    assert work.done_s("ada", 2, 0.03) == 0.0
    assert work.done_s("grace", 1, 0.03) == 0.0
    work.add_slice("ada", 1, 7, 0.01, None)
    assert work.done_s("ada", 1, 0.03) == pytest.approx(0.015), "a third of it was never seen alone"
    work.add_slice("ada", 1, 7, 0.02, None)
    assert work.done_s("ada", 1, 0.05) == 0.0, "most of it was not"
    work.clear()
    assert work.done_s("ada", 1, 0.03) == 0.0
