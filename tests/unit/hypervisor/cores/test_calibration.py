# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Calibrations of memory: fitted to kernels that fill it, kept, and refused where they are of other hardware."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eddy.board.model.model_images import model_images
from eddy.core.errors import Conflict, InvalidRequest, NotFound
from eddy.hypervisor.cores import calibration
from eddy.hypervisor.cores.calibration import CalibrationPoint, MemoryCalibration, fit_law, hardware_of, laws_by_pair
from eddy.hypervisor.cores.tenant_estimates import ClusterKind
from hypervisor_kit import description

PEAK = 400e6


def points(c1: float = 0.5, c2: float = 0.4) -> list[CalibrationPoint]:
    rates = (0.05, 0.3, 0.5, 0.95)
    return [CalibrationPoint(f"k{rate}", rate, c1 * rate + c2, 9.0) for rate in rates]


def made(hardware: str = "a" * 16) -> MemoryCalibration:
    return fit_law("tiny", hardware, points(), PEAK, 64)


def test_the_line_is_that_of_kernels_that_fill_the_memory() -> None:
    content = CalibrationPoint("content", 0.9, 0.05, 0.05)
    found = fit_law("tiny", "a" * 16, [*points(), content], PEAK, 64)
    assert (found.law.c1, found.law.c2) == pytest.approx((0.5, 0.4))
    assert found.points[-1] == content, "what was measured is kept, whether it counts or not"


def test_pairs_of_a_low_and_a_high_hit_rate_say_the_same() -> None:
    laws = laws_by_pair(made())
    assert len(laws) == 5, "of six pairs, those a quarter apart"
    assert all((law.c1, law.c2) == pytest.approx((0.5, 0.4)) for law in laws)


def test_a_cluster_that_cannot_fill_the_memory_is_told_so() -> None:
    with pytest.raises(InvalidRequest, match="cannot be calibrated by this cluster") as refused:
        fit_law("tiny", "a" * 16, [CalibrationPoint("k", 0.5, 0.1, 0.1)], PEAK, 64)
    assert refused.value.details["field"] == "profile"


def test_it_is_read_as_it_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "data" / calibration.FILE
    calibration.save(made(), path)
    assert calibration.load(path) == made()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"law": {"c1": 1}}', "no"])
def test_what_is_no_calibration_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / calibration.FILE
    path.write_text(text)
    with pytest.raises(InvalidRequest) as refused:
        calibration.load(path)
    assert refused.value.details["field"] == "calibration"


def test_numbers_that_cannot_be_are_refused(tmp_path: Path) -> None:
    path = tmp_path / calibration.FILE
    calibration.save(made(), path)
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "request_bytes": 0}))
    with pytest.raises(InvalidRequest, match="must be positive"):
        calibration.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("c1", float("nan")), ("c2", -5.0), ("c1", 0.51), ("peak_bytes_per_s", float("inf")), ("c2", "0.5")],
)
def test_a_line_that_is_not_that_of_its_points_is_refused(name: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / calibration.FILE
    calibration.save(made(), path)
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "law": {**body["law"], name: value}}))
    with pytest.raises(InvalidRequest, match="run `eddy calibrate`"):
        calibration.load(path)


def test_points_that_cannot_be_are_refused(tmp_path: Path) -> None:
    path = tmp_path / calibration.FILE
    calibration.save(made(), path)
    body = json.loads(path.read_text())
    for points in ([], body["points"][:1], [{**body["points"][0], "row_hit_rate": "0.1"}, *body["points"][1:]]):
        path.write_text(json.dumps({**body, "points": points}))
        with pytest.raises(InvalidRequest, match="run `eddy calibrate`"):
            calibration.load(path)


def test_a_line_without_bandwidth_at_some_hit_rate_is_no_law() -> None:
    """A kernel of that hit rate would seem not to progress at all, and be given everybody's cores."""
    steep = [CalibrationPoint("low", 0.5, 0.1, 9.0), CalibrationPoint("high", 0.9, 0.7, 9.0)]
    with pytest.raises(InvalidRequest, match="gives no bandwidth at some hit rate"):
        fit_law("tiny", "a" * 16, steep, PEAK, 64)


def test_pairs_are_of_kernels_that_fill_the_memory() -> None:
    content = CalibrationPoint("content", 0.9, 0.05, 0.05)
    assert laws_by_pair(fit_law("tiny", "a" * 16, [*points(), content], PEAK, 64)) == laws_by_pair(made())


def test_where_there_is_none_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="run `eddy calibrate`"):
        calibration.load(tmp_path / "none.json")


def test_other_hardware_or_another_profile_is_stale() -> None:
    made().check("tiny", "a" * 16)
    with pytest.raises(Conflict, match="of profile tiny, and this board is kv260; run `eddy calibrate`"):
        made().check("kv260", "a" * 16)
    with pytest.raises(Conflict, match="hardware has changed"):
        made().check("tiny", "b" * 16)


def test_hardware_is_shell_clusters_and_memory_and_nothing_else() -> None:
    board = description(2)
    images = model_images(board, ["gpu_1c4w4t", "dct"])
    base = hardware_of(board, images, ["gpu_1c4w4t"], "memory")
    assert hardware_of(board, reversed(images), ["gpu_1c4w4t"], "memory") == base
    assert hardware_of(board, [i for i in images if i.module != "dct"], ["gpu_1c4w4t"], "memory") == base
    assert hardware_of(board, images, ["gpu_1c4w4t"], "faster") != base
    assert hardware_of(board, images, ["gpu_1c4w4t", "dct"], "memory") != base


def test_predictors_are_told_the_clusters_own_shape() -> None:
    machine = made().machine(ClusterKind(6, 2, 80e6))
    assert (machine.cores.cores, machine.cores.clock_hz, machine.cores.request_bytes) == (6, 80e6, 64)
    assert machine.law == made().law
