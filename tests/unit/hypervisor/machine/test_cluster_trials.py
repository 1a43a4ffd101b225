# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel is measured on every kind of cluster, whatever was guessed of it there; on the model of `de10pro`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.hypervisor.clusters.cluster_trials import ClusterTrials
from eddy.hypervisor.clusters.kernel_queues import KernelQueues
from eddy.hypervisor.cores import tenant_estimates
from eddy.hypervisor.cores.epoch_totals import SliceMeasurement
from eddy.hypervisor.jobs.job import Job
from eddy.policy.price import POLICIES, kernel_places
from eddy.policy.price.view import Floats
from eddy_studies.vayalapra import live as studied
from eddy_studies.vayalapra.clusters import Cluster
from eddy_studies.vayalapra.live import Live
from eddy_studies.vayalapra.users import throughput
from unit.gpu_kit import compiler
from unit.hypervisor.cores.test_market_reach import WORK, made

QUANTUM_S = 10e-3


def fast_without_unit(workload: str, on: Cluster) -> float:
    """A board on which k-means is three times as fast without a unit for floating point, which nobody would guess."""
    return 3.0 if workload == "k-means" and not on.fpu else throughput(workload, on)


def settled(guess: float, monkeypatch: pytest.MonkeyPatch) -> tuple[Live, Floats]:
    """User set 1 on CFG1 under the market from the start, with this guess; what users had after 0.8 s."""
    monkeypatch.setattr(studied, "throughput", fast_without_unit)
    monkeypatch.setattr(tenant_estimates, "SOFT_FLOAT", guess)
    live = Live("1", POLICIES["market"](), "CFG1", (), QUANTUM_S, groups=3000, compiler=compiler())
    live.until(0.8)
    return live, live.window(0.5).had


@pytest.fixture(scope="module")
def tried() -> tuple[Live, Floats]:
    """With the low guess; a run takes seconds, so that its tests share it."""
    with pytest.MonkeyPatch.context() as patched:
        return settled(0.001, patched)


SHARED = pytest.mark.xdist_group("cluster trials")


@SHARED
def test_after_the_trial_the_guess_matters_no_more(tried: tuple[Live, Floats], monkeypatch: pytest.MonkeyPatch) -> None:
    _, low = tried
    _, high = settled(1.0, monkeypatch)
    assert low[1, 2:].sum() > 4, "the fast clusters are found, though they were taken for slow ones"
    assert low == pytest.approx(high, abs=0.25)


def test_without_trials_the_guess_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_places, "TRIAL_PART", 0.0)
    _, low = settled(0.001, monkeypatch)
    assert low[1, 2:].sum() < 0.1


@SHARED
def test_trials_are_few_and_their_kernels_go_on(tried: tuple[Live, Floats]) -> None:
    live, _ = tried
    trials = {
        user: [event.job for event in live.store.events.list_events(user, None) if event.what is JobEventKind.RECOVERED]
        for user in studied.USERS
    }
    assert 1 <= max(map(len, trials.values())) <= 2, "of three kinds, one is where a tenant's only kernel ran first"
    for user, jobs in trials.items():
        ended = {live.store.jobs.get(user, job).state for job in jobs}
        assert ended <= {JobState.SUCCEEDED, JobState.RUNNING, JobState.QUEUED}
        assert all(live.loop.estimates.is_measured(user, status.module) for status in live.engine.status)


class Queues:
    """No kernels, or one on trial."""

    trial_kernels = False

    def has_trial(self, tenant: str) -> bool:
        return self.trial_kernels


def test_a_trial_begins_only_where_it_can_tell_something_and_is_cheap() -> None:
    loop, slots = made()
    queues = Queues()
    trials = ClusterTrials(loop, cast(KernelQueues, queues))
    job = cast(Job, SimpleNamespace(spec=SimpleNamespace(tenant="a", spread=WORK, kept=True)))
    loop.accounts[1].delivered_s["a"] = 0.5
    assert trials.place(job, slots) is None, "not before something was measured: all is a guess"
    loop.record_slice("a", WORK, SliceMeasurement(1, "small", 10, 1e-3))
    assert trials.place(job, slots) is slots[1]
    queues.trial_kernels = True
    assert trials.place(job, slots) is None, "one at a time"
    queues.trial_kernels = False
    trials.record_trial("a", 0.005)
    assert trials.place(job, slots) is None, "a hundredth of what it had was spent"
    loop.accounts[2].delivered_s["a"] = 0.1
    assert trials.place(job, slots) is slots[1]
    loop.record_slice("a", WORK, SliceMeasurement(2, "large", 10, 1e-3))
    assert trials.place(job, slots) is None, "nothing is unknown"


def test_what_a_tenant_had_long_ago_does_not_pay_for_one_trial_after_another() -> None:
    loop, slots = made()
    trials = ClusterTrials(loop, cast(KernelQueues, Queues()))
    job = cast(Job, SimpleNamespace(spec=SimpleNamespace(tenant="a", spread=WORK, kept=True)))
    loop.record_slice("a", WORK, SliceMeasurement(1, "small", 10, 1e-3))
    loop.accounts[1].delivered_s["a"] = 1e6
    quantum_s, took_s = loop.settings.quantum_s, 0.0
    while took_s < 1.0 and trials.place(job, slots) is not None:
        trials.record_trial("a", quantum_s)
        took_s += quantum_s
    assert took_s == pytest.approx(kernel_places.SAVED_QUANTA * quantum_s)
    loop.accounts[1].delivered_s["a"] += 2 * quantum_s / kernel_places.TRIAL_PART
    assert trials.place(job, slots) is slots[1], "what it has from now on does"
    trials.record_trial("a", 0.5)
    loop.accounts[1].delivered_s["a"] += 0.4 / kernel_places.TRIAL_PART
    assert trials.place(job, slots) is None, "a work-group that took half a second is paid for first"
