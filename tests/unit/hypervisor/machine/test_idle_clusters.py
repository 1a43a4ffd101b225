# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No cluster stands idle while a kernel that could run there waits for a core of another; on the model of `de10pro`."""

from __future__ import annotations

import pytest
from eddy.core.jobs import JobState
from eddy.core.projects import equal_weights
from eddy.core.records import JobEventKind
from eddy.policy.price import POLICIES
from eddy_studies.vayalapra.live import Live, _request
from unit.gpu_kit import compiler

HEAVY, LIGHT = "user1", "user2"
KERNEL = "resnet50"


class Few(Live):
    """The engine with the kernels it is given, and no more; one tenant has next to no weight."""

    def __init__(self, price: str) -> None:
        super().__init__("3", POLICIES[price](), "CFG2", (), compiler=compiler())
        weights = {HEAVY: 1.0, LIGHT: 1e-6}
        self.loop.weights_of = lambda tenants: {tenant: weights[tenant] for tenant in tenants}

    def _top_up(self) -> None:
        self.engine.step()

    def submit(self, user: str, groups: int) -> int:
        job = self.engine.intake.accept(_request(self.store, user, KERNEL, groups)).id
        self._owner[str(job)] = user
        self.engine.step()
        return job

    def home(self, job: int) -> int:
        clusters = self.engine.machine.clusters
        assert clusters is not None
        return clusters.queues.progress[job].slot

    def had(self, user: str, slot: int) -> float:
        return self.loop.accounts[slot].delivered_s.get(user, 0.0)

    @property
    def busy(self) -> int:
        return sum(len(account.running) for account in self.loop.accounts.values())

    def until_ended(self, job: int) -> float:
        """Go on until a kernel has ended; answers the board time."""
        while job in self.engine.machine.jobs:
            self.until(self.engine.now_s + 1e-3)
        return self.engine.now_s


BESIDE = (400_000, 20_000, 400_000, 400_000)
"""Work-groups of the heavy tenant's kernels, one on each cluster; the second ends first."""


@pytest.mark.parametrize("price", ["market", "entitlement"])
def test_a_kernel_that_waits_goes_to_a_cluster_that_falls_idle(price: str) -> None:
    live = Few(price)
    _, short, *_ = (live.submit(HEAVY, groups) for groups in BESIDE)
    live.until(0.35)
    idle = live.home(short)
    light = live.submit(LIGHT, 20_000)
    home = live.home(light)
    assert home != idle
    assert live.busy == 16
    ended_s, epoch_s = live.until_ended(short), live.loop.settings.epoch_s
    live.until(ended_s + 2 * epoch_s)
    assert live.home(light) == idle
    assert live.busy == 16
    whole, before = epoch_s * len(live.loop.accounts[idle].cores), live.had(LIGHT, idle)
    live.until(live.engine.now_s + epoch_s)
    assert live.had(LIGHT, idle) - before == pytest.approx(whole, rel=0.15), "all of it, up to slices under way"
    live.until_ended(light)
    record = live.store.jobs.get(LIGHT, light)
    assert record.state is JobState.SUCCEEDED
    assert live.had(LIGHT, home) < 2 * live.loop.settings.quantum_s, "what was done twice is next to nothing"


def test_a_kernel_that_gets_its_part_stays_where_it_is() -> None:
    live = Few("entitlement")
    live.loop.weights_of = equal_weights
    _, short, *_ = (live.submit(HEAVY, groups) for groups in BESIDE)
    live.until(0.35)
    light = live.submit(LIGHT, 100_000)
    home = live.home(light)
    assert home != live.home(short)
    live.until(live.until_ended(short) + 3 * live.loop.settings.epoch_s)
    assert live.home(light) == home
    assert live.had(LIGHT, home) > 0
    what = [event.what for event in live.store.events.list_events(LIGHT, light)]
    assert JobEventKind.RECOVERED not in what


def test_no_kernel_goes_to_a_cluster_that_could_not_be_loaded() -> None:
    live = Few("market")
    _, short, *_ = (live.submit(HEAVY, groups) for groups in BESIDE)
    live.until(0.35)
    idle, light = live.home(short), live.submit(LIGHT, 20_000)
    home = live.home(light)
    live.engine.machine.state.slots[idle].failed_loads = 1
    live.until(live.until_ended(short) + 3 * live.loop.settings.epoch_s)
    assert live.home(light) == home != idle
