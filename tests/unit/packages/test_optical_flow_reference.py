# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Optical flow in fixed point against its definition in floating point, and against motion that is known."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.packages.applications import load_application
from eddy_sim.reference import optical_flow

PACKAGE = Path(__file__).resolve().parents[3] / "bitstreams/applications/optical_flow.yaml"
Real = npt.NDArray[np.float64]

SEQUENCES = list(zip(optical_flow.MOTIONS, optical_flow.sequences(), strict=True))


def smoothed(values: Real, taps: tuple[float, ...]) -> Real:
    """Weighted along y, then along x; zero where the window does not fit."""
    half = len(taps) // 2
    for axis in (0, 1):
        inner = np.apply_along_axis(np.convolve, axis, values, np.array(taps), "valid")
        values = np.pad(inner, [(half, half) if a == axis else (0, 0) for a in range(values.ndim)])
    return values


def real_flow(pixels: npt.NDArray[np.uint8]) -> Real:
    """(height, width, 2): the motion with Rosetta's weights, in floating point; nan where there is no texture."""
    frames = pixels[:, :, :5].astype(float).transpose(2, 0, 1)
    filtered = [np.zeros_like(frames[0]) for _ in range(3)]
    for tap, (x, y, t) in zip((1, -8, 8, -1), ((-2, -2, 0), (-1, -1, 1), (1, 1, 3), (2, 2, 4)), strict=True):
        filtered[0] += tap * np.roll(frames[2], -x, axis=1) / 12
        filtered[1] += tap * np.roll(frames[2], -y, axis=0) / 12
        filtered[2] += tap * frames[t] / 12
    gradient = np.stack(filtered, axis=-1)
    gradient[[0, 1, -2, -1], :, :2] = gradient[:, [0, 1, -2, -1], :2] = 0
    gradient = smoothed(gradient, (0.0755, 0.133, 0.1869, 0.2903, 0.1869, 0.133, 0.0755))
    tensor = smoothed(gradient[..., :, None] * gradient[..., None, :], (0.3243, 0.3513, 0.3243))
    motion = np.full((*pixels.shape[:2], 2), np.nan)
    matrix = tensor[..., :2, :2]
    sound = np.linalg.det(matrix) > 1e-3
    motion[sound] = np.linalg.solve(matrix[sound], -tensor[..., :2, 2:][sound])[..., 0]
    return motion


def test_fixed_point_finds_what_floating_point_finds() -> None:
    inner = slice(optical_flow.MARGIN, -optical_flow.MARGIN)
    for _, pixels in SEQUENCES:
        found = optical_flow.flow(pixels)["flow"] / 2**optical_flow.MOTION_FRACTION
        apart = np.hypot(*np.moveaxis(found - real_flow(pixels), -1, 0))[inner, inner]
        assert np.isfinite(apart).mean() > 0.99
        # Far below the error of the method; the worst pixels are those with hardly any texture.
        assert np.nanmedian(apart) < 0.004
        assert np.nanpercentile(apart, 99) < 0.06


@pytest.mark.parametrize(("motion", "pixels"), SEQUENCES, ids=[str(motion) for motion in optical_flow.MOTIONS])
def test_known_motion_is_found(motion: tuple[int, int], pixels: npt.NDArray[np.uint8]) -> None:
    found = optical_flow.run_item({"pixels": pixels})["flow"]
    errors = optical_flow.endpoint_errors(found, motion)
    assert np.median(errors) < 0.08
    assert errors.mean() < 0.115


def test_the_error_over_all_sequences_is_as_stated() -> None:
    errors = [
        optical_flow.endpoint_errors(optical_flow.run_item({"pixels": pixels})["flow"], motion)
        for motion, pixels in SEQUENCES
    ]
    assert round(float(np.median(errors)), 2) == 0.05
    assert round(float(np.mean(errors)), 2) == 0.08


def test_what_rests_has_no_motion_and_a_whole_pixel_along_x_is_exact() -> None:
    assert not optical_flow.run_item({"pixels": optical_flow.sequence((0, 0))})["flow"].any()
    found = optical_flow.run_item({"pixels": optical_flow.sequence((4, 0))})["flow"]
    # The filter along x and the filter along time then see the same five pixels.
    assert np.median(optical_flow.endpoint_errors(found, (4, 0))) == 0


@pytest.mark.parametrize("power", [1, 2, 3])
def test_derivatives_of_polynomials_are_exact(power: int) -> None:
    x = np.arange(8) - 3
    pixels = np.zeros((8, 8, 8), dtype=np.uint8)
    pixels[:, :, 2] = 64 + x**power
    along = optical_flow.gradient_xy(optical_flow.read_input(pixels))
    assert np.array_equal(along[4, 2:-2, 0], 8 * 12 * power * x[2:-2] ** (power - 1))
    assert not along[..., 1].any()


def test_motion_is_rounded_half_away_from_zero_and_saturated() -> None:
    rng = np.random.default_rng(2)
    pairs: list[tuple[Any, ...]] = rng.integers(-(1 << 62), 1 << 62, (200, 2)).tolist()
    pairs += (rng.integers(-40, 41, (400, 2)) * [1, 64]).tolist()
    pairs += [(dividend, 2048 * sign) for dividend in range(-9, 10) for sign in (-1, 1)]
    halves = 0
    for dividend, divisor in pairs:
        found = optical_flow.quotient(dividend, divisor)
        if divisor == 0:
            assert found == 0
            continue
        exact = Fraction(dividend, divisor) * 1024
        halves += exact.denominator == 2
        if abs(exact) >= Fraction(65535, 2):
            assert found == (32767 if exact > 0 else -32767)
        else:
            assert abs(found - exact) < Fraction(1, 2) or abs(found) == abs(exact) + Fraction(1, 2)
    assert halves >= 20


def test_windows_zero_what_lies_outside() -> None:
    ones = np.full((8, 16, 4), 1000, dtype=np.int16)
    down = optical_flow.gradient_weight(ones, optical_flow.ALONG_Y)
    across = optical_flow.gradient_weight(ones, optical_flow.ALONG_X)
    assert np.array_equal(down[..., 0].any(axis=1), [0, 0, 0, 1, 1, 0, 0, 0])
    assert across[0, :, 0].tolist() == [0] * 3 + [round(1000 * 1105 / 1024)] * 10 + [0] * 3
    assert not down[..., 3].any()
    assert not across[..., 3].any()


def test_tasks_and_edges_are_the_published_ones() -> None:
    text = files("eddy_studies.judge").joinpath("workload.json").read_text(encoding="utf-8")
    published = json.loads(text)["apps"]["optical_flow"]
    application = load_application(PACKAGE)
    assert [f"{task.name}_module" for task in application.tasks] == [task["name"] for task in published["tasks"]]
    assert [list(edge) for edge in application.edges] == published["edges"]
