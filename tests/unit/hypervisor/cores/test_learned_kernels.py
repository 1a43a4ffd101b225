# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What slices say of a kernel: its speed on one core alone, and F from how it slows with its tenant's cores."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.counters import CoreCounters
from eddy.hypervisor.cores.core_accounts import CoreAccount, Slice
from eddy.hypervisor.cores.learned_kernels import KNOWN, LearnedKernel, LearnedKernels
from eddy.hypervisor.cores.tenant_estimates import MAX_SPEED, ClusterKind, TenantEstimates
from eddy.hypervisor.jobs.messages import CorePartition, KernelVariant
from hypervisor_kit import CHAIN

KINDS = {"fast": ClusterKind(8, 4, 1e8), "slow": ClusterKind(4, 4, 1e8)}


def ran(known: LearnedKernel, cores: list[float], fraction: float, group_s: float = 1e-5) -> LearnedKernel:
    """Slices of 100 work-groups, each on one of so many cores of its tenant, as (3.2) says they go."""
    for k in cores:
        known.add_slice(100, 100 * group_s * (k * (1 - fraction) + fraction), None, 1e-3, k)
    return known


@pytest.mark.parametrize("fraction", [0.2, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("counted", [0.1, 0.8, 1.0])
def test_how_slices_slow_with_the_tenants_cores_outweighs_what_was_counted(fraction: float, counted: float) -> None:
    known = ran(LearnedKernel(), [1.0, 2.5, 4.0] * 1000, fraction)
    assert known.fit_fraction(counted) == pytest.approx(fraction, abs=0.03)
    assert known.alone_s(known.fit_fraction(counted)) == pytest.approx(1e-5, rel=0.03)


@pytest.mark.parametrize("cores", [1.0, 3.0, 7.5])
def test_without_a_difference_in_cores_f_is_what_was_counted_and_the_speed_is_that_of_one_core(cores: float) -> None:
    known = ran(LearnedKernel(), [cores] * 200, 0.6)
    assert known.fit_fraction(0.6) == pytest.approx(0.6)
    assert known.alone_s(0.6) == pytest.approx(1e-5)
    assert known.group_s == pytest.approx(1e-5 * (cores * 0.4 + 0.6)), "what its slices cost is another question"


def test_a_fit_stays_a_fraction_whatever_slices_did() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        known = LearnedKernel()
        for _ in range(int(random.integers(1, 30))):
            cores = float(random.choice([1.0, random.uniform(1, 8)]))
            known.add_slice(int(random.integers(1, 500)), float(10 ** random.uniform(-9, 0)), None, 1e-3, cores)
        fraction = known.fit_fraction(float(random.uniform(0, 1)))
        assert 1e-3 <= fraction <= 1
        alone_s, group_s = known.alone_s(fraction), known.group_s
        assert alone_s is not None
        assert group_s is not None
        assert 0 < alone_s <= group_s * (1 + 1e-12)
    assert LearnedKernel().fit_fraction(0.8) == 0.8
    assert LearnedKernel().alone_s(0.8) is None


def test_cores_beside_a_slice_are_those_its_tenant_had_while_it_ran() -> None:
    account = CoreAccount([None] * 4)

    def starts(tenant: str, core: int, at_s: float) -> None:
        account.start(Slice(1, tenant, core, 0, f"{tenant}{core}{at_s}", 0, 1, at_s))

    def ends(core: int, took_s: float) -> float:
        beside = account.average_cores(core, took_s)
        account.finish_slice(core, took_s, {}, {})
        return beside

    starts("a", 0, 0.0)
    starts("a", 1, 0.0)
    starts("b", 2, 0.0)
    assert ends(1, 1.0) == pytest.approx(2)
    starts("a", 1, 3.0)
    assert ends(0, 4.0) == pytest.approx((2 * 1 + 1 * 2 + 2 * 1) / 4)
    assert ends(2, 4.0) == pytest.approx(1), "other tenants' cores are not its own"
    assert ends(1, 0.0) == 1.0


def test_a_tenant_with_two_kernels_gets_on_as_all_their_work_over_all_their_time() -> None:
    """One runs as fast on both kinds of cluster, the other a quarter as fast on the slow one; half of the work each."""
    estimates = TenantEstimates(KINDS)
    variants = {name: KernelVariant(CHAIN, 100, 4) for name in KINDS}
    even, uneven = CorePartition("even", variants), CorePartition("uneven", variants)
    for _ in range(50):
        estimates.arrived("a", even)
        estimates.arrived("a", uneven)
    lanes = CoreCounters(100, 100, 100, (0, 0, 0, 100)), CoreCounters(100, 100, 100, (100, 0, 0, 0))
    for spread, slow_s, counters in ((even, 1e-3, lanes[0]), (uneven, 4e-3, lanes[1])):
        for _ in range(50):
            estimates.learned.get_or_add("a", spread.kernel, "fast").add_slice(100, 1e-3, counters, 1e-3)
            estimates.learned.get_or_add("a", spread.kernel, "slow").add_slice(100, slow_s, counters, 1e-3)
    assert estimates.throughput("a", "fast") == pytest.approx(1.0)
    assert estimates.throughput("a", "slow") == pytest.approx(2 / (1 + 4), rel=0.02), "not (1 + 1/4) / 2"
    # F by the time each takes: one is wholly parallel, the other not at all.
    assert estimates.fraction("a", "fast") == pytest.approx(0.5, abs=0.02)
    assert estimates.fraction("a", "slow") == pytest.approx(0.2, abs=0.02)


def test_a_tenant_that_floods_with_kernels_forgets_its_own_and_nobody_elses() -> None:
    learned = LearnedKernels()
    others = "kernel of b"
    learned.get_or_add("b", others, "fast").add_slice(1, 1e-3, None, 1e-3)
    for number in range(KNOWN + 100):
        learned.get_or_add("a", f"kernel {number}", "fast").add_slice(1, 1e-3, None, 1e-3)
        learned.get_or_add("a", "kernel 0", "slow").add_slice(1, 1e-3, None, 1e-3)
    assert len(learned.all_kernels()) == KNOWN + 1
    assert learned.peek(others, "fast").slices == 1, "a flood takes nothing from another tenant"
    assert learned.peek("kernel 0", "slow").slices > 1, "what is used stays"
    assert learned.peek("kernel 1", "fast").group_s is None


def test_slices_that_take_no_time_give_speeds_that_can_be_used() -> None:
    estimates = TenantEstimates(KINDS)
    spread = CorePartition("at once", {name: KernelVariant(CHAIN, 1, 1) for name in KINDS})
    estimates.arrived("a", spread)
    estimates.learned.get_or_add("a", "at once", "fast").add_slice(1, 0.0, None, 1e-3)
    estimates.learned.get_or_add("a", "at once", "slow").add_slice(1, 1e6, None, 1e-3)
    found = [estimates.throughput("a", module) for module in KINDS]
    assert all(0 < each <= MAX_SPEED for each in found)
    assert found[0] > found[1]


def test_a_kernel_of_long_ago_is_no_part_of_the_mix() -> None:
    estimates = TenantEstimates(KINDS)
    variants = {name: KernelVariant(CHAIN, 100, 4) for name in KINDS}
    old, new = CorePartition("old", variants), CorePartition("new", variants)
    for spread, slow_s in ((old, 1.0), (new, 1e-3)):
        estimates.learned.get_or_add("a", spread.kernel, "fast").add_slice(100, 1e-3, None, 1e-3)
        estimates.learned.get_or_add("a", spread.kernel, "slow").add_slice(100, slow_s, None, 1e-3)
    estimates.arrived("a", old)
    for _ in range(1000):
        estimates.arrived("a", new)
    assert estimates.throughput("a", "slow") == pytest.approx(1.0)
