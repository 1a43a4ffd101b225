# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs the bench of `hw/ip/image_front`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import ROOT, Bench


@pytest.mark.rtl
def test_image_front() -> None:
    Bench("image_front", ROOT / "hw/ip/image_front/image_front.f").run(
        "cocotb_image_front", folder=Path(__file__).parent
    )
