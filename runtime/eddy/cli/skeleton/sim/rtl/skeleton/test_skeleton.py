"""Builds and runs the bench of `hw/ip/skeleton`."""

from pathlib import Path

import pytest
from eddy_sim.design.bench import Bench

NAME = "skeleton"
BLOCK = Path(__file__).parents[3] / "hw/ip" / NAME


@pytest.mark.rtl
def test_skeleton() -> None:
    Bench(NAME, BLOCK / f"{NAME}.f").run(f"cocotb_{NAME}", folder=Path(__file__).parent)
