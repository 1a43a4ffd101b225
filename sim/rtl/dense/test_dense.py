# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/dense`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_dense() -> None:
    Bench("dense", ROOT / "hw/ip/dense/dense.f").run("cocotb_dense", folder=Path(__file__).parent)
