# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The numpy references against floating-point definitions, and the quality of what they give on the real data."""

import numpy as np
from eddy_sim.reference import digit_recognition, image_compression, rendering


def test_dct_is_the_orthonormal_one_within_rounding() -> None:
    from math import cos, pi, sqrt

    rng = np.random.default_rng(1)
    blocks = rng.integers(-128, 128, (20, 8, 8)).astype(np.int16)
    basis = np.array(
        [[(sqrt(1 / 8) if k == 0 else 0.5) * cos((2 * n + 1) * k * pi / 16) for n in range(8)] for k in range(8)]
    )
    exact = basis @ blocks @ basis.T
    assert np.abs(image_compression.dct(blocks) - exact).max() < 1.0
    restored = image_compression.idct(image_compression.dct(blocks))
    assert np.abs(restored.astype(int) - blocks).max() <= 2


def test_the_photograph_comes_back_well() -> None:
    tiles = image_compression.tiles()
    results = [image_compression.compress(tile)["result"] for tile in tiles]
    assert len(tiles) == 15
    assert image_compression.psnr_db(np.concatenate(tiles), np.concatenate(results)) > 32


def test_quantizing_saves_something() -> None:
    levels = image_compression.compress(image_compression.tiles()[0])["levels"]
    assert np.mean(levels == 0) > 0.8


def test_digits_are_recognised() -> None:
    constants = digit_recognition.constants()
    right = [
        digit_recognition.run_item({**constants, "digits": digits})["result"] == truth
        for digits, truth in zip(digit_recognition.groups(), digit_recognition.truth(), strict=True)
    ]
    assert len(right) == 12
    assert np.mean(right) > 0.9


def test_spans_are_the_pixels_on_the_inner_side_of_every_edge() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(3)
    flat = rng.integers(0, 24, (40, 8)).astype(np.uint8)
    flat[:4, 4:6] = flat[:4, 2:4]
    for triangle, spans in zip(flat, rendering.rasterise(flat, 24, 16), strict=True):
        (x0, y0), (x1, y1), (x2, y2) = ((int(x), int(y)) for x, y in triangle[:6].reshape(3, 2))
        area = (y1 - y2) * (x0 - x2) + (x2 - x1) * (y0 - y2)
        for y, (first, last) in enumerate(spans):
            inside = []
            for x in range(24 if area else 0):
                # Barycentric coordinates.
                a = Fraction((y1 - y2) * (x - x2) + (x2 - x1) * (y - y2), area)
                b = Fraction((y2 - y0) * (x - x2) + (x0 - x2) * (y - y2), area)
                if min(a, b, 1 - a - b) >= 0:
                    inside.append(x)
            assert list(range(first, int(last) + 1)) == inside


def test_the_nearest_triangle_is_seen_whatever_the_order() -> None:
    flat = rendering.project(rendering.views()[1])
    flat[:, 6] = np.arange(len(flat)) % 255
    flat[:, 7] = flat[:, 6]
    flat = flat[:255]
    rows = np.random.default_rng(5).permutation(len(flat))
    frame = rendering.cull(flat, rendering.rasterise(flat))
    assert np.array_equal(frame, rendering.cull(flat[rows], rendering.rasterise(flat[rows])))
    covered = rendering.coverage(flat, rendering.FRAME, rendering.FRAME)
    depths = np.where(covered, flat[:, 6, None, None], 255).min(axis=0)
    assert np.array_equal(frame, np.where(depths < 255, depths, 0))


def test_the_torus_fits_its_frame_and_shows_its_hole() -> None:
    frames = [rendering.run_item({"triangles": view})["result"] for view in rendering.views()]
    assert len(frames) == rendering.VIEWS
    assert len({frame.tobytes() for frame in frames}) > rendering.VIEWS // 2
    assert all(0.1 < np.mean(frame > 0) < 0.6 for frame in frames)
    assert all(not frame[[0, -1]].any() and not frame[:, [0, -1]].any() for frame in frames)
    assert frames[0][32, 32] == 0, "one sees through the hole"


def test_every_view_drops_its_own_coordinate() -> None:
    triangle = np.array([[1, 2, 3, 4, 5, 7, 8, 9, 250, 77, 0, 0, 0, 0, 0, 0]], dtype=np.uint8)
    assert rendering.project(triangle, 0).tolist() == [[1, 2, 4, 5, 8, 9, 86, 77]]
    assert rendering.project(triangle, 1).tolist() == [[1, 3, 4, 7, 8, 250, 5, 77]]
    assert rendering.project(triangle, 2).tolist() == [[3, 2, 7, 5, 250, 9, 4, 77]]
