# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""HSM's equations, against what [001] prints and against kernels whose private speed is known."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.model.slowdown import (
    ClusterParameters,
    MemoryLaw,
    SharedRunCounters,
    average_turnaround,
    demand_bytes_per_s,
    fairness,
    fit_memory_law,
    predict,
    system_throughput,
)
from hypothesis import given
from hypothesis import strategies as st

MACHINE = ClusterParameters(cores=80, instructions_per_cycle=2.0, clock_hz=1.4e9, request_bytes=128)
LAW = fit_memory_law([0.2, 0.86], [0.46, 0.76], 900e9)
EPOCH = 500_000


def counted(
    cores: float, per_instruction: float, hit_rate: float, bytes_per_s: float, **fields: float
) -> SharedRunCounters:
    """A kernel with a bandwidth: `per_instruction` requests for each instruction."""
    requests = bytes_per_s / MACHINE.request_bytes * EPOCH / MACHINE.clock_hz
    return SharedRunCounters(EPOCH, cores, requests / per_instruction, requests, requests * hit_rate, **fields)  # type: ignore[arg-type]


def test_the_law_goes_through_the_points_the_document_names() -> None:
    """Section 3: 46 % of the bandwidth at a hit rate of 20 %; figure 3's range of 320 to 690 GB/s lies on the line."""
    assert LAW.utilisation(0.2) == pytest.approx(0.46)
    assert LAW.supply_bytes_per_s(0.0) == pytest.approx(332e9, rel=0.01)
    assert LAW.supply_bytes_per_s(0.86) == pytest.approx(684e9, rel=0.01)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12, unique=True), st.floats(0.05, 0.5), st.floats(0.1, 0.45))
def test_a_line_is_found_again(rates: list[float], c1: float, c2: float) -> None:
    if np.ptp(rates) < 1e-3:
        return
    law = fit_memory_law(rates, [c1 * rate + c2 for rate in rates], 1e9)
    assert law.c1 == pytest.approx(c1, abs=1e-9)
    assert law.c2 == pytest.approx(c2, abs=1e-9)


def test_pairs_of_one_low_and_one_high_hit_rate_suffice() -> None:
    """Section 6.5: constants from couples differ little where points lie near a line."""
    rng = np.random.default_rng(3)
    rates = np.concatenate([rng.uniform(0.1, 0.3, 6), rng.uniform(0.7, 0.9, 6)])
    reached = 0.45 * rates + 0.37 + rng.normal(0, 2e-4, 12)
    laws = [
        fit_memory_law([rates[a], rates[b]], [reached[a], reached[b]], 9e11) for a in range(6) for b in range(6, 12)
    ]
    assert np.ptp([law.c1 for law in laws]) / 0.45 < 0.01
    assert np.ptp([law.c2 for law in laws]) / 0.37 < 0.01


