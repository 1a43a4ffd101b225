# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A bench that was built is used again where nothing it was built from differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from eddy_sim.design import bench
from eddy_sim.design.bench import Bench

ROOT = Path(__file__).resolve().parents[3]


def test_a_bench_is_built_again_where_cocotb_lies_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Bench("skid", ROOT / "hw/ip/axi_skid/axi_skid.f")

    def asked_for(libraries: str) -> Path:
        def product(output: Path, _make: Callable[[Path], None]) -> Path:
            return output

        monkeypatch.setattr(bench, "_product", product)
        monkeypatch.setattr(bench, "_cocotb_folders", lambda: (Path(libraries), Path("share")))
        return made.build()

    assert asked_for("/one/cocotb/libs") == asked_for("/one/cocotb/libs")
    assert asked_for("/one/cocotb/libs") != asked_for("/other/cocotb/libs")
