# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the bench of the configuration engine, and shows that it finds aborts that are not heard."""

from __future__ import annotations

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench, BenchFailed
from eddy_sim.tools.prove import Mutation

HERE = Path(__file__).parent
BENCH = Bench("icap_engine", ROOT / "hw/ip/icap_engine/icap_engine.f")
ABORTS = ("an_abort_is_heard_from_the_start_on", "an_abort_ends_a_load_in_every_state")
MISTAKES = [
    Mutation(
        "abort not heard in order", "icap_engine.sv", "abort && state_q inside {Order, Run}", "abort && state_q == Run"
    ),
    Mutation("an old abort is kept", "icap_engine.sv", "if (state_q == Idle || (state_q == Run", "if ((state_q == Run"),
]


@pytest.mark.rtl
@pytest.mark.parametrize("port_ps", [5000, 10_000, 2500, 13_702, 40_000])
def test_icap_engine(port_ps: int) -> None:
    """The shell's clock has 10 ns: the port's is faster or slower, up to four times, and one no multiple."""
    BENCH.run("cocotb_icap_engine", HERE, environment={"EDDY_BENCH_PORT_PS": str(port_ps)})


@pytest.mark.mutant
@pytest.mark.rtl
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_found(mistake: Mutation, tmp_path: Path) -> None:
    with pytest.raises(BenchFailed):
        BENCH.broken(mistake, tmp_path).run("cocotb_icap_engine", HERE, ABORTS)
