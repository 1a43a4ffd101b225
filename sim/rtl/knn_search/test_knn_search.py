# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/knn_search`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_knn_search() -> None:
    Bench("knn_search", ROOT / "hw/ip/knn_search/knn_search.f").run("cocotb_knn_search", folder=Path(__file__).parent)
