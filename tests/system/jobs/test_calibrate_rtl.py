# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calibrating the memory of a simulated board: kernels alone on its cluster, whose hit rates are what strides say."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract.gpu_harness import MODULES, opened
from eddy.hypervisor.cores.calibration import hardware_now
from eddy.hypervisor.engine.calibration_run import calibrate
from eddy.packages.manifests import load_module_manifest

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]


def test_strides_have_the_hit_rates_they_should_and_the_law_is_fitted_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load_module_manifest(MODULES / "gpu_2c2w2tx")
    told: list[str] = []
    with opened("rtl", tmp_path, monkeypatch) as gpu:
        found = calibrate(gpu.board, {module.module: module}, 1600e6, told.append, strides=(1, 128))
        assert found.hardware == hardware_now(gpu.board, [module.module])
    near, far = found.points
    assert near.row_hit_rate > 0.8
    assert far.row_hit_rate < 0.5
    assert 0 < far.utilisation <= near.utilisation <= 1, "rows that are open are served sooner"
    assert near.demand > near.utilisation
    assert found.law.utilisation(near.row_hit_rate) == pytest.approx(near.utilisation)
    assert 32 <= found.request_bytes <= 64
    assert found.profile == "tiny-gpu"
    assert len(told) == 2
