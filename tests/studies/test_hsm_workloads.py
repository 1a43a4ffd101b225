# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The fifteen programs of [001] Table 2: right on the RTL at small sizes, and counted exactly by tenant."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from eddy.gpu.workloads.base import WrongResult, verify
from eddy_sim.boards.dram import dram_parameters
from eddy_sim.gpu import dram_cluster
from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.dram_cluster import DramCluster, build_dram_cluster
from eddy_studies.hsm import rtl
from eddy_studies.hsm.workloads import MEMORY_BOUND, SMALL, WORKLOADS
from eddy_studies.hsm.workloads.textures import decoded

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("hsm_rtl")]

SHAPE = Shape(2, 4, 4, l2_bytes=4096)
MEMORY = replace(rtl.MEMORY, bytes=34 << 20)
L2_HITS, L2_MISSES = 0x48, 0x4C


@pytest.fixture(autouse=True, scope="module")
def _built_quickly() -> Iterator[None]:
    """All that runs here runs for less time than optimising takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dram_cluster, "build_dram_cluster", functools.partial(build_dram_cluster, optimise=False))
        yield


def once(tenants: Sequence[rtl.ClusterTenant]) -> bool:
    return all(len(tenant.marks) > 1 for tenant in tenants)


def test_there_are_the_programs_of_the_table() -> None:
    assert list(WORKLOADS) == list(SMALL)
    assert (len(WORKLOADS), len(MEMORY_BOUND)) == (15, 10)
    assert set(MEMORY_BOUND) < set(WORKLOADS)


@pytest.mark.parametrize("name", SMALL)
def test_results_are_right(name: str) -> None:
    """`run_workloads` compares what the first round leaves with numpy."""
    (played,) = rtl.run_workloads([(name, range(2))], once, shape=SHAPE, dram=MEMORY, small=True)
    whole = played.whole
    assert whole.instructions > 500
    assert 0 < whole.row_hits < whole.requests
    assert whole.requests >= whole.cache_misses > 0
    assert 0 < whole.core_cycles <= 2 * whole.cycles


@pytest.mark.parametrize("name", SMALL)
def test_references_say_something_and_inputs_have_a_seed(name: str) -> None:
    one, same, other = SMALL[name](1), SMALL[name](1), SMALL[name](2)
    for key, wanted in one.expected.items():
        assert np.isfinite(wanted).all()
        assert np.unique(wanted).size >= min(2, wanted.size)
        np.testing.assert_array_equal(wanted, same.expected[key])
    assert any(not np.array_equal(wanted, other.expected[key]) for key, wanted in one.expected.items())
    untouched = {key: one.buffers[key] for key in one.expected}
    with pytest.raises(WrongResult):
        verify(one, untouched)


def test_codes_of_textures_are_worth_the_error_that_is_told() -> None:
    made = rtl.rounds("DXTC", 2, 3, small=True)
    machine = DramCluster(SHAPE, dram_parameters(MEMORY))
    tenant = rtl.ClusterTenant(machine, 0, made, (0, 1))
    tenant.start()
    while len(tenant.marks) < 2:
        if not machine.run(1_000_000):
            tenant.idle()
    left = made.left
    told = ((decoded(left["codes"]) - left["pixels"].astype(np.float64)) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(told, left["errors"], rtol=0.02)


def test_two_tenants_are_counted_apart() -> None:
    machine = DramCluster(SHAPE, dram_parameters(MEMORY))
    works = [rtl.rounds(name, 1, small=True) for name in ("SRAD", "PVC")]
    tenants = [rtl.ClusterTenant(machine, core, work, (core,)) for core, work in enumerate(works)]
    for tenant in tenants:
        tenant.start()
    while not once(tenants):
        running = machine.run(100_000)
        for tenant in tenants:
            if not running.intersection(tenant.cores) and len(tenant.marks) < 2:
                tenant.idle()
    while machine.run(100_000):
        pass
    found = [tenant.counted() for tenant in tenants]
    assert machine.peek(L2_HITS) == sum(each.cache_hits for each in found)
    assert machine.peek(L2_MISSES) == sum(each.cache_misses for each in found)
    for number, each in enumerate(found):
        served = machine.traffic(number)
        assert (each.requests, each.bytes) == (served.reads + served.writes, served.bytes)
        assert each.row_hits == served.row_hits
        assert served.bytes >= 64 * served.reads + 8 * served.writes
    assert machine.traffic(2).reads == 0
