# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Runs the benches of axi_skid."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from boundary_builds import FOLDER, bench


@pytest.mark.rtl
@pytest.mark.xdist_group("boundary")
def test_traffic_passes_unharmed() -> None:
    bench("axi_skid").run("cocotb_traffic", FOLDER)
