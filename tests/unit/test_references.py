"""The numpy references against floating-point definitions, and the quality of what they give on the real data."""

import numpy as np
from eddy_sim.reference import digit_recognition, image_compression


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
