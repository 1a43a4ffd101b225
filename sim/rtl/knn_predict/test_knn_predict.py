# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/knn_predict`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_knn_predict() -> None:
    Bench("knn_predict", ROOT / "hw/ip/knn_predict/knn_predict.f").run(
        "cocotb_knn_predict", folder=Path(__file__).parent
    )
