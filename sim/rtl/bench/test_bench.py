# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The benches' own runner: what passes, and that nothing that fails passes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from eddy_sim.design import bench_process
from eddy_sim.design.bench import Bench, BenchFailed
from eddy_sim.tools.filelist import FilelistInvalid
from eddy_sim.tools.prove import Mutation, ProofFailed

HERE = Path(__file__).parent
PROBE = "cocotb_bench_probe"


def bench(broken: int = 0) -> Bench:
    return Bench("bench_probe", HERE / "bench_probe.f", parameters={"Broken": broken})


@pytest.mark.rtl
def test_a_value_with_a_slash_reaches_the_test() -> None:
    bench().run(PROBE, HERE, tests=["it_counts"], environment={"BENCH_VALUE": "a/b c"})


@pytest.mark.rtl
def test_a_simulation_knows_nothing_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_VALUE", raising=False)
    with pytest.raises(BenchFailed, match="it_vanishes"):
        bench().run(PROBE, HERE, tests=["it_vanishes"])
    bench().run(PROBE, HERE, tests=["it_counts"], environment={"BENCH_VALUE": "a/b c"})
    with pytest.raises(BenchFailed, match="KeyError: 'BENCH_VALUE'"):
        bench().run(PROBE, HERE, tests=["it_counts"])


@pytest.mark.rtl
def test_a_simulation_follows_one_whose_process_was_ended() -> None:
    process = bench_process._server(os.getpid())
    process.kill()
    process.wait()
    with pytest.raises(bench_process.BenchProcessEnded):
        bench().run(PROBE, HERE, tests=["it_counts"])
    bench().run(PROBE, HERE, tests=["it_counts"], environment={"BENCH_VALUE": "a/b c"})


@pytest.mark.rtl
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("it_expects_too_much", "assert 2 == 77"),
        ("it_counts_too_far", "counted too far"),
        ("it_vanishes", "running cocotb_bench_probe.it_vanishes"),
        ("it_does_not_exist", "it_does_not_exist"),
    ],
)
def test_a_failure_says_why(name: str, said: str) -> None:
    with pytest.raises(BenchFailed, match=said):
        bench().run(PROBE, HERE, tests=[name])


@pytest.mark.rtl
def test_a_claim_that_fails_before_the_first_test_says_so() -> None:
    with pytest.raises(BenchFailed, match="broken from the start"):
        bench(broken=1).run(PROBE, HERE, tests=["it_counts"])


STEP = Mutation("by two", "bench_probe.sv", "count_o + 8'd1", "count_o + 8'd2")


@pytest.mark.mutant
@pytest.mark.rtl
def test_a_mistake_is_made_and_found(tmp_path: Path) -> None:
    """By a test that has parameters and passes without it."""
    bench().run(PROBE, HERE, tests=["it_counts_each"])
    with pytest.raises(BenchFailed, match="assert 4 == "):
        bench().broken(STEP, tmp_path).run(PROBE, HERE, tests=["it_counts_each"])


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        (Mutation("elsewhere", "another.sv", "a", "b"), FilelistInvalid),
        (Mutation("nowhere", "bench_probe.sv", "no such text", ""), ProofFailed),
        (Mutation("anywhere", "bench_probe.sv", "count_o", ""), ProofFailed),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_mistake_that_cannot_be_made_is_none_that_is_found(
    mistake: Mutation, error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        bench().broken(mistake, tmp_path)
