# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""User sets of [000] on the hypervisor itself, over the model of `de10pro`: what is found, promised and delivered."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.board.port.profile import load_profile
from eddy.model.parallel_fraction import Activity
from eddy.packages.catalogue import load_catalogue
from eddy.policy.price import POLICIES
from eddy_studies.vayalapra.clusters import CONFIGURATIONS
from eddy_studies.vayalapra.live import CLUSTERS, MODULES, USERS, Live, counters_of, module_of
from eddy_studies.vayalapra.users import USER_SETS, WEIGHTS, speedups, throughput
from unit.gpu_kit import compiler

QUANTUM_S = 10e-3


def test_the_profile_names_table_5_3_and_its_modules_are_those_clusters() -> None:
    held = load_profile("de10pro").configurations
    assert {name: list(modules.values()) for name, modules in held.items()} == {
        name: [module_of(cluster) for cluster in clusters] for name, clusters in CONFIGURATIONS.items()
    }
    modules = load_catalogue(MODULES).modules
    assert set(modules) == set(CLUSTERS)
    for name, manifest in modules.items():
        shape, given = CLUSTERS[name].shape, {key: int(value) for key, value in manifest.parameters}
        assert given == {"Cores": shape.cores, "Warps": shape.warps, "Threads": shape.threads, "Fpu": int(shape.fpu)}
        assert manifest.clk_hz == CLUSTERS[name].mhz * 1e6


def test_a_work_group_is_the_same_work_on_every_cluster() -> None:
    live = Live("2", POLICIES["entitlement"](), "CFG2", groups=600, compiler=compiler())
    for job in live.engine.machine.jobs.values():
        assert job.spec.spread is not None
        assert {variant.groups for variant in job.spec.spread.variants.values()} == {600}


def test_nobody_of_user_set_3_gets_less_than_its_entitlement_where_clusters_differ_most() -> None:
    """All run the same kernel: what the policy knows of clusters' speeds and F is what their cores measured, alone."""
    live = Live("3", POLICIES["entitlement"](), "CFG3", (), QUANTUM_S, groups=3000, compiler=compiler())
    live.until(0.4)
    live.engine.intake.switch_price(POLICIES["market"]())
    live.until(0.6)
    part = np.array(WEIGHTS) / sum(WEIGHTS)
    fair = np.zeros(len(WEIGHTS))
    for (workload,) in {each[:1] for each in USER_SETS["3"]}:
        for cluster in CONFIGURATIONS["CFG3"]:
            gains = speedups(workload, cluster)
            fair += throughput(workload, cluster) * np.interp(part * cluster.cores, range(len(gains)), gains)
    assert (live.window(0.8).speedup / fair).min() > 0.97


def test_two_workloads_of_a_user_get_on_alike_and_nobody_gets_less_than_its_entitlement() -> None:
    """User 2 of set 2 gains nothing by trade on CFG3, and one of its kernels takes 40 times as long as the other."""
    found = {}
    for policy in ("entitlement", "market"):
        live = Live("2", POLICIES["entitlement"](), "CFG3", (), 2 * QUANTUM_S, compiler=compiler())
        live.until(0.3)
        live.engine.intake.switch_price(POLICIES[policy]())
        live.until(0.5)
        found[policy] = live.window(2.0)
    for window in found.values():
        for user, pair in enumerate(map(set, USER_SETS["2"])):
            done = [window.done[USERS[user], workload] for workload in pair]
            assert max(done) < 1.25 * min(done), "only kernels under way are of one and not yet of the other"
    assert (found["market"].speedup / found["entitlement"].speedup).min() > 0.98


@pytest.mark.parametrize(("parallel", "lanes"), [(0.9, 4), (0.25, 2), (0.99, 8), (1.0, 4), (0.0, 8)])
def test_counters_say_the_fraction_they_are_made_for(parallel: float, lanes: int) -> None:
    counted = counters_of(parallel, lanes, 1_000_000)
    assert sum(counted.cycle_thread) == counted.total_active_cycles
    assert Activity((counted.cycle_thread,)).fraction == pytest.approx(parallel, abs=1e-4)


def test_user_set_1_finds_its_configuration_and_who_needs_no_fpu_leaves_them_to_others() -> None:
    live = Live("1", POLICIES["entitlement"](), "CFG3", tuple(CONFIGURATIONS), QUANTUM_S, 0.1, 1500, compiler())
    live.until(0.3)
    assert live.configuration == "CFG3"
    live.engine.intake.switch_price(POLICIES["market"]())
    while live.configuration != "CFG2":
        live.until(live.engine.now_s + 0.1)
        assert live.engine.now_s < 4
    live.until(live.engine.now_s + 0.1)
    window = live.window(0.5)
    assert live.configuration == "CFG2", "it stays there"
    assert window.had[0, :2] == pytest.approx([0, 0], abs=0.02)
    assert window.had[1:, :2].sum() == pytest.approx(4, rel=0.02)
    assert np.abs(window.off).max() < 0.04
    assert window.busy == pytest.approx(1, abs=0.02)
    assert window.price[:2].min() > 3 * window.price[2:].max()
