# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/knn_init`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_knn_init() -> None:
    Bench("knn_init", ROOT / "hw/ip/knn_init/knn_init.f").run("cocotb_knn_init", folder=Path(__file__).parent)
