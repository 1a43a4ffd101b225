# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of the modules in the shapes of HLS output (`tests/modules/hls_*`)."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench

MODULES = ROOT / "tests" / "modules"


@pytest.mark.rtl
@pytest.mark.parametrize("module", ["hls_words", "hls_table"])
def test_hls_output(module: str) -> None:
    bench = Bench(f"{module}_slot", MODULES / module / f"{module}.f")
    bench.run("cocotb_hls_output", Path(__file__).parent, environment={"EDDY_HLS_MODULE": module})