@pytest.mark.parametrize(
    ("rates", "reached", "said"),
    [
        ([0.5], [0.5], "two kernels"),
        ([0.5, 0.5], [0.5, 0.6], "two kernels"),
        ([0.1, 0.2], [0.5], "shape"),
        ([0.1, 1.2], [0.5, 0.6], "lie in"),
        ([0.1, float("nan")], [0.5, 0.6], "lie in"),
        ([0.1, 0.2], [0.0, 0.6], "lie in"),
    ],
)
def test_samples_that_give_no_line_are_refused(rates: list[float], reached: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_memory_law(rates, reached, 900e9)
    with pytest.raises(ValueError, match="positive"):
        fit_memory_law([0.1, 0.2], [0.4, 0.5], 0.0)


def test_a_compute_bound_kernel_progresses_with_its_cores() -> None:
    """Equation 4, and the number of work-groups where that is the smaller bound."""
    light = counted(20, per_instruction=1e-5, hit_rate=0.8, bytes_per_s=5e7)
    found = predict(light, MACHINE, LAW)
    assert not found.memory_bound
    assert found.progress == pytest.approx(0.25)
    assert found.gradient == pytest.approx(1 / 80)
    few = counted(20, per_instruction=1e-5, hit_rate=0.8, bytes_per_s=5e7, groups=40)
    assert predict(few, MACHINE, LAW).progress == pytest.approx(0.5)


@given(st.floats(0.01, 1.0), st.floats(0.0, 1.0), st.floats(1, 79))
def test_a_memory_bound_kernel_progresses_with_its_bandwidth(part: float, hit_rate: float, cores: float) -> None:
    """Equation 5: a kernel that has a part of what it would have alone progresses by that part."""
    alone = LAW.supply_bytes_per_s(hit_rate)
    heavy = counted(cores, per_instruction=0.5, hit_rate=hit_rate, bytes_per_s=part * alone)
    found = predict(heavy, MACHINE, LAW)
    assert found.memory_bound
    assert found.progress == pytest.approx(part, rel=1e-9)
    assert found.gradient == pytest.approx(part / cores, rel=1e-9)


def test_demand_does_not_depend_on_how_much_it_was_held_up() -> None:
    """Equation 2 scales what was seen to what could be executed: half the speed, the same demand."""
    fast = counted(40, per_instruction=0.01, hit_rate=0.5, bytes_per_s=4e11)
    slow = counted(40, per_instruction=0.01, hit_rate=0.5, bytes_per_s=1e11)
    assert demand_bytes_per_s(fast, MACHINE) == pytest.approx(demand_bytes_per_s(slow, MACHINE))
    wanted = MACHINE.instructions_per_cycle * MACHINE.cores * MACHINE.clock_hz * 0.01 * MACHINE.request_bytes
    assert demand_bytes_per_s(fast, MACHINE) == pytest.approx(wanted)


def test_a_kernel_that_did_nothing_harms_no_sum() -> None:
    idle = SharedRunCounters(EPOCH, 0, 0, 0, 0)
    assert predict(idle, MACHINE, MemoryLaw(0.4, 0.3, 1e9)).progress == 0.0
    assert predict(SharedRunCounters(0, 1, 0, 0, 0), MACHINE, LAW).gradient == pytest.approx(1 / 80)
    assert fairness([0.0, 0.0]) == fairness([]) == 1.0


def test_what_systems_are_measured_by() -> None:
    assert fairness([0.4, 0.8, 0.5]) == pytest.approx(0.5)
    assert system_throughput([0.4, 0.8]) == pytest.approx(1.2)
    assert average_turnaround([0.5, 0.25]) == pytest.approx(3.0)
    assert average_turnaround([0.5, 0.0]) == float("inf")


def by_the_document(counted: SharedRunCounters, machine: ClusterParameters, law: MemoryLaw) -> float:
    """Progress, written out once more from sections 2.2 and 2.3 of [001], number by number."""
    most_instructions = machine.instructions_per_cycle * machine.cores * counted.cycles
    moved = counted.requests * machine.request_bytes
    demand = most_instructions / counted.instructions * moved * (machine.clock_hz / counted.cycles)  # (2)
    hit_rate = counted.row_hits / counted.requests if counted.requests else 0.0
    potential = law.peak_bytes_per_s * (law.c1 * hit_rate + law.c2)  # (3)
    if demand > potential:
        used = moved * machine.clock_hz / counted.cycles / law.peak_bytes_per_s
        return min(used / (law.c1 * hit_rate + law.c2), 1.0)  # (5)
    groups = machine.cores if counted.groups is None else min(max(counted.groups, 1), machine.cores)
    return min(counted.cores / groups, 1.0)  # (4), or with work-groups where those are fewer


@given(
    st.sampled_from([1, 2, 8, 80]),
    st.tuples(st.floats(0.01, 1), st.floats(1e-6, 1), st.integers(0, 50_000), st.floats(0, 1)),
    st.tuples(st.floats(0, 0.7), st.floats(0.01, 0.3)),
    st.sampled_from([None, 0, 1, 3, 100]),
)
def test_progress_is_that_of_the_equations(
    all_cores: int, done: tuple[float, float, int, float], constants: tuple[float, float], groups: int | None
) -> None:
    part, speed, requests, hit_rate = done
    machine, law = ClusterParameters(all_cores, 2.0, 1.4e9, 128), MemoryLaw(*constants, 900e9)
    cores = part * all_cores
    seen = SharedRunCounters(EPOCH, cores, speed * cores * 2 * EPOCH, requests, int(hit_rate * requests), groups)
    found = predict(seen, machine, law)
    assert found.progress == pytest.approx(by_the_document(seen, machine, law))
    assert found.gradient == pytest.approx(found.progress / cores), "4.2: through the origin"


def test_who_requests_nothing_is_not_bound_by_memory() -> None:
    """Whatever the law says of a hit rate that was not seen."""
    found = predict(SharedRunCounters(EPOCH, 40, 1e6, 0, 0), MACHINE, MemoryLaw(0.8, -0.1, 900e9))
    assert not found.memory_bound
    assert found.progress == 0.5
