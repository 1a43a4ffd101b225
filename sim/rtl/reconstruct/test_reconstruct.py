# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/reconstruct`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_reconstruct() -> None:
    Bench("reconstruct", ROOT / "hw/ip/reconstruct/reconstruct.f").run(
        "cocotb_reconstruct", folder=Path(__file__).parent
    )
