# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a server comes to measure progress: by a calibration of this very board, or not at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from eddy.api.dependencies.progress import promised_progress, watch_for
from eddy.board.model.model import ModelBoard
from eddy.board.model.model_images import model_images
from eddy.core.errors import Conflict, NotFound
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.cores import calibration
from eddy.hypervisor.cores.calibration import CalibrationPoint, fit_law, hardware_now
from eddy.hypervisor.cores.tenant_estimates import ClusterKind
from eddy.store import Store
from hypervisor_kit import description

KINDS = {"gpu_2c2w2tx": ClusterKind(2, 2, 100e6)}


@pytest.fixture
def board() -> ModelBoard:
    described = description(2)
    return ModelBoard(described, model_images(described, KINDS), dict.fromkeys(KINDS, 1e-3))


@pytest.fixture
def kept(board: ModelBoard, tmp_path: Path) -> Path:
    points = [CalibrationPoint(f"k{rate}", rate, 0.5 * rate + 0.4, 9.0) for rate in (0.1, 0.9)]
    made = fit_law(board.describe().profile, hardware_now(board, KINDS), points, 1e9, 64)
    calibration.save(made, tmp_path / calibration.FILE)
    return tmp_path / calibration.FILE


def test_a_calibration_of_this_board_has_progress_measured(board: ModelBoard, kept: Path) -> None:
    watch = watch_for(board, KINDS, kept, needed=True)
    assert watch.machines["gpu_2c2w2tx"].cores.cores == 2
    assert not watch.on, "until the engine has a board"
    watch.read = board.sharing
    assert watch.on


def test_where_none_is_needed_none_may_be_there(board: ModelBoard, tmp_path: Path) -> None:
    assert watch_for(board, KINDS, tmp_path / "none", needed=False).machines == {}
    with pytest.raises(NotFound, match="eddy calibrate"):
        watch_for(board, KINDS, tmp_path / "none", needed=True)


def test_a_stale_one_is_refused_where_it_is_needed_and_told_of_elsewhere(
    board: ModelBoard, kept: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stale = dataclasses.replace(calibration.load(kept), hardware="0" * 16)
    calibration.save(stale, kept)
    with pytest.raises(Conflict, match="hardware has changed"):
        watch_for(board, KINDS, kept, needed=True)
    assert watch_for(board, KINDS, kept, needed=False).machines == {}
    assert "progress is not measured" in caplog.text


@pytest.mark.parametrize(("attribute", "least"), [(0.5, 0.5), ("0.25", 0.25), (2, 0.0), ("much", 0.0), (None, 0.0)])
def test_what_a_tenant_was_promised_is_a_fraction_or_nothing(attribute: object, least: float) -> None:
    store = Store(":memory:")
    store.tenants.put(TenantRecord("ada", key_hash="x", attributes={"min_progress": attribute}))
    assert promised_progress(store, "ada") == least
    assert promised_progress(store, "grace") == 0.0
