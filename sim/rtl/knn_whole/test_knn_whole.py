# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/knn_whole`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_knn_whole() -> None:
    Bench("knn_whole", ROOT / "hw/ip/knn_whole/knn_whole.f").run("cocotb_knn_whole", folder=Path(__file__).parent)
